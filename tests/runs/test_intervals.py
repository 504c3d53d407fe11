"""Every formula against another implementation of it."""

import math
import random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.runs import intervals
from harness.runs.intervals import (
    Interval,
    _t,
    clustered_bootstrap,
    clustered_rate,
    pass_at_k,
    pass_hat_k,
    quantile,
    rate_of,
    sign_test,
    wilson,
)

EITHER_WAY = (-1.0, 1.0)


@pytest.fixture(scope="module")
def stats() -> ModuleType:
    """Imported by the first test that wants it, as that takes longer than to collect all other tests of this folder."""
    from scipy import stats

    return stats


@pytest.fixture(scope="module")
def theirs() -> ModuleType:
    """As `stats`."""
    import statsmodels.stats.api

    return statsmodels.stats.api


@given(st.integers(1, 900).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson_is_that_of_scipy_and_statsmodels(
    stats: ModuleType, theirs: ModuleType, counts: tuple[int, int]
) -> None:
    passed, total = counts
    ours = wilson(passed, total)
    scipys = stats.binomtest(passed, total).proportion_ci(0.95, method="wilson")
    assert (ours.low, ours.high) == pytest.approx((scipys.low, scipys.high), abs=1e-9)
    assert (ours.low, ours.high) == pytest.approx(
        theirs.proportion_confint(passed, total, alpha=0.05, method="wilson"), abs=1e-9
    )
    assert ours.low <= ours.value <= ours.high


def test_wilson_of_nothing_says_nothing() -> None:
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_sign_test_is_mcnemars_exact_test(stats: ModuleType, theirs: ModuleType, worse: int, better: int) -> None:
    ours = sign_test(worse, better)
    exact = theirs.mcnemar(np.array([[10, worse], [better, 10]]), exact=True).pvalue
    assert ours == pytest.approx(min(1.0, exact), abs=1e-9)
    if worse + better:
        scipys = stats.binomtest(worse, worse + better, 0.5).pvalue
        assert ours == pytest.approx(scipys, abs=1e-9)


@pytest.mark.parametrize(("worse", "better"), [(3000, 3300), (20_000, 20_300)])
def test_the_sign_test_is_exact_for_many(stats: ModuleType, worse: int, better: int) -> None:
    assert sign_test(worse, better) == pytest.approx(stats.binomtest(worse, worse + better, 0.5).pvalue, rel=1e-9)


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_and_pass_hat_k_are_hypergeometric(stats: ModuleType, counts: tuple[int, int, int]) -> None:
    trials, passed, k = counts
    drawn = stats.hypergeom(trials, passed, k)
    assert pass_at_k(trials, passed, k) == pytest.approx(1 - drawn.pmf(0), abs=1e-9)
    assert pass_hat_k(trials, passed, k) == pytest.approx(drawn.pmf(k), abs=1e-9)


@pytest.mark.parametrize("k", [0, 4])
def test_k_is_between_one_and_the_trials(k: int) -> None:
    with pytest.raises(ValueError, match="k="):
        pass_at_k(3, 1, k)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    assert quantile(sorted(values), share) == pytest.approx(float(np.quantile(values, share)), rel=1e-9, abs=1e-9)


@settings(max_examples=5)
@given(st.integers(0, 10_000))
def test_the_bootstrap_of_single_values_is_scipys(stats: ModuleType, seed: int) -> None:
    draw = random.Random(seed)
    values = [draw.choice([-1.0, 0.0, 0.0, 1.0]) for _ in range(120)]
    ours = clustered_bootstrap({str(number): [value] for number, value in enumerate(values)}, bounds=EITHER_WAY)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=1).confidence_interval
    assert ours.value == pytest.approx(sum(values) / 120)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_alike_values_of_a_cluster_widen_the_interval() -> None:
    draw = random.Random(3)
    clusters = {str(number): [draw.choice([-1.0, 1.0])] * 10 for number in range(12)}
    single = {f"{name}-{at}": [value] for name, values in clusters.items() for at, value in enumerate(values)}
    together, apart = (clustered_bootstrap(one, bounds=EITHER_WAY) for one in (clusters, single))
    assert math.isclose(together.value, apart.value)
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_clusters_of_equal_size_are_a_bootstrap_of_their_means(stats: ModuleType) -> None:
    draw = random.Random(5)
    clusters = {str(number): [draw.random() for _ in range(4)] for number in range(30)}
    ours = clustered_bootstrap(clusters, bounds=(0.0, 1.0))
    means = [sum(values) / 4 for values in clusters.values()]
    theirs = stats.bootstrap((means,), np.mean, n_resamples=10_000, method="percentile", rng=1).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_the_bootstrap_repeats_itself() -> None:
    values = {"a": [0.0, 1.0], "b": [1.0]}
    once, again = (clustered_bootstrap(values, bounds=(0.0, 1.0), seed=4) for _ in range(2))
    assert once == again


