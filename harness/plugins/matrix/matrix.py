"""Runs as a matrix: a row for each agent and model, a column for each benchmark.

A cell is the part of one run that is of one benchmark. Each is held against the cell of the reference in its column by
the same paired statistics as in `harness compare`. Intervals and p are of one comparison each: nothing is adjusted for
their number.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.errors import ConfigError
from harness.runs import Run
from harness.runs.comparison import Comparison, Side, compare, side_of
from harness.runs.results import Result
from harness.runs.statistics import Group, statistics_of

UNNAMED = "tasks"
"""The benchmark of a run that does not name it, and has no task of one that another run names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One agent with one model."""

    agent: str
    model: str
    run: str
    """Name of its run; "" = there is no other run of this agent and model on the same benchmark."""

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.agent or "unknown agent", self.model, self.run)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one row comes to on one benchmark."""

    run: Run
    side: Side
    group: Group
    comparison: Comparison | None
    """Against the reference; None = it is the reference, or the reference has no such benchmark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The whole of it."""

    scoring: str
    benchmarks: tuple[str, ...]
    rows: tuple[Row, ...]
    """The reference first."""
    cells: Mapping[tuple[Row, str], Cell]

    @property
    def reference(self) -> Row:
        return self.rows[0]

    @property
    def comparisons(self) -> int:
        """How many differences are shown."""
        return sum(cell.comparison is not None for cell in self.cells.values())


def matrix_of(runs: Sequence[Run], names: Sequence[str]) -> Matrix:
    """Put runs into a matrix; the row of the first is the reference.

    Args:
        runs: At least one, all read in one scoring.
        names: Of the runs, each another.

    Raises:
        ConfigError: A run is given twice.
        JournalError: A journal is damaged, because a comparison must not leave out what it cannot read.
    """
    folders = [run.folder.resolve() for run in runs]
    if twice := next((folder for folder in folders if folders.count(folder) > 1), None):
        raise ConfigError(f"{twice} is given twice; give it once")
    parts = list(zip(runs, names, _named(list(map(_by_benchmark, runs))), strict=True))
    who = Counter((run.about.agent, run.about.model, part) for run, _, sides in parts for part in sides)
    repeated = {(agent, model) for (agent, model, _), count in who.items() if count > 1}
    cells: dict[tuple[Row, str], tuple[Run, Side]] = {}
    for run, own, sides in parts:
        agent, model = run.about.agent, run.about.model
        row = Row(agent=agent, model=model, run=own if (agent, model) in repeated else "")
        cells |= {(row, name): (run, side) for name, side in sides.items()}
    first = next(iter(cells))[0]
    return Matrix(
        scoring=runs[0].scoring,
        benchmarks=tuple(dict.fromkeys(name for _, name in cells)),
        rows=tuple(dict.fromkeys(row for row, _ in cells)),
        cells={
            (row, name): _cell(run, side, None if row == first else cells.get((first, name)))
            for (row, name), (run, side) in cells.items()
        },
    )


def _by_benchmark(run: Run) -> Mapping[str, Side]:
    whole = side_of(run)
    found: dict[str, list[Result]] = {}
    for result in whole.rows:
        found.setdefault(run.about.benchmark_of(result.task_id), []).append(result)
    if not found:
        raise ConfigError(f"{run.folder} has no task; leave it out, or play it")
    return {name: Side(about=whole.about, rows=tuple(rows)) for name, rows in found.items()}


def _named(found: Sequence[Mapping[str, Side]]) -> Sequence[Mapping[str, Side]]:
    """The same, with a name for a benchmark that has none where another run names that of its tasks.

    Runs from before `run.json` named the benchmark, in a folder of another name than the default, do not know it.
    """
    names = {
        (row.task_id, row.digest): name
        for one in found
        for name, side in one.items()
        for row in side.rows
        if name and row.digest  # a task that has not begun may be any
    }

    def name_of(side: Side) -> str:
        others = {names[row.task_id, row.digest] for row in side.rows if (row.task_id, row.digest) in names}
        return others.pop() if len(others) == 1 else UNNAMED

    return [{name or name_of(side): side for name, side in one.items()} for one in found]


def _cell(run: Run, side: Side, reference: tuple[Run, Side] | None) -> Cell:
    return Cell(
        run=run,
        side=side,
        group=statistics_of(side.rows).all,
        comparison=None if reference is None else compare(reference[1], side),
    )


def trial_of(rows: Iterable[Result], task: str, status: str) -> int:
    """The first trial of a task that came to this, or else its first."""
    return next((one.trial for one in rows if one.task_id == task and one.status == status), 0)
