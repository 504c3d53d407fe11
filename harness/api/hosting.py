"""A run whose episodes are asked for while it goes on: what a command that serves episodes is given.

Everything else is as in `harness run`: settings, run folder, journals, executors, locks and resets of sites, retries,
scores. Who decides is an agent of the settings (`agent._target_`), which a command may bring.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.actions import ActionSet
from harness.choices import ObservationType
from harness.records import Task
from harness.settings.observation import ObservationSettings

AskHost = Callable[[bytes], Awaitable[bytes]]
"""Asks what hosts the run, and waits for its answer (`HostingRequest.answer`); an agent whose constructor names an
argument `ask_host` is given it. The question takes the way on which the worker is told what to play, through whichever
executor started it: there is nothing to connect to, and who is not a worker of the run cannot ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeNews:
    """Something about an episode that was asked for; what it came to is in its journal (`harness.runs.Run.episode`)."""

    task_id: str
    """Its task."""
    trial: int
    """0-based."""
    is_over: bool
    """It has left its lane for good: it is scored, cannot be played, or its agent gave it back (`EpisodeLeft`)."""
    note: str = ""
    """Why it is over without a score, or what failed before it is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostingRequest:
    """What is to be hosted."""

    overrides: tuple[str, ...]
    """Settings as they are given to `harness run`."""
    config_dir: Path | None
    """Folder of the person's own configurations."""
    shows: frozenset[ObservationType] = frozenset(ObservationType)
    """Parts of `observation.type` that can be shown to who decides; settings with another one are refused."""
    episodes: int
    """How many are played at the same time: lanes of all workers, where the settings do not say otherwise."""
    answer: AskHost
    """Answers what agents ask. Is called in the event loop, and cancelled when the agent does not wait any more or its
    worker is lost: another one then asks again. A `HarnessError` is raised where the agent asked."""
    tell: Callable[[EpisodeNews], None]
    """Is called in the event loop."""
    stalled: Callable[[str], None] = lambda why: None
    """Is called in the event loop, with a sentence, when workers cannot be kept up now and no other has a lane that is
    free. They are started again after a pause; what waits for a lane may be withdrawn."""


class HostedRun(Protocol):
    """A run that plays what it is asked to."""

    @property
    def folder(self) -> Path:
        """The run folder; it is locked by this process."""
        ...

    @property
    def tasks(self) -> Mapping[str, Task]:
        """All that can be played, by id, in order."""
        ...

    @property
    def action_set(self) -> ActionSet:
        """The one of the settings."""
        ...

    @property
    def observation(self) -> ObservationSettings:
        """What is shown of a page."""
        ...

    async def play(self, task_id: str, trial: int, seed: int | None) -> None:
        """Play an episode, or go on with it where its journal ends, as soon as a lane is free.

        Args:
            task_id: One of `tasks`.
            trial: 0-based; not one that is being played.
            seed: Of a new episode; None = `run.seed` + trial.
        Raises:
            UsageError, JournalError: It cannot be, and the run must end: `stopped` raises it, too.
        """
        ...

    def withdraw(self, task_id: str, trial: int) -> bool:
        """Forget an episode for which no lane was free yet; False = it is being played, or over."""
        ...

    def held_up(self, task_id: str, trial: int) -> str:
        """Which episodes use the sites that one in the queue waits for, in words; "" = none: it waits for a worker or
        for a reset, which end by themselves, or for nothing.
        """
        ...

    async def fork(self, task_id: str, trial: int, step: int, trials: Sequence[int]) -> None:
        """Write the journals of further trials that begin with the first steps of an episode; `play` goes on with them.

        They are led to that step as after a crash: by replay or from a checkpoint, compared with what was recorded.

        Args:
            task_id: One of `tasks`.
            trial: Of the episode, which may be going on; its newest attempt is forked.
            step: The last one that they inherit; 0 = only the start page.
            trials: Their numbers; none of them has a journal.
        Raises:
            ConfigError: The episode has no such step, or its agent cannot be brought back to one.
            JournalError: Its journal is damaged.
        """
        ...

    def stopping(self) -> bool:
        """Whether the run is to end: nothing new begins."""
        ...

    async def stopped(self) -> None:
        """Wait until it is to end: the person asks (SIGINT, SIGTERM), or it cannot go on.

        Raises:
            HarnessError: It cannot go on.
        """
        ...


Hosting = Callable[[HostingRequest], AbstractAsyncContextManager[HostedRun]]
"""Hosts a run; leaving the context ends it, at the latest when the steps that are being performed are recorded."""