def test_of_nothing_everything_is_possible() -> None:
    assert clustered_bootstrap({}, bounds=EITHER_WAY) == Interval(value=0.0, low=-1.0, high=1.0)
    assert clustered_rate({}) == wilson(0, 0)


@pytest.mark.parametrize("clusters", [1, 2])
def test_clusters_that_agree_but_for_rounding_are_known_at_any_size(clusters: int) -> None:
    values = [8300356932.74327, 1898.4972911602638, 5875806.061435594]
    found = clustered_bootstrap({str(number): values for number in range(clusters)}, bounds=(0.0, 1e12))
    assert found.value == pytest.approx(sum(values) / 3)
    assert found.high - found.low > 1e10, "so few clusters say little"


@pytest.mark.parametrize("value", [-1.0, 0.0, 0.5, 1.0])
def test_clusters_that_all_say_the_same_leave_room_for_those_not_seen(value: float) -> None:
    found = clustered_bootstrap({str(number): [value] * 3 for number in range(6)}, bounds=EITHER_WAY)
    unseen = wilson(0, 6).high
    assert found.value == value
    assert (found.low, found.high) == pytest.approx((value - unseen * (value + 1), value + unseen * (1 - value)))
    assert found.low < found.high


@pytest.mark.slow
@given(st.integers(1, 300))
def test_students_t_is_scipys(stats: ModuleType, freedom: int) -> None:
    assert _t(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_six_of_six_trials_are_worth_their_two_tasks(value: float) -> None:
    found = clustered_rate({"7": [value] * 3, "8": [value] * 3})
    assert found == wilson(2 if value else 0, 2)
    assert found.high - found.low > 0.6


def test_a_rate_is_wilsons_unless_some_values_share_a_cluster() -> None:
    single = {str(number): [float(number < 14)] for number in range(20)}
    assert rate_of(single) == wilson(14, 20)
    assert rate_of({**single, "empty": []}) == wilson(14, 20)
    assert rate_of({**single, "20": [1.0, 0.0]}) == clustered_rate({**single, "20": [1.0, 0.0]}) != wilson(15, 22)
    assert rate_of({}) == wilson(0, 0)


def test_clusters_of_one_are_nearly_wilsons_and_clusters_that_agree_within_are_no_more_than_their_number() -> None:
    draw = random.Random(2)
    single = {str(number): [float(draw.random() < 0.7)] for number in range(200)}
    passed = int(sum(value for (value,) in single.values()))
    ours, plain = clustered_rate(single), wilson(passed, 200)
    assert (ours.low, ours.high) == pytest.approx((plain.low, plain.high), abs=0.004)
    tenfold = clustered_rate({name: values * 10 for name, values in single.items()})
    assert (tenfold.low, tenfold.high) == pytest.approx((ours.low, ours.high), abs=0.004)


def test_clusters_that_all_have_the_same_share_are_worth_all_their_values() -> None:
    clusters = {str(number): [1.0, 0.0] * 5 for number in range(20)}
    clusters["0"] = [1.0] * 6 + [0.0] * 4
    found, plain = clustered_rate(clusters), wilson(101, 200)
    assert found.high - found.low < 1.2 * (plain.high - plain.low)


@pytest.mark.integration
@pytest.mark.sample(2)
@pytest.mark.parametrize("alike", [0.05, 0.4])
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95, 0.98])
@pytest.mark.parametrize("shape", [(2, 1, 3), (5, 2, 3), (8, 5, 1), (10, 3, 3), (20, 5, 1), (30, 1, 5), (40, 3, 5)])
def test_the_interval_of_a_rate_holds_the_truth_as_often_as_it_says(
    shape: tuple[int, int, int], rate: float, alike: float
) -> None:
    """Simulated: templates differ, tasks of a template too, trials of a task are coins of its own rate.

    95% of 800 runs is 760 give or take 6; where there are few clusters the interval may be wider than it says, not
    narrower.
    """
    templates, tasks, trials = shape
    draw = np.random.default_rng([templates, tasks, trials, int(100 * rate), int(100 * alike)])
    runs, spread = 800, 1 / alike - 1
    held = 0
    for _ in range(runs):
        of_template = draw.beta(rate * spread, (1 - rate) * spread, size=(templates, 1)).clip(1e-6, 1 - 1e-6)
        of_task = draw.beta(4 * of_template, 4 * (1 - of_template), size=(templates, tasks))
        passed = draw.random((templates, tasks * trials)) < np.repeat(of_task, trials, axis=1)
        found = clustered_rate({str(name): list(map(float, row)) for name, row in enumerate(passed)})
        held += found.low <= rate <= found.high
    assert held / runs >= 0.93


