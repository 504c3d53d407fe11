"""One episode: fold, decide, act, until the journal says it is over.

Nothing is kept here: every fact goes into the journal before anything depends on it, so a fresh episode is a resume
from an empty file, and being killed anywhere is safe. Scoring reads the evidence only, and needs no browser.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Protocol

from harness.actions import describe
from harness.actions.cutting import MOST_OF_A_MESSAGE, cut
from harness.codec import digest
from harness.errors import InfraError, JournalError, SiteUnavailable, UsageError
from harness.protocols import (
    Agent,
    Artifacts,
    Environment,
    Evaluator,
    News,
    Progress,
)
from harness.records import (
    Acted,
    Closed,
    Decided,
    Done,
    Episode,
    Failed,
    Limits,
    Observation,
    Opened,
    Record,
    Resumed,
    Task,
    View,
)
from harness.runner.evidence import stored_evidence, stored_message
from harness.runner.hearing import JournalHearing
from harness.runner.opening import why_opened
from harness.runner.verdict import Ending, ending
from harness.runner.writing import Writer

logger = logging.getLogger(__name__)


class Log(Protocol):
    """The part of a journal an episode needs."""

    @property
    def episode(self) -> Episode: ...

    def append(self, record: Record) -> Episode: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What every episode of a run shares."""

    agent: Agent
    evaluators: Mapping[str, Evaluator]
    """Dialect to evaluator; all are recorded, the run's `scoring` chooses the one that counts."""
    artifacts: Artifacts
    checkpoints: Artifacts
    """Storage states hold cookies, which no artifact may: they are kept apart."""
    limits: Limits
    config_digest: str
    seed: int
    progress: Progress
    stopping: Callable[[], bool]
    """True once the person asked the run to end: no further step is begun."""
    clock: Callable[[], float] = time.time
    write: Writer = field(default_factory=Writer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One owed (task, trial)."""

    task: Task
    trial: int = 0
    reopen: bool = False
    """Begin a new attempt although the journal has an ended one (`run.retry`)."""
    instances: Mapping[str, str] = field(default_factory=dict)
    """Site to the real base URL to play it on, for sites of which there are several."""
    withheld: str = ""
    """Why it cannot be played now although it was its turn; the lane only records that."""


def task_digest(task: Task) -> str:
    """What a task is: where its file lies on this machine is left out."""
    state = task.storage_state
    return digest(task if state is None else replace(task, storage_state=PurePath(state).name))


class EpisodeRunner:
    """Plays one job on one lane."""

    def __init__(self, kit: Kit, job: Job, journal: Log, *, lane: int = 0) -> None:
        self._kit = kit
        self._job = job
        self._journal = journal
        self._lane = lane
        self._boundary = "restore"

    async def play(self, opening: AbstractAsyncContextManager[Environment]) -> None:
        """Go on from where the journal ends until the episode is closed, or the run is stopping.

        Raises:
            InfraError: Recorded as Failed; the episode stays owed. What nobody foresaw counts as infrastructure too,
                so that one task's surprise does not end everybody's run.
        """
        await self._ensure_opened()
        try:
            if self._job.withheld:
                raise SiteUnavailable(self._job.withheld)
            async with opening as env:
                await self._play(env)
        except InfraError as error:
            await self._record_failure(error)
            raise
        except (UsageError, JournalError):
            raise
        except Exception as error:
            logger.exception("task %s: unforeseen error", self._job.task.task_id)
            await self._record_failure(error)
            raise InfraError(f"unforeseen {type(error).__name__}: {error}") from error

    async def score(self) -> None:
        """Judge a closed episode from its evidence, in every dialect not yet judged."""
        closed = self._journal.episode.closed
        if closed is None:
            return
        self._tell("scoring")
        hearing = JournalHearing(lambda: self._journal.episode, self._append)
        for dialect, evaluator in self._kit.evaluators.items():
            if dialect not in self._journal.episode.scores:
                await self._append(await evaluator.score(self._job.task, closed, self._kit.artifacts, hearing))

    async def _play(self, env: Environment) -> None:
        view = await self._restore(env)
        end: Ending | None
        while (end := ending(self._kit.limits, self._journal.episode)) is None:
            if self._kit.stopping():
                return
            if self._journal.episode.pending is None:
                await self._decide(view)
            else:
                view = await self._act(env)
        await self._close(env, end)

    async def _ensure_opened(self) -> None:
        episode = self._journal.episode
        if (why := why_opened(episode, self._job.instances, reopen=self._job.reopen)) is None:
            return
        opened = Opened(
            attempt=episode.attempt + 1,
            why=why,
            trial=self._job.trial,
            task=self._job.task,
            task_digest=task_digest(self._job.task),
            config_digest=self._kit.config_digest,
            seed=self._kit.seed + self._job.trial,
            instances=self._job.instances,
            at=self._kit.clock(),
        )
        await self._append(opened)

    async def _restore(self, env: Environment) -> View:
        self._tell("restoring")
        episode = self._journal.episode
        with self._timed("restore") as elapsed_ms:
            restored = await env.restore(self._job.task, episode)
        took_ms = max(0.0, elapsed_ms() - restored.waited_s * 1000)
        if episode.arrival is None:
            await self._keep(
                lambda: Acted(
                    step=0,
                    outcome=Done(),
                    observation=self._stored(restored.view),
                    elapsed_ms=took_ms,
                    at=self._kit.clock(),
                )
            )
        elif restored.strategy != "reset":
            resumed = Resumed(
                step=len(episode.steps),
                strategy=restored.strategy,
                similarity=restored.similarity,
                elapsed_ms=took_ms,
                at=self._kit.clock(),
            )
            await self._append(resumed)
        return restored.view

    async def _decide(self, view: View) -> None:
        self._tell("deciding")
        with self._timed("decide") as elapsed_ms:
            decision = await self._kit.agent.decide(self._job.task, self._journal.episode, view)
        took_ms = max(0.0, elapsed_ms() - decision.reply.waited_s * 1000)
        await self._keep(
            lambda: Decided(
                step=len(self._journal.episode.steps) + 1,
                action=decision.action,
                reply=decision.reply.text,
                prompt=tuple(stored_message(message, self._kit.artifacts) for message in decision.messages),
                model=decision.reply.model,
                usage=decision.reply.usage,
                elapsed_ms=took_ms,
                at=self._kit.clock(),
            )
        )

    async def _act(self, env: Environment) -> View:
        pending = self._journal.episode.pending
        assert pending is not None
        self._tell("acting")
        with self._timed("act") as elapsed_ms:
            landed = await env.act(pending.action)
        took_ms = elapsed_ms()
        await self._keep(
            lambda: Acted(
                step=pending.step,
                outcome=landed.outcome,
                observation=self._stored(landed.view),
                effects=landed.effects,
                checkpoint=None if landed.checkpoint is None else self._kit.checkpoints.put(landed.checkpoint),
                elapsed_ms=took_ms,
                at=self._kit.clock(),
            )
        )
        return landed.view

    async def _close(self, env: Environment, end: Ending) -> None:
        self._tell("gathering")
        with self._timed("gather"):
            gathered = await env.gather(self._job.task)
        await self._keep(
            lambda: Closed(
                reason=end.reason,
                detail=end.detail,
                answer=end.answer,
                evidence=stored_evidence(gathered, self._kit.artifacts),
                at=self._kit.clock(),
            )
        )

    async def _append(self, record: Record) -> None:
        await self._keep(lambda: record)

    async def _keep(self, make: Callable[[], Record]) -> None:
        """Append a record; making it puts what it names among the artifacts first."""
        await self._kit.write(lambda: self._journal.append(make()))

    def _stored(self, view: View) -> Observation:
        if view.image is None:
            return view.observation
        return replace(view.observation, screenshot=self._kit.artifacts.put(view.image))

    async def _record_failure(self, error: Exception) -> None:
        if self._kit.stopping():
            return  # a browser that goes down with the interrupted run says nothing about the task
        episode, message = self._journal.episode, cut(str(error), MOST_OF_A_MESSAGE)
        failed = Failed(
            attempt=episode.attempt,
            boundary=self._boundary,
            type=type(error).__name__,
            message=message,
            at=self._kit.clock(),
        )
        logger.error(
            "task %s: %s while trying to %s: %s", self._job.task.task_id, failed.type, failed.boundary, message
        )
        await self._append(failed)

    def _tell(self, phase: str) -> None:
        episode = self._journal.episode
        newest = episode.pending or (episode.steps[-1].decided if episode.steps else None)
        self._kit.progress.tell(
            News(
                lane=self._lane,
                task_id=self._job.task.task_id,
                trial=self._job.trial,
                phase=phase,
                step=len(episode.steps) + 1,
                action="" if newest is None else describe(newest.action),
                usage=episode.usage,
            )
        )

    @contextmanager
    def _timed(self, boundary: str) -> Iterator[Callable[[], float]]:
        """Name the boundary being crossed and measure it, in ms."""
        self._boundary = boundary
        begun = time.monotonic()
        yield lambda: (time.monotonic() - begun) * 1000
