"""Aggregates of the rows of a run: rates with intervals, groups, causes of failure, distributions.

A rate is passed over all, with unscored tasks in its denominator, as in the summary.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from harness.records import Usage
from harness.reports.chart import Histogram, histogram
from harness.reports.confinement import unconfined_notes
from harness.reports.corrected import corrected_notes
from harness.reports.judge_error import JudgeUse, counted_uses, with_errors
from harness.reports.rescored import rescored_notes
from harness.reports.rows import Row
from harness.reports.statistics import Interval, clustered_rate, wilson
from harness.reports.suite_rates import SuiteEpisode, SuiteRates, suite_rates
from harness.reports.trials import Trials, counted, trials_of
from harness.reports.verified import VerifiedAgreement, agreement
from harness.runs.outcome import FAILED, PASSED, UNSCORED


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows that have something in common."""

    name: str
    total: int
    """Episodes."""
    tasks: int
    passed: int
    failed: int
    unscored: int
    rate: Interval

    @property
    def counted(self) -> str:
        """How many tasks, trials and episodes."""
        return counted(self.tasks, self.total)

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
    usage: Usage
    """Of the model under test, in full: what was cached, and what reasoning took."""
    judge: Usage
    """What judging cost; in none of the figures above."""
    inherited_steps: int
    inherited: Usage
    """What inherited steps cost the run that they are from; in no figure above."""
    judges: tuple[JudgeUse, ...]
    """Whose verdicts are in the rate, with their measured errors where the folder is known."""
    working_s: float
    resumes: int
    divergences: int
    policy_violations: int
    notes: tuple[str, ...]
    """See `Summary.notes`; those that journals tell, and what `rescored-*.json` says beside them."""
    doubts: int
    """Scores that carry one."""
    retries: int
    """Attempts beyond the first of each."""
    verified: VerifiedAgreement | None = None
    """With the scorer of webarena-verified; None = it was not asked."""
    suite: SuiteRates | None = None
    """By benchmark; None = the run is no suite."""


def overview(
    rows: Sequence[Row], folder: Path | None = None, weights: Mapping[str, float] = MappingProxyType({})
) -> Overview:
    """Fold the rows of one run.

    Args:
        rows: All of them.
        folder: Beside which the errors of its judges are looked up; None = nor is `rescored-*.json`.
        weights: Of the benchmarks of a suite.
    """
    judges = counted_uses(row.judged for row in rows if row.judged is not None)
    is_repeated = any(row.trial for row in rows)
    return Overview(
        all=_group("all", rows),
        method="Wilson over intent templates" if is_repeated else "Wilson",
        sites=_groups(rows, lambda row: row.site),
        templates=_templates(rows),
        causes=_causes(rows),
        charts=_charts(rows),
        trials=repeated(rows) if is_repeated else None,
        tokens=sum(row.tokens for row in rows),
        cost_usd=sum(row.cost_usd for row in rows),
        priced=all(row.priced for row in rows),
        usage=sum((row.usage for row in rows), Usage()),
        judge=sum((row.judge for row in rows), Usage()),
        inherited_steps=sum(row.inherited_steps for row in rows),
        inherited=sum((row.inherited for row in rows), Usage()),
        judges=judges if folder is None else with_errors(judges, folder),
        working_s=sum(row.elapsed_ms for row in rows) / 1000,
        resumes=sum(row.resumes for row in rows),
        divergences=sum(row.divergences for row in rows),
        policy_violations=sum(row.policy_violations for row in rows),
        notes=(
            *unconfined_notes(sum(row.is_unconfined for row in rows)),
            *corrected_notes(sum(row.is_corrected for row in rows)),
            *(() if folder is None else rescored_notes(folder, rows)),
        ),
        doubts=doubtful(rows),
        retries=sum(max(0, row.attempts - 1) for row in rows),
        verified=agreed(rows),
        suite=suite_of(rows, weights),
    )


def doubtful(rows: Iterable[Row]) -> int:
    """How many scores carry a doubt."""
    return sum(bool(row.doubts) and row.status != UNSCORED for row in rows)


def suite_of(rows: Iterable[Row], weights: Mapping[str, float]) -> SuiteRates | None:
    """The rates of the benchmarks of a suite; None when there are no weights."""
    return suite_rates((SuiteEpisode(row.task_id, row.cluster, row.status) for row in rows), weights)


def agreed(rows: Iterable[Row]) -> VerifiedAgreement | None:
    """The rows held against the verdicts of the scorer of webarena-verified."""
    return agreement((row.name, row.status, row.verified) for row in rows)


def _pass(row: Row) -> float:
    return float(row.status == PASSED)


def _by(rows: Iterable[Row], key: Callable[[Row], str], value: Callable[[Row], float]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(value(row))
    return found


def _group(name: str, rows: Sequence[Row], cluster: Callable[[Row], str] = lambda row: row.cluster) -> Group:
    """Rows as one; with repeated trials the interval is made over clusters, as trials of one task are alike."""
    statuses = [row.status for row in rows]
    passed, tasks = statuses.count(PASSED), len({row.task_id for row in rows})
    return Group(
        name=name,
        total=len(rows),
        tasks=tasks,
        passed=passed,
        failed=statuses.count(FAILED),
        unscored=statuses.count(UNSCORED),
        rate=wilson(passed, len(rows)) if tasks == len(rows) else clustered_rate(_by(rows, cluster, _pass)),
    )


def _groups(rows: Iterable[Row], key: Callable[[Row], str]) -> tuple[Group, ...]:
    found = _among(rows, key)
    return tuple(_group(name, found[name]) for name in sorted(found))


def _templates(rows: Iterable[Row]) -> tuple[Group, ...]:
    """Within a template the tasks are what is drawn."""
    found = _among((row for row in rows if row.template), lambda row: row.template)
    groups = [_group(name, found[name], lambda row: row.task_id) for name in sorted(found) if len(found[name]) > 1]
    return tuple(sorted(groups, key=lambda group: (group.rate.value, -group.total, group.name)))


def _among(rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


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


def repeated(rows: Iterable[Row]) -> Trials | None:
    """What repeated trials say, None without any; an unscored trial is no trial."""
    return trials_of(_by((row for row in rows if row.status != UNSCORED), lambda row: row.task_id, _pass))
