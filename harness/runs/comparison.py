"""Two runs over the same tasks, pair by pair: what flipped, how large the difference is, and whether it may be chance.

A pair is a task both runs were asked in the same version and both have a score for; everything left out is named, never
dropped in silence. With several trials a task counts by its mean, so each task stays one pair.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import TypedDict

from harness.records import benchmark_of
from harness.runs.about import RunInfo
from harness.runs.attribution import Move, moves
from harness.runs.baselines import Baseline, baselines_of
from harness.runs.format import cost, measure
from harness.runs.intervals import Interval, by_cluster, clustered_bootstrap, sign_test, weighted_mean
from harness.runs.measures import Measure, Measured, is_below, measures_of
from harness.runs.outcome import FAILED, PASSED, UNSCORED
from harness.runs.results import Result, grouped
from harness.runs.run import Run
from harness.runs.statistics import doubtful, repeated
from harness.runs.trials import Trials, amount, counted
from harness.runs.verified import VerifiedAgreement, agreed


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One run's part in a comparison."""

    about: RunInfo
    rows: tuple[Result, ...]
    folder: Path | None = None
    """Where baselines are looked for beside it; None = nowhere."""
    measured: Callable[[Collection[str]], Sequence[Measured]] = lambda _: ()
    """What plug-ins measure of these tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One task in both runs; numbers are means over its scored trials."""

    task_id: str
    intent: str
    site: str
    cluster: str
    before: float
    """Share of trials that passed."""
    after: float
    change: float
    """Over as many trials as both have a score for, the first ones: whether the task is gained or lost."""
    why: str
    """The reason in the run that did worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteChange:
    name: str
    pairs: int
    before: float
    after: float
    gained: int
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What a scored trial of the tasks that are compared took on average."""

    name: str
    unit: str
    before: float
    after: float
    priced_before: bool = True
    """Of a cost: False = some of it has no price. So `priced_after`."""
    priced_after: bool = True

    @property
    def shown_before(self) -> str:
        return self._shown(self.before, self.priced_before)

    @property
    def shown_after(self) -> str:
        return self._shown(self.after, self.priced_after)

    def _shown(self, value: float, priced: bool) -> str:
        return cost(value, priced) if self.unit == "usd" else measure(value, self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureChange:
    """A figure of a plug-in, of the tasks that are compared."""

    title: str
    """Whose it is: `Policies`."""
    label: str
    before: Measure | None
    """None = there is none. So `after`."""
    after: Measure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A later run held against an earlier one."""

    before: RunInfo
    after: RunInfo
    pairs: int
    """Tasks."""
    episodes_before: int
    """Scored trials of these tasks; so `episodes_after`."""
    episodes_after: int
    is_even: bool
    """Whether each task has as many of them, in both runs."""
    rate_before: float
    rate_after: float
    difference: Interval
    """Paired, 95%, bootstrap over intent templates."""
    p: float
    """Two-sided, exact: McNemar's with one trial, the sign test on task means with several."""
    gained: tuple[Pair, ...]
    lost: tuple[Pair, ...]
    sites: tuple[SiteChange, ...]
    effort: tuple[Effort, ...]
    only_before: tuple[str, ...]
    """Tasks that the other run was not asked; so `only_after`."""
    only_after: tuple[str, ...]
    differing: tuple[str, ...]
    """Tasks of the same id that are not the same task, and trials of those that are compared by their others."""
    unscored_before: tuple[str, ...]
    unscored_after: tuple[str, ...]
    """Common tasks without a score, those not begun included; those unscored in both stand in both."""
    trials_unscored_before: tuple[str, ...]
    trials_unscored_after: tuple[str, ...]
    """Trials without a score of tasks that are compared by their others."""
    doubts_before: int
    """Scores of these tasks that carry a doubt; so `doubts_after`."""
    doubts_after: int
    corrected_before: int
    """Scores of these tasks with a corrected reference, not the one that was played; so `corrected_after`."""
    corrected_after: int
    trials_before: Trials | None
    """Of the tasks that are compared; so `trials_after`."""
    trials_after: Trials | None
    baselines: tuple[Baseline, ...] = ()
    """Of the tasks that are compared; none where the folders are not known."""
    benchmarks: tuple[SiteChange, ...] = ()
    """Of two runs of a suite, by benchmark; () = one of them is none."""
    weighted: Interval | None = None
    """Of the suite: the paired difference of each benchmark, counted by the weights of the later run."""
    verified_before: VerifiedAgreement | None = None
    """With the scorer of webarena-verified, on these tasks; None = it was not asked. So `verified_after`."""
    verified_after: VerifiedAgreement | None = None
    measures: tuple[MeasureChange, ...] = ()
    """What plug-ins measure of these tasks; () for most runs."""
    moves: tuple[Move, ...] = ()
    """Episodes of these tasks whose class is another now; () where a run has failures without one."""

    @property
    def counted(self) -> str:
        """How many tasks, trials and episodes the pairs are."""
        if self.is_even:
            return counted(self.pairs, self.episodes_before, is_even=True)
        return f"{amount(self.pairs, 'task')}, {self.episodes_before:,} and {self.episodes_after:,} episodes"

    @property
    def trials(self) -> list[tuple[int, float, float, float, float]]:
        """For each k: k, pass@k before and after, pass^k before and after; [] = one of them has no repeated trials."""
        if self.trials_before is None or self.trials_after is None:
            return []
        both = zip(self.trials_before.at, self.trials_after.at, strict=False)
        return [(k, before, after, all_before, all_after) for (k, before, all_before), (_, after, all_after) in both]

    @property
    def newly_unscored(self) -> frozenset[str]:
        """Tasks, and trials of those that are compared, with a score before and none after."""
        tasks = set(self.unscored_after) - set(self.unscored_before)
        return frozenset(tasks | (set(self.trials_unscored_after) - set(self.trials_unscored_before)))

    @property
    def least_p(self) -> float:
        """p if every task of the comparison were lost: no lower one is possible."""
        return sign_test(self.pairs, 0)

    def regressed(self, level: float) -> bool:
        """Whether the later run is worse and lost more tasks than it gained, and chance alone would hardly make it so.

        p is of lost against gained tasks: with several trials, it may be small because more tasks gained.
        """
        # Thirds of trials do not add up exactly: equal rates may differ in the last digit.
        return is_below(self.difference.value, 0.0) and len(self.lost) > len(self.gained) and self.p <= level


def compare_runs(before: Run, after: Iterable[Run]) -> tuple[Comparison, ...]:
    """Hold each of `after` against `before`; all of them are read in one scoring.

    Raises:
        JournalError: A journal is damaged, because a comparison must not leave out what it cannot read.
    """
    first = side_of(before)
    return tuple(compare(first, side_of(run)) for run in after)


def side_of(run: Run) -> Side:
    """A run's part in a comparison.

    Raises:
        JournalError: A journal is damaged.
    """
    if run.damaged:
        raise run.damaged[0]
    return Side(
        about=run.about, rows=run.results, folder=run.folder, measured=lambda tasks: measures_of(run, frozenset(tasks))
    )


def compare(before: Side, after: Side) -> Comparison:
    """Hold `after` against `before`."""
    all_old, all_new = (grouped(side.rows, lambda row: row.task_id) for side in (before, after))
    common = [task for task in all_old if task in all_new]
    old = {task: _of_same_task(all_old[task], all_new[task]) for task in common}
    new = {task: _of_same_task(all_new[task], all_old[task]) for task in common}
    same = [task for task in common if old[task] and new[task]]
    paired = [task for task in same if _scored(old[task]) and _scored(new[task])]
    earlier, later = ({task: _scored(rows[task]) for task in paired} for rows in (old, new))
    pairs = [_pair(task, earlier[task], later[task]) for task in paired]
    gained = tuple(pair for pair in pairs if pair.change > 0)
    lost = tuple(pair for pair in pairs if pair.change < 0)
    return Comparison(
        before=before.about,
        after=after.about,
        pairs=len(pairs),
        episodes_before=sum(map(len, earlier.values())),
        episodes_after=sum(map(len, later.values())),
        is_even=len({len(rows) for rows in (*earlier.values(), *later.values())}) <= 1,
        rate_before=_mean(pair.before for pair in pairs),
        rate_after=_mean(pair.after for pair in pairs),
        # Not Wilson's interval, which is one of a rate: a difference of paired rates is none.
        difference=_difference(pairs),
        # By tasks: trials of one task are alike, and would promise too much.
        p=sign_test(len(lost), len(gained)),
        gained=gained,
        lost=lost,
        sites=_changes(pairs, lambda pair: pair.site),
        effort=_effort([*chain.from_iterable(earlier.values())], [*chain.from_iterable(later.values())]),
        only_before=tuple(task for task in all_old if task not in all_new),
        only_after=tuple(task for task in all_new if task not in all_old),
        differing=tuple(
            name
            for task in common
            for name in _differing(task, (*all_old[task], *all_new[task]), (*old[task], *new[task]))
        ),
        unscored_before=tuple(task for task in same if not _scored(old[task])),
        unscored_after=tuple(task for task in same if not _scored(new[task])),
        trials_unscored_before=_unscored(before, paired, after.about.trials),
        trials_unscored_after=_unscored(after, paired, before.about.trials),
        doubts_before=doubtful(row for task in paired for row in old[task]),
        doubts_after=doubtful(row for task in paired for row in new[task]),
        corrected_before=sum(row.is_corrected for task in paired for row in old[task]),
        corrected_after=sum(row.is_corrected for task in paired for row in new[task]),
        trials_before=repeated(chain.from_iterable(earlier.values())),
        trials_after=repeated(chain.from_iterable(later.values())),
        baselines=_baselines(after, [row for task in paired for row in new[task]]),
        **_suite(before.about, after.about, pairs),
        verified_before=agreed(row for task in paired for row in old[task]),
        verified_after=agreed(row for task in paired for row in new[task]),
        measures=_measures(before.measured(paired), after.measured(paired)),
        moves=_moves([row for task in same for row in old[task]], [row for task in same for row in new[task]]),
    )


def _baselines(side: Side, rows: Sequence[Result]) -> tuple[Baseline, ...]:
    return () if side.folder is None else baselines_of(side.folder, rows, side.about.dialect)


def _measures(before: Sequence[Measured], after: Sequence[Measured]) -> tuple[MeasureChange, ...]:
    old, new = (
        {(one.title, measure.label): measure for one in found for measure in one.measures} for found in (before, after)
    )
    return tuple(
        MeasureChange(title=key[0], label=key[1], before=old.get(key), after=new.get(key))
        for key in dict.fromkeys((*new, *old))
    )


def _moves(old: Sequence[Result], new: Sequence[Result]) -> tuple[Move, ...]:
    """Of the trials that both have; an episode that is not finished has not moved."""
    # With some failures without a class, each of the others would be shown as a move from `failed` to its class.
    if not all(row.attribution or row.status != FAILED for row in (*old, *new)):
        return ()
    later = {(row.task_id, row.trial): row for row in new if row.status != UNSCORED or row.attribution}
    pairs = ((row, later.get((row.task_id, row.trial))) for row in old if row.status != UNSCORED or row.attribution)
    return moves((row.name, row.verdict, other.verdict) for row, other in pairs if other is not None)


class _Suite(TypedDict, total=False):
    benchmarks: tuple[SiteChange, ...]
    weighted: Interval | None


def _suite(before: RunInfo, after: RunInfo, pairs: Sequence[Pair]) -> _Suite:
    """The comparison by benchmark, where both runs are of a suite."""
    if not (before.benchmarks and after.benchmarks):
        return {}
    found = grouped(pairs, lambda pair: benchmark_of(pair.task_id))
    whole = sum(after.benchmarks.get(name, 0.0) for name in found)
    parts = [(_difference(among), after.benchmarks.get(name, 0.0) / whole) for name, among in found.items() if whole]
    return {
        "benchmarks": _changes(pairs, lambda pair: benchmark_of(pair.task_id)),
        "weighted": weighted_mean(parts) if parts else None,
    }


def _difference(pairs: Iterable[Pair]) -> Interval:
    changes = by_cluster((pair.cluster, pair.after - pair.before) for pair in pairs)
    return clustered_bootstrap(changes, bounds=(-1.0, 1.0))


def _of_same_task(rows: Sequence[Result], others: Sequence[Result]) -> Sequence[Result]:
    """Those of one run's trials that are the same task as one of the other run's; () = none is.

    By digest: where a task was corrected between the runs, or between the scores of two trials, its id stands for two
    questions. What has no score was not asked with the correction, and counts only where a run has no score.
    """
    if not (_scored(rows) and _scored(others)):
        own, theirs = _digests(rows), _digests(others)
        return rows if own & theirs or not (own and theirs) else ()
    known = _digests(_scored(others)) or _digests(rows)
    kept = [row for row in rows if row.status == UNSCORED or not row.digest or row.digest in known]
    return kept if _scored(kept) else ()


def _differing(task: str, rows: Collection[Result], same: Collection[Result]) -> Iterable[str]:
    """The trials of a task that are not the same task in both runs; the task itself, if none is."""
    kept = set(map(id, same))
    return dict.fromkeys(f"{task} · trial {row.trial}" for row in rows if id(row) not in kept) if kept else (task,)


def _digests(rows: Iterable[Result]) -> set[str]:
    """Of those that were begun."""
    return {row.digest for row in rows if row.digest}


def _scored(rows: Iterable[Result]) -> list[Result]:
    return [row for row in rows if row.status != UNSCORED]


def _unscored(side: Side, paired: Collection[str], trials: int) -> tuple[str, ...]:
    """Of the trials that both runs were asked for, those not begun included."""
    among, rows = set(paired), (row for row in side.rows if row.status == UNSCORED and row.trial < trials)
    return tuple(f"{row.task_id} · trial {row.trial}" for row in rows if row.task_id in among)


def _pair(task_id: str, old: Sequence[Result], new: Sequence[Result]) -> Pair:
    # Of the same agent, the mean of three trials is more often below that of one, 1 or 0, than above it where most
    # pass. So a p of means over unlike numbers of trials would take chance for a change.
    both = min(len(old), len(new))
    change = _passed(new[:both]) - _passed(old[:both])
    worse = new if change < 0 else old
    return Pair(
        task_id=task_id,
        intent=new[0].intent,
        site=new[0].site,
        cluster=new[0].cluster,
        before=_passed(old),
        after=_passed(new),
        change=change,
        why=next((f"{row.cause}: {row.detail}".rstrip(": ") for row in worse if row.status != PASSED), ""),
    )


def _changes(pairs: Iterable[Pair], key: Callable[[Pair], str]) -> tuple[SiteChange, ...]:
    return tuple(
        SiteChange(
            name=name,
            pairs=len(among),
            before=_mean(pair.before for pair in among),
            after=_mean(pair.after for pair in among),
            gained=sum(pair.change > 0 for pair in among),
            lost=sum(pair.change < 0 for pair in among),
        )
        for name, among in sorted(grouped(pairs, key).items())
    )


def _effort(old: Sequence[Result], new: Sequence[Result]) -> tuple[Effort, ...]:
    def effort(name: str, unit: str, before: Iterable[float], after: Iterable[float]) -> Effort:
        return Effort(name=name, unit=unit, before=_mean(before), after=_mean(after))

    return (
        effort("Steps", "count", (row.steps for row in old), (row.steps for row in new)),
        effort("Tokens", "count", (row.tokens for row in old), (row.tokens for row in new)),
        replace(
            effort("Cost", "usd", (row.cost_usd for row in old), (row.cost_usd for row in new)),
            priced_before=all(row.priced for row in old),
            priced_after=all(row.priced for row in new),
        ),
        effort(
            "Working time", "seconds", (row.elapsed_ms / 1000 for row in old), (row.elapsed_ms / 1000 for row in new)
        ),
    )


def _passed(rows: Iterable[Result]) -> float:
    return _mean(row.status == PASSED for row in rows)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0
