"""What a benchmark is: tasks, how each begins, what each action earns, and what is kept to judge it by."""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from harness.actions import Action
from harness.api.evaluator import Evaluator
from harness.records import Task

LIVE = "live"
"""The site of tasks on the live web (`sites=live`); it has no address of its own."""
NO_EVALUATORS: Mapping[str, Evaluator] = MappingProxyType({})
"""For a benchmark whose tasks need only shipped evaluators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """What an episode has earned after an action."""

    value: float
    """Any finite number. The shipped evaluator `reward` takes the last one as the score, cut to 0.0 .. 1.0."""
    done: bool = False
    """The episode is over; the agent is not asked again."""

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or not math.isfinite(self.value):
            raise ValueError(f"a reward is a finite number, not {self.value!r:.80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteAnswer:
    """What a site answered to a request that no page made."""

    status: int
    """HTTP status."""
    body: bytes
    """The body as it was sent, decompressed."""


class BenchmarkPage(Protocol):
    """The current tab of an episode, for a benchmark's own scripts. Their requests are not effects of the agent."""

    @property
    def url(self) -> str:
        """Canonical address."""
        ...

    @property
    def seed(self) -> int:
        """The seed of this attempt: `run.seed` + trial. The same in a resume."""
        ...

    @property
    def files(self) -> Mapping[str, str]:
        """What `Benchmark.files` named, to its artifact hash, by which evaluators read it."""
        ...

    async def goto(self, url: str) -> None:
        """Open an address, within `browser.navigation_timeout_s`.

        Raises:
            SiteUnavailable: It does not answer, or is outside the sites of the task.
        """
        ...

    def tab(self, url: str) -> "AbstractAsyncContextManager[BenchmarkPage]":
        """A further tab at an address, which is closed with the context; until then it is the current one.

        Raises: as `goto`.
        """
        ...

    async def fetch(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> SiteAnswer:
        """Ask a site without a page: no cookies, redirects followed, 10 MB at most.

        Args:
            url: Canonical address, on a site of the run.
        Raises:
            SiteUnavailable: There is no answer.
            PluginFailed: It is on no site of the run.
        """
        ...

    def keep(self, data: bytes) -> str:
        """Store bytes with the evidence (40 MB in all) and give the hash by which evaluators read them.

        Raises:
            PluginFailed: It is too much.
        """
        ...

    def canonical(self, text: str) -> str:
        """A text with the canonical address of each site in the place of the one it is reached by."""
        ...

    async def evaluate(self, script: str, argument: Any = None) -> Any:
        """The JSON value of a JavaScript function or expression in the page, among the page's own globals.

        For scripts of the benchmark's author; text of a page or a model belongs in `argument`.

        Raises:
            PluginFailed: The script raises, its value is not JSON or larger than 10 MB, or it takes longer than
                `browser.action_timeout_s`.
        """
        ...


# A base class: most benchmarks need two of its methods, and optional methods of a protocol cannot be checked.
class Benchmark(ABC):
    """Tasks with their own rules; only `tasks` has to be written. One instance per process serves many episodes.

        class Buttons(Benchmark):
            def tasks(self):
                return [{"task_id": 0, "sites": ["buttons"], "start_url": "__BUTTONS__/", "intent": "Press OK",
                         "eval": {"eval_types": ["reward"]}}]

            async def reward(self, page, task):
                pressed = await page.evaluate("() => window.pressed")
                return Reward(value=float(pressed == "OK"), done=pressed is not None)

    Named as `task._target_`; the constructor is given `task.arguments` by name. An exception fails this attempt of the
    task, which is tried `resume.max_attempts` times at most; other tasks go on.
    """

    split: str = "all"
    """Which of `splits` is played where `task.split` does not say; `all` = every task."""
    needs_trace: bool = False
    """Its evaluators read the requests of the pages (`closed.evidence.trace`); `browser.har=false` is refused."""

    default_reward: float | None = 0.0
    """What the eval type `reward` scores when no action was rewarded, as when the agent gives up; None = such an
    episode stays unscored.
    """

    @abstractmethod
    def tasks(self) -> Iterable[Mapping[str, Any]]:
        """The tasks as a task file has them, checked and selected like those of a file (`task.ids`, `task.limit`)."""

    def splits(self) -> Mapping[str, Collection[str]]:
        """Parts of the tasks that `task.split=NAME` selects: by name the ids of their tasks."""
        return {}

    def files(self, task: Task, /) -> Iterable[str]:
        """What else has to be there to play and judge a task: http(s) addresses and paths of files.

        All of it is fetched before the task is played, from the sites of the run and from `task.hosts`, at most 10 MB
        each; where one cannot be had, the task is not played and stays unscored. `BenchmarkPage.files` names
        what was fetched. The pictures of a task (its key `image`) are fetched anyway, and are shown to the agent.

        Raises:
            TaskError: The task cannot be played or judged here; its journal holds the sentence, and others go on.
        """
        return ()

    async def prepare(self, page: BenchmarkPage, task: Task, /) -> str | None:
        """Make the start pages ready, before the agent sees them.

        Returns the objective, where the page makes it: the agent is given it in the place of the task's intent, and the
        journal keeps it (`acted.intent` of step 0). Evaluators see the task as it is in the file.

        Called whenever they were opened: at the start of an attempt, and again before recorded actions are replayed.
        It must lead to the same page each time, so what is random depends on `page.seed`. Pages that are restored from
        a checkpoint are not prepared again.
        """
        return None

    async def reward(self, page: BenchmarkPage, task: Task, /) -> Reward | None:
        """What the episode has earned, asked after each action; None = this action earned nothing new.

        It must not change the page: a replay does not ask.
        """
        return None

    def stop(self, task: Task, actions: Sequence[Action], /) -> str | None:
        """Why an attempt is over before the agent decides again, in a sentence for reports; None = it may go on.

        A rule of the benchmark's own, beside those of the settings (`limits`), which go on to hold. The attempt is
        closed with the reason `DONE` and is scored.

        Args:
            task: The task.
            actions: All of this attempt that were performed, oldest first. Asked again in a resume, so the same ones
                must lead to the same answer.
        """
        return None

    async def evidence(self, page: BenchmarkPage, task: Task, /) -> Any:
        """A JSON value to judge the episode by, asked once when it is over; None = nothing.

        Evaluators read it with `artifacts.read(closed.evidence.benchmark)`.
        """
        return None

    def evaluators(self) -> Mapping[str, Evaluator]:
        """Evaluators by the name that `eval_types` of the tasks have for them, besides the shipped ones."""
        return NO_EVALUATORS
