"""What the rows of a run add up to: rates with intervals, groups, causes of failure, distributions.

A rate is passed over all, an unscored task in its denominator, as in the summary.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from harness.records import Usage
from harness.reports.chart import Histogram, histogram
from harness.reports.rows import Row
from harness.reports.statistics import Interval, clustered_bootstrap, pass_at_k, pass_hat_k, wilson
from harness.reports.summary import FAILED, PASSED, UNSCORED


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows that have something in common."""

    name: str
    total: int
    passed: int
    failed: int
    unscored: int
    rate: Interval

    @property
    def of_scored(self) -> float | None:
        """Passed over scored; None when nothing is."""
        scored = self.passed + self.failed
        return self.passed / scored if scored else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why some rows did not pass."""

    name: str
    status: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """What repeated trials of the same tasks say, means over tasks."""

    tasks: int
    at: tuple[tuple[int, float, float], ...]
    """k, pass@k, pass^k."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Everything on the first page but the list of tasks."""

    all: Group
    method: str
    """How the interval of the whole was made."""
    sites: tuple[Group, ...]
    templates: tuple[Group, ...]
    """Only templates of more than one row; the worst first."""
    causes: tuple[Cause, ...]
    charts: tuple[Histogram, ...]
    trials: Trials | None
    tokens: int
    cost_usd: float
    priced: bool
    judge: Usage
    """What judging cost; in none of the figures above."""
    working_s: float
    resumes: int
    divergences: int
    retries: int
    """Attempts beyond the first of each."""


def overview(rows: Sequence[Row]) -> Overview:
    """Fold the rows of one run."""
    repeated = any(row.trial for row in rows)
    whole = _group("all", rows)
    if repeated:
        # Trials of one task are alike, so counting each as its own sample would make the interval too narrow.
        whole = _group("all", rows, clustered_bootstrap(_by(rows, lambda row: row.cluster, _pass), resamples=2000))
    return Overview(
        all=whole,
        method="bootstrap over intent templates" if repeated else "Wilson",
        sites=_groups(rows, lambda row: row.site),
        templates=_templates(rows),
        causes=_causes(rows),
        charts=_charts(rows),
        trials=trials_of(rows) if repeated else None,
        tokens=sum(row.tokens for row in rows),
        cost_usd=sum(row.cost_usd for row in rows),
        priced=all(row.priced for row in rows),
        judge=sum((row.judge for row in rows), Usage()),
        working_s=sum(row.elapsed_ms for row in rows) / 1000,
        resumes=sum(row.resumes for row in rows),
        divergences=sum(row.divergences for row in rows),
        retries=sum(max(0, row.attempts - 1) for row in rows),
    )


def _pass(row: Row) -> float:
    return float(row.status == PASSED)


def _by(rows: Iterable[Row], key: Callable[[Row], str], value: Callable[[Row], float]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(value(row))
    return found


def _group(name: str, rows: Sequence[Row], rate: Interval | None = None) -> Group:
    statuses = [row.status for row in rows]
    passed = statuses.count(PASSED)
    return Group(
        name=name,
        total=len(rows),
        passed=passed,
        failed=statuses.count(FAILED),
        unscored=statuses.count(UNSCORED),
        rate=rate or wilson(passed, len(rows)),
    )


def _groups(rows: Iterable[Row], key: Callable[[Row], str], least: int = 1) -> tuple[Group, ...]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return tuple(_group(name, found[name]) for name in sorted(found) if len(found[name]) >= least)


def _templates(rows: Iterable[Row]) -> tuple[Group, ...]:
    groups = _groups((row for row in rows if row.template), lambda row: row.template, least=2)
    return tuple(sorted(groups, key=lambda group: (group.rate.value, -group.total, group.name)))


def _causes(rows: Iterable[Row]) -> tuple[Cause, ...]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.status != PASSED:
            found.setdefault((row.status, row.cause), []).append(row)
    causes = (Cause(name=name, status=status, rows=tuple(among)) for (status, name), among in found.items())
    return tuple(sorted(causes, key=lambda cause: (-len(cause.rows), cause.name)))


def _charts(rows: Sequence[Row]) -> tuple[Histogram, ...]:
    begun = [row for row in rows if row.attempts]
    measures: tuple[tuple[str, str, Callable[[Row], float]], ...] = (
        ("Steps", "count", lambda row: row.steps),
        ("Tokens", "count", lambda row: row.tokens),
        ("Cost", "usd", lambda row: row.cost_usd),
        ("Working time", "seconds", lambda row: row.elapsed_ms / 1000),
    )
    return tuple(
        histogram(name, unit, [(measure(row), row.status) for row in begun])
        for name, unit, measure in measures
        if len({measure(row) for row in begun}) > 1
    )


def trials_of(rows: Iterable[Row]) -> Trials | None:
    """What repeated trials say, None without any; over tasks with as many scored trials as the most; an unscored trial is no trial."""
    found = _by((row for row in rows if row.status != UNSCORED), lambda row: row.task_id, _pass)
    most = max((len(values) for values in found.values()), default=0)
    counted = [int(sum(values)) for values in found.values() if len(values) == most]
    if most < 2:
        return None
    at = tuple(
        (
            k,
            sum(pass_at_k(most, passed, k) for passed in counted) / len(counted),
            sum(pass_hat_k(most, passed, k) for passed in counted) / len(counted),
        )
        for k in range(1, most + 1)
    )
    return Trials(tasks=len(counted), at=at)
