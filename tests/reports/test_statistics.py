"""Every formula against another implementation of it."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from harness.reports.statistics import clustered_bootstrap, pass_at_k, pass_hat_k, quantile, sign_test, wilson


@given(
    st.integers(1, 900).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))),
    st.sampled_from([0.8, 0.95, 0.99]),
)
def test_wilson_is_that_of_scipy_and_statsmodels(counts: tuple[int, int], confidence: float) -> None:
    passed, total = counts
    ours = wilson(passed, total, confidence)
    scipys = stats.binomtest(passed, total).proportion_ci(confidence, method="wilson")
    theirs = proportion_confint(passed, total, alpha=1 - confidence, method="wilson")
    assert (ours.low, ours.high) == pytest.approx((scipys.low, scipys.high), abs=1e-9)
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=1e-9)
    assert ours.low <= ours.value <= ours.high


def test_wilson_of_nothing_says_nothing() -> None:
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_sign_test_is_mcnemars_exact_test(worse: int, better: int) -> None:
    ours = sign_test(worse, better)
    theirs = mcnemar(np.array([[10, worse], [better, 10]]), exact=True).pvalue
    assert ours == pytest.approx(min(1.0, theirs), abs=1e-9)
    if worse + better:
        scipys = stats.binomtest(worse, worse + better, 0.5).pvalue
        assert ours == pytest.approx(scipys, abs=1e-9)


def test_the_sign_test_is_exact_for_many() -> None:
    assert sign_test(3000, 3300) == pytest.approx(stats.binomtest(3000, 6300, 0.5).pvalue, rel=1e-9)


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_and_pass_hat_k_are_hypergeometric(counts: tuple[int, int, int]) -> None:
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


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000))
def test_the_bootstrap_of_single_values_is_scipys(seed: int) -> None:
    draw = random.Random(seed)
    values = [draw.choice([-1.0, 0.0, 0.0, 1.0]) for _ in range(120)]
    ours = clustered_bootstrap({str(number): [value] for number, value in enumerate(values)})
    theirs = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=1).confidence_interval
    assert ours.value == pytest.approx(sum(values) / 120)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_alike_values_of_a_cluster_widen_the_interval() -> None:
    draw = random.Random(3)
    clusters = {str(number): [draw.choice([-1.0, 1.0])] * 10 for number in range(12)}
    single = {f"{name}-{at}": [value] for name, values in clusters.items() for at, value in enumerate(values)}
    together, apart = clustered_bootstrap(clusters), clustered_bootstrap(single)
    assert math.isclose(together.value, apart.value)
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_clusters_of_equal_size_are_a_bootstrap_of_their_means() -> None:
    draw = random.Random(5)
    clusters = {str(number): [draw.random() for _ in range(4)] for number in range(30)}
    ours = clustered_bootstrap(clusters)
    means = [sum(values) / 4 for values in clusters.values()]
    theirs = stats.bootstrap((means,), np.mean, n_resamples=10_000, method="percentile", rng=1).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_the_bootstrap_repeats_itself_and_nothing_is_zero() -> None:
    values = {"a": [0.0, 1.0], "b": [1.0]}
    assert clustered_bootstrap(values, seed=4) == clustered_bootstrap(values, seed=4)
    assert clustered_bootstrap({}).value == 0.0