def test_two_tasks_that_gained_unequally_do_not_say_how_much_all_would_gain() -> None:
    found = clustered_bootstrap({"0 to 3 of 10": [0.3], "0 to 5 of 10": [0.5]}, bounds=EITHER_WAY)
    assert found.value == pytest.approx(0.4)
    assert found.low < -0.5 and 0.8 < found.high < 1, "no further out than Wilson's interval of two"


def test_a_bootstrap_of_very_many_clusters_draws_fewer_samples(
    stats: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = 0

    class Counting(random.Random):
        def choices(self, *args: Any, **kwargs: Any) -> list[Any]:
            nonlocal drawn
            drawn += kwargs["k"]
            return super().choices(*args, **kwargs)

    monkeypatch.setattr(intervals, "_DRAWN", 1_000_000)
    monkeypatch.setattr(random, "Random", Counting)
    draw = np.random.default_rng(8)
    changes = draw.choice([-1.0, 0.0, 1.0], p=[0.1, 0.7, 0.2], size=5000)
    found = clustered_bootstrap({str(name): [value] for name, value in enumerate(changes)}, bounds=EITHER_WAY)
    theirs = stats.ttest_1samp(changes, 0).confidence_interval()
    assert drawn <= 1_000_000
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.003)
    assert found.low <= theirs.low + 1e-9 and found.high >= theirs.high - 1e-9


@pytest.mark.sample(3)
@pytest.mark.integration
@pytest.mark.parametrize("tasks", [3, 10])
@pytest.mark.parametrize(("lost", "gained"), [(0.1, 0.1), (0.1, 0.3), (0.3, 0.3), (0.02, 0.05)])
@pytest.mark.parametrize("templates", [2, 3, 4, 6, 12, 30])
def test_the_interval_of_a_difference_holds_the_truth_as_often_as_it_says(
    templates: int, lost: float, gained: float, tasks: int
) -> None:
    """Simulated: most tasks come out alike in both runs, the others gain or lose."""
    draw = np.random.default_rng([templates, int(100 * lost), int(100 * gained), tasks])
    runs, held, shift = 300, 0, gained - lost
    for _ in range(runs):
        changes = draw.choice([-1.0, 0.0, 1.0], p=[lost, 1 - lost - gained, gained], size=(templates, tasks))
        found = clustered_bootstrap(
            {str(name): list(row) for name, row in enumerate(changes)}, bounds=EITHER_WAY, resamples=400
        )
        held += found.low <= shift <= found.high
    assert held / runs >= 0.92
