"""What the episodes of a run come to: counts, rates with intervals, tokens, cost, groups, causes of failure.

There are three outcomes: passed, failed, and unscored (an infrastructure failure, or evidence that could not be
judged). An unscored episode stays in the denominator of a rate, but not in that of `of_scored`. An episode is one trial
of one task; tasks and episodes are counted separately. How a figure is written, for people and for programs, is in
`harness.runs.figures`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from harness.evaluators.result import DIALECTS
from harness.records import Usage, benchmark_of
from harness.runs.attribution import Attributed, attributed
from harness.runs.intervals import Interval, is_clustered, rate_of, weighted_mean, wilson
from harness.runs.judge_error import JudgeUse, check_files, counted_uses, with_errors
from harness.runs.notes import corrected_notes, rescored_name, rescored_notes, unconfined_notes
from harness.runs.outcome import FAILED, PASSED, UNSCORED
from harness.runs.results import Result, grouped
from harness.runs.trials import Trials, counted, trials_of
from harness.runs.verified import VerifiedAgreement, agreed

_NOTHING = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What some episodes come to together: all of a run, those of a site, a benchmark or an intent template."""

    name: str = "all"
    tasks: int = 0
    episodes: int = 0
    """One for each trial of each task; so `passed`, `failed` and `unscored`."""
    is_even: bool = True
    """Whether each task has as many."""
    passed: int = 0
    failed: int = 0
    unscored: int = 0
    rate: Interval = field(default_factory=lambda: wilson(0, 0))
    """Passed over all episodes, with its 95% interval; over intent templates where several episodes share one."""
    doubts: int = 0
    """Scores with a doubt: an action in doubt, or a site that an earlier attempt may have changed."""
    resumes: int = 0
    divergences: int = 0
    """Resumes that did not lead to what is recorded, in all attempts."""
    policy_violations: int = 0
    """Different things that agents' processes were seen to try and may not do, in all attempts."""
    retries: int = 0
    """Attempts beyond the first of each episode."""
    usage: Usage = field(default_factory=Usage)
    """Of the model under test, in all attempts."""
    judge: Usage = field(default_factory=Usage)
    """What judging cost; in none of the other figures."""
    inherited_steps: int = 0
    """Of a fork: steps of another run that its episodes begin with."""
    inherited: Usage = field(default_factory=Usage)
    """What they cost that run; in none of the other figures."""
    working_s: float = 0.0
    """Deciding and acting in all attempts, in seconds; downtime is not in it."""

    @property
    def counted(self) -> str:
        """How many tasks, trials and episodes, in words."""
        return counted(self.tasks, self.episodes, is_even=self.is_even)

    @property
    def of_scored(self) -> float | None:
        """Passed over scored; None when nothing is."""
        scored = self.passed + self.failed
        return self.passed / scored if scored else None

    @property
    def tokens(self) -> int:
        """Of the model under test; so `cost_usd` and `priced`."""
        return self.usage.tokens

    @property
    def cost_usd(self) -> float:
        return self.usage.cost_usd

    @property
    def priced(self) -> bool:
        """Whether all of it has a price; otherwise `cost_usd` is a lower bound."""
        return self.usage.priced


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why some episodes did not pass."""

    name: str
    status: str
    """`failed` or `unscored`."""
    episodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRates:
    """All benchmarks of a suite that have an episode, and the mean of their rates."""

    benchmarks: tuple[Group, ...]
    weights: tuple[float, ...]
    """That of each benchmark, as a share of all."""
    mean: Interval
    """Each benchmark counts by its weight, however many tasks it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What a run comes to, in one scoring."""

    all: Group
    """The whole run."""
    method: str
    """How the interval of the whole was made."""
    sites: tuple[Group, ...]
    """By combination of sites, joined by `+`."""
    templates: tuple[Group, ...]
    """By intent template, where it has several episodes; the lowest rate first."""
    causes: tuple[Cause, ...]
    """The most frequent first."""
    trials: Trials | None
    """What repeated trials say; None without any."""
    suite: SuiteRates | None
    """By benchmark; None = the run is not a suite."""
    disagreements: tuple[str, ...]
    """Tasks that the two scorings judge differently."""
    judges: tuple[JudgeUse, ...]
    """Whose verdicts are in the rate; with their measured errors after `beside`."""
    notes: tuple[str, ...]
    """What a reader of the numbers has to know about how they were made, a sentence each."""
    verified: VerifiedAgreement | None
    """With the scorer of webarena-verified; None = it was not asked."""
    attributed: Attributed | None = None
    """Whose the failures are; None = nothing failed, or `harness attribute` has not looked at the run."""


def statistics_of(
    results: Sequence[Result],
    weights: Mapping[str, float] = MappingProxyType({}),
    *,
    notes: tuple[str, ...] = (),
) -> Statistics:
    """Fold the results of a run.

    Args:
        results: One for each episode of it, those not begun included.
        weights: Of the benchmarks of a suite, by name.
        notes: What is known beside the journals.
    """
    by_site = grouped(results, lambda one: one.site)
    whose = attributed(one.attribution for one in results)
    return Statistics(
        all=_group("all", [one for among in by_site.values() for one in among]),
        method="Wilson over intent templates" if is_clustered(_by(results, lambda one: one.cluster)) else "Wilson",
        sites=tuple(_group(name, by_site[name]) for name in sorted(by_site)),
        templates=_templates(results),
        causes=_causes(results),
        trials=repeated(results),
        suite=_suite(results, weights),
        disagreements=tuple(dict.fromkeys(one.task_id for one in results if one.is_disputed)),
        judges=counted_uses(one.judged for one in results if one.judged is not None),
        notes=(
            *(() if whose is None else (str(whose),)),
            *notes,
            *unconfined_notes(sum(one.is_unconfined for one in results)),
            *corrected_notes(sum(one.is_corrected for one in results)),
        ),
        verified=agreed(results),
        attributed=whose,
    )


def beside(found: Statistics, folder: Path, results: Iterable[Result]) -> Statistics:
    """The same with what files beside the journals say: measured errors of its judges, and `rescored-*.json`."""
    return replace(
        found, judges=with_errors(found.judges, folder), notes=(*found.notes, *rescored_notes(folder, results))
    )


def beside_files(folder: Path) -> tuple[Path, ...]:
    """The files that `beside` reads, whether they are there or not."""
    return (*(folder / rescored_name(dialect) for dialect in DIALECTS), *check_files(folder))


def doubtful(results: Iterable[Result]) -> int:
    """How many scores carry a doubt."""
    return sum(bool(one.doubts) and one.status != UNSCORED for one in results)


def repeated(results: Iterable[Result]) -> Trials | None:
    """What repeated trials say, None without any; an unscored trial is not a trial."""
    return trials_of(_by((one for one in results if one.status != UNSCORED), lambda one: one.task_id))


def _group(name: str, results: Sequence[Result], cluster: Callable[[Result], str] = lambda one: one.cluster) -> Group:
    statuses = [one.status for one in results]
    trials = Counter(one.task_id for one in results)
    return Group(
        name=name,
        tasks=len(trials),
        episodes=len(results),
        is_even=len(set(trials.values())) <= 1,
        passed=statuses.count(PASSED),
        failed=statuses.count(FAILED),
        unscored=statuses.count(UNSCORED),
        rate=rate_of(_by(results, cluster)),
        doubts=doubtful(results),
        resumes=sum(one.resumes for one in results),
        divergences=sum(one.divergences for one in results),
        policy_violations=sum(one.policy_violations for one in results),
        retries=sum(max(0, one.attempts - 1) for one in results),
        usage=_total(one.usage for one in results),
        judge=_total(one.judge for one in results),
        inherited_steps=sum(one.inherited_steps for one in results),
        inherited=_total(one.inherited for one in results),
        working_s=sum(one.elapsed_ms for one in results) / 1000,
    )


def _total(usages: Iterable[Usage]) -> Usage:
    """Most episodes have neither judge nor parent: to compare is a quarter of the work of adding nothing."""
    return sum((one for one in usages if one != _NOTHING), _NOTHING)


def _suite(results: Iterable[Result], weights: Mapping[str, float]) -> SuiteRates | None:
    """None when there are no weights, as the run is not a suite, or no episode."""
    found = grouped(results, lambda one: benchmark_of(one.task_id)) if weights else {}
    if not (whole := sum(weights[name] for name in found if name in weights)):
        return None
    groups = tuple(_group(name, found[name]) for name in weights if name in found)
    shares = tuple(weights[group.name] / whole for group in groups)
    mean = weighted_mean([(group.rate, share) for group, share in zip(groups, shares, strict=True)])
    return SuiteRates(benchmarks=groups, weights=shares, mean=mean)


def _templates(results: Iterable[Result]) -> tuple[Group, ...]:
    """Within a template the tasks are what is drawn."""
    found = grouped((one for one in results if one.template), lambda one: one.template)
    groups = [_group(name, among, lambda one: one.task_id) for name, among in sorted(found.items()) if len(among) > 1]
    return tuple(sorted(groups, key=lambda group: (group.rate.value, -group.episodes, group.name)))


def _causes(results: Iterable[Result]) -> tuple[Cause, ...]:
    found = grouped((one for one in results if one.status != PASSED), lambda one: (one.status, one.cause))
    causes = (Cause(name=name, status=status, episodes=len(among)) for (status, name), among in found.items())
    return tuple(sorted(causes, key=lambda cause: (-cause.episodes, cause.name)))


def _by(results: Iterable[Result], key: Callable[[Result], str]) -> dict[str, list[float]]:
    """1 or 0 for each result, passed or not."""
    return {name: [float(one.status == PASSED) for one in among] for name, among in grouped(results, key).items()}
