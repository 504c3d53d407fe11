"""Several benchmarks in one run: each task belongs to one of them, and is shown to it as its own.

The id of a task is `BENCHMARK.ID`: names of benchmarks have no dot, so both parts can be told apart, and the whole is a
file name. A benchmark and its evaluators see the task with the id that they gave it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.api import (
    Action,
    Artifacts,
    Benchmark,
    BenchmarkPage,
    Closed,
    Evaluator,
    EvaluatorError,
    Finding,
    JudgeAccess,
    JudgedEvaluator,
    RecordedEpisode,
    Reward,
    Task,
)
from harness.records import benchmark_of


def named(task: Task, benchmark: str) -> Task:
    """The task as one of a suite; its intent template, too, is told apart from those of other benchmarks."""
    template = f"{benchmark}.{task.intent_template_id}" if task.intent_template_id else ""
    # A longer id goes through journals, file names, locks and tables as it is; a field beside it would have to visit
    # each.
    return replace(task, task_id=f"{benchmark}.{task.task_id}", intent_template_id=template)


def own(task: Task) -> Task:
    """The task as its benchmark has it."""
    template = task.intent_template_id.partition(".")[2]
    return replace(task, task_id=task.task_id.partition(".")[2], intent_template_id=template)


class Suite(Benchmark):
    """Hands each call to the benchmark of its task.

    Args:
        members: Benchmarks by name; None = its tasks are those of a file.
        evaluators: Of each, by eval type.
    """

    def __init__(
        self, members: Mapping[str, Benchmark | None], evaluators: Mapping[str, Mapping[str, Evaluator]]
    ) -> None:
        self._members = {name: _Plain() if member is None else member for name, member in members.items()}
        self._evaluators = evaluators
        self.needs_trace = any(member.needs_trace for member in self._members.values())

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        """() here: the tasks of each benchmark are loaded by themselves."""
        return ()

    def splits(self) -> Mapping[str, Collection[str]]:
        """{} here, for the same reason."""
        return {}

    def files(self, task: Task, /) -> Iterable[str]:
        return self._of(task).files(own(task))

    async def prepare(self, page: BenchmarkPage, task: Task, /) -> str | None:
        return await self._of(task).prepare(page, own(task))

    async def reward(self, page: BenchmarkPage, task: Task, /) -> Reward | None:
        return await self._of(task).reward(page, own(task))

    def stop(self, task: Task, actions: Sequence[Action], /) -> str | None:
        return self._of(task).stop(own(task), actions)

    async def evidence(self, page: BenchmarkPage, task: Task, /) -> Any:
        return await self._of(task).evidence(page, own(task))

    def evaluators(self) -> Mapping[str, Evaluator]:
        by_type: dict[str, dict[str, Evaluator]] = {}
        for name, evaluators in self._evaluators.items():
            for eval_type, evaluator in evaluators.items():
                by_type.setdefault(eval_type, {})[name] = evaluator
        return {
            eval_type: _Judged(among)
            if any(isinstance(one, JudgedEvaluator) for one in among.values())
            else _Each(among)
            for eval_type, among in by_type.items()
        }

    def _of(self, task: Task) -> Benchmark:
        return self._members[benchmark_of(task.task_id)]


class _Plain(Benchmark):
    """What a task file is beside its tasks."""

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        return ()


class _Each:
    """The evaluators of one eval type, by benchmark."""

    def __init__(self, among: Mapping[str, Evaluator]) -> None:
        self._among = among

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        return await self._of(task).evaluate(own(task), closed, artifacts)

    def _of(self, task: Task) -> Evaluator:
        """Raises: EvaluatorError: The benchmark of the task has no such evaluator."""
        name = benchmark_of(task.task_id)
        if name not in self._among:
            raise EvaluatorError(f"{name[:80]} has no evaluator of this eval type")
        return self._among[name]


class _Judged(_Each, JudgedEvaluator):
    """The same, where one of them asks the judge."""

    def __init__(self, among: Mapping[str, Evaluator]) -> None:
        super().__init__(among)
        asking = {one.prompt_digest for one in among.values() if isinstance(one, JudgedEvaluator)}
        self.prompt_digest = " ".join(sorted(asking))

    def in_dialect(self, dialect: str, /) -> JudgedEvaluator:
        among = {
            name: one.in_dialect(dialect) if isinstance(one, JudgedEvaluator) else one
            for name, one in self._among.items()
        }
        # The same object where nothing differs, by which a run knows that one question serves both scorings.
        return self if among == self._among else _Judged(among)

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        return await _Each.evaluate(self, task, closed, artifacts)

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        evaluator = self._of(recorded.task)
        if isinstance(evaluator, JudgedEvaluator):
            return await evaluator.evaluate_judged(replace(recorded, task=own(recorded.task)), judge)
        return await evaluator.evaluate(own(recorded.task), recorded.closed, recorded.artifacts)
