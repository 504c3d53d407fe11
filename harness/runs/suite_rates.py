"""The rates of the benchmarks of a suite, and their weighted mean."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.records import benchmark_of
from harness.runs.format import percent
from harness.runs.intervals import Interval, by_cluster, rate_of, weighted_mean
from harness.runs.trials import counted_briefly


class SuiteEpisode(NamedTuple):
    """One (task, trial) of a suite."""

    task_id: str
    cluster: str
    """Tasks of one intent template share it."""
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRate:
    name: str
    weight: float
    """The weight as a share of all weights."""
    tasks: int
    episodes: int
    """One for each trial of each task; so `passed`, `failed` and `unscored`."""
    is_even: bool
    """Whether each task has as many."""
    passed: int
    failed: int
    unscored: int
    rate: Interval
    """Passed over all episodes, with its 95% interval."""

    @property
    def counted(self) -> str:
        """How many tasks and trials, as `40 × 3`."""
        return counted_briefly(self.tasks, self.episodes, is_even=self.is_even)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRates:
    """All benchmarks that have an episode, and the mean of their rates."""

    benchmarks: tuple[BenchmarkRate, ...]
    mean: Interval
    """Each benchmark counts by its weight, however many tasks it has."""


SUITE_HEADS = ("benchmark", "weight", "tasks", "passed", "failed", "unscored", "rate", "95% interval")


def suite_table(suite: SuiteRates) -> tuple[tuple[str, ...], ...]:
    """The cells below `SUITE_HEADS`: a row for each benchmark, and one for the weighted mean."""
    rows = ((one.name, percent(one.weight), *_counts(one), *_interval(one.rate)) for one in suite.benchmarks)
    return (*rows, ("weighted mean", "", "", "", "", "", *_interval(suite.mean)))


def suite_rates(episodes: Iterable[SuiteEpisode], weights: Mapping[str, float]) -> SuiteRates | None:
    """Rates by benchmark; None when there are no weights, as the run is not a suite, or no episode."""
    among: dict[str, list[SuiteEpisode]] = {}
    for episode in episodes:
        if (name := benchmark_of(episode.task_id)) in weights:
            among.setdefault(name, []).append(episode)
    if not among:
        return None
    whole = sum(weights[name] for name in among)
    found = tuple(_rate(name, weights[name] / whole, among[name]) for name in weights if name in among)
    return SuiteRates(benchmarks=found, mean=weighted_mean([(one.rate, one.weight) for one in found]))


def _counts(one: BenchmarkRate) -> tuple[str, ...]:
    return one.counted, str(one.passed), str(one.failed), str(one.unscored)


def _interval(rate: Interval) -> tuple[str, str]:
    return percent(rate.value), f"{percent(rate.low)} to {percent(rate.high)}"


def _rate(name: str, weight: float, episodes: Sequence[SuiteEpisode]) -> BenchmarkRate:
    statuses = [episode.status for episode in episodes]
    trials = Counter(episode.task_id for episode in episodes)
    return BenchmarkRate(
        name=name,
        weight=weight,
        tasks=len(trials),
        episodes=len(episodes),
        is_even=len(set(trials.values())) <= 1,
        passed=statuses.count("passed"),
        failed=statuses.count("failed"),
        unscored=statuses.count("unscored"),
        rate=rate_of(by_cluster((one.cluster, float(one.status == "passed")) for one in episodes)),
    )
