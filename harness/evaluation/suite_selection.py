"""Which tasks of a suite are asked for: `task.ids=[demo/0-7,miniwob/click-button]`, `task.sites`, `task.limit`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from harness.errors import TaskError
from harness.records import Task
from harness.settings.task import TaskSettings
from harness.tasks.selection import chosen_ids, pieces_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is asked for, beside what the suite file says of each benchmark."""

    path: Path
    ids: Mapping[str, list[str]] | None
    """Benchmark to ids and ranges, [] = all of it; None = all benchmarks."""
    sites: frozenset[str] | None
    limit: int | None
    """At most so many of each benchmark."""

    @classmethod
    def of(cls, task: TaskSettings) -> Self:
        """Raises: TaskError: An id names no benchmark of the suite."""
        ids: dict[str, list[str]] | None = None
        for piece in [] if task.ids is None else pieces_of(task.ids):
            name, _, rest = piece.partition("/") if "/" in piece else piece.partition(".")
            if name not in task.members:
                raise TaskError(
                    f"{task.path}: task.ids asks for {piece[:80]}; write BENCHMARK/ID, with one of"
                    f" {', '.join(task.members)}"
                )
            ids = {} if ids is None else ids
            ids.setdefault(name, []).extend([rest] if rest else [])
        return cls(
            path=Path(str(task.path)),
            ids=ids,
            sites=None if task.sites is None else frozenset(task.sites),
            limit=task.limit,
        )

    def has(self, name: str) -> bool:
        """Whether anything of a benchmark is asked for."""
        return self.ids is None or name in self.ids

    def of_benchmark(self, name: str, tasks: Sequence[Task]) -> Sequence[Task]:
        """The selected tasks of a benchmark.

        Raises:
            TaskError: It has no task of an id that is asked for.
        """
        wanted = None if self.ids is None else self.ids[name]
        if wanted:
            chosen = chosen_ids([task.task_id for task in tasks], self.path, wanted)
            tasks = [task for task in tasks if task.task_id in chosen]
        if self.sites is not None:
            tasks = [task for task in tasks if self.sites.issuperset(task.sites)]
        return tasks[: self.limit]
