"""The formulas behind comparisons, in plain Python, each with its source.

Exact where possible; random ones take a seed and give the same numbers everywhere. Tests compare them with scipy and
statsmodels. Knows nothing of runs and tasks.
Why: docs/decisions/scoring.md#intervals-of-repeated-trials-use-wilsons-formula-with-an-effective-sample-size
Why: docs/decisions/scoring.md#tasks-of-one-template-are-alike-in-a-run-of-one-trial-too
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import atan, comb, cos, isclose, pi, sin, sqrt
from statistics import NormalDist

_CONFIDENCE = 0.95
"""Of all intervals."""
RESAMPLES = 10_000
# Without it the interval held the truth in 84 % of simulated runs near 98 % passed; with it in 93 % and more.
_PRIOR = 0.25
"""Clusters counted in for each of the two outcomes."""
_Z = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
_DRAWN = 10_000_000
"""Clusters drawn for one bootstrap, all samples together: they take a second or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A value and its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def is_point(self) -> bool:
        """Whether its standard error is 0, as of a kappa where one always says the same: that is no certainty."""
        return self.low == self.high

    @property
    def is_of_nothing(self) -> bool:
        """Whether it is a rate of nothing, see `wilson`: its value is none."""
        return (self.low, self.high) == (0.0, 1.0)


def wilson(passed: int, total: int) -> Interval:
    """Wilson's score interval of a rate; with nothing counted, all is possible.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference", without continuity
    correction.
    """
    if total == 0:
        return Interval(value=0.0, low=0.0, high=1.0)
    return _wilson(passed / total, total, _Z)


def clustered_rate(values: Mapping[str, Sequence[float]]) -> Interval:
    """Rate of all values, with Wilson's interval for as many independent ones as they are worth.

    Values of one cluster (trials of a task, tasks of an intent template) are alike, so 6 of them may say no more than
    2. What they are worth is found from how much the clusters differ, with Student's t as that is an estimate; a
    quarter of a cluster that passed and of one that did not are counted in, or clusters that happen to agree would
    promise too much. They are worth Kish's effective number of clusters at least, which is their number when all are
    of one size, and one value each at most. So the interval has a width also when all passed.

    Args:
        values: Cluster name to its values, each 0 or 1.

    Source: Franco, Little, Louis and Slud 2019, "Comparative study of confidence intervals for proportions in complex
    sample
        surveys": Wilson's interval with the effective sample size; Kish 1965 for clusters of several sizes. The
        quarters were found by simulation, which the tests repeat.
    """
    clusters = [(sum(cluster), len(cluster)) for cluster in values.values() if cluster]
    if not clusters:
        return wilson(0, 0)
    count, total = len(clusters), sum(size for _, size in clusters)
    rate = sum(part for part, _ in clusters) / total
    least = _effective(clusters)
    # The result is never wider than this: with two clusters, Student's t of one degree of freedom would say nothing at
    # all.
    widest = _wilson(rate, least, _Z)
    if count == 1:
        return widest
    # With the quarters it is neither 0 nor 1, for which the division below would be by 0.
    middle = (rate * count + _PRIOR) / (count + 2 * _PRIOR)
    squares = sum((part - middle * size) ** 2 for part, size in clusters) * (count / total) ** 2
    squares += _PRIOR * ((1 - middle) ** 2 + middle**2)
    alike = squares / (count + 2 * _PRIOR - 1) / (middle * (1 - middle))
    worth = min(float(total), max(least, count / alike))
    found = _wilson(rate, worth, _t(count - 1))
    return Interval(value=rate, low=max(found.low, widest.low), high=min(found.high, widest.high))


def rate_of(values: Mapping[str, Sequence[float]]) -> Interval:
    """Rate of all values: `clustered_rate` where some share a cluster, otherwise Wilson's interval.

    Args:
        values: Cluster name to its values, each 0 or 1.
    """
    if is_clustered(values):
        return clustered_rate(values)
    return wilson(round(sum(map(sum, values.values()))), sum(map(len, values.values())))


def is_clustered(values: Mapping[str, Sequence[float]]) -> bool:
    """Whether some values share a cluster, as trials of a task and tasks of an intent template do."""
    return any(len(cluster) > 1 for cluster in values.values())


def by_cluster(values: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    """Values by the name of their cluster."""
    found: dict[str, list[float]] = {}
    for cluster, value in values:
        found.setdefault(cluster, []).append(value)
    return found


def weighted_mean(parts: Sequence[tuple[Interval, float]]) -> Interval:
    """Mean of independent estimates, with an interval made from theirs.

    Each limit of the mean lies as far from it as the distances of the limits of the parts, times their weights, add up
    to when they are independent: the root of the sum of squares. So skewed intervals, as those of rates near 0 and 1,
    stay skewed.

    Args:
        parts: Estimate with its interval, and its weight; the weights sum to 1.

    Source: Zou and Donner 2008, "Construction of confidence limits about effect measures: a general approach" (method
    of variance estimates recovery).
    """
    value = sum(part.value * weight for part, weight in parts)
    below = sqrt(sum((weight * (part.value - part.low)) ** 2 for part, weight in parts))
    above = sqrt(sum((weight * (part.high - part.value)) ** 2 for part, weight in parts))
    return Interval(value=value, low=value - below, high=value + above)


def kappa_of(counts: Sequence[Sequence[int]]) -> Interval | None:
    """Cohen's kappa of two raters with its large-sample interval; None when it is not defined.

    (agreed - chance) / (1 - chance), where `chance` is the agreement to be expected of two raters who answer as often
    with each category as these do, without looking. It is not defined without items, and where both always give the
    same category. Where the two always agree, the estimated error is 0, which promises too much; the low end is then
    the kappa of Wilson's lower limit of the accuracy at the same margins.

    Args:
        counts: Row: category of the first rater; column: category of the second; items that are in both.

    Source: Cohen 1960; the standard error of Fleiss, Cohen and Everitt 1969, "Large sample standard errors of kappa and
        weighted kappa", formula 13.
    """
    total = sum(map(sum, counts))
    if not total:
        return None
    cells = [[count / total for count in row] for row in counts]
    rows = [sum(row) for row in cells]
    columns = [sum(column) for column in zip(*cells, strict=True)]
    chance = sum(row * column for row, column in zip(rows, columns, strict=True))
    # Where both always give one category it is 1, or a little less by rounding.
    if chance > 1 - 1e-12:
        return None
    same = range(len(cells))
    kappa = (sum(cells[i][i] for i in same) - chance) / (1 - chance)
    if sum(counts[i][i] for i in same) == total:
        return Interval(value=1.0, low=(wilson(total, total).low - chance) / (1 - chance), high=1.0)
    on = sum(cells[i][i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in same)
    off = (1 - kappa) ** 2 * sum(cells[i][j] * (columns[i] + rows[j]) ** 2 for i in same for j in same if i != j)
    variance = (on + off - (kappa - chance * (1 - kappa)) ** 2) / (total * (1 - chance) ** 2)
    # It is 0 where one of them always gives one category; rounding may leave it a little above or below.
    half = _Z * sqrt(variance) if variance > 1e-15 else 0.0
    return Interval(value=kappa, low=max(-1.0, kappa - half), high=min(1.0, kappa + half))


def median_interval(values: Sequence[float]) -> Interval:
    """Median of independent values, with its exact interval: two of the values; of too few, all of their range.

    The r-th smallest value is above the true median only if fewer than r values are below it, whatever the values are
    like; r is the largest for which that is rare enough.

    Args:
        values: At least one.

    Source: Conover 1999, "Practical nonparametric statistics", section 3.2.
    """
    ordered, count = sorted(values), len(values)
    rank, ways, chance = 0, 1, 1
    # Whole numbers: from 1024 values on, 2 ** count is above the largest float.
    rare = Fraction(1 - _CONFIDENCE) * 2**count
    while chance * 2 <= rare:
        ways = ways * (count - rank) // (rank + 1)
        rank += 1
        chance += ways
    outer = max(rank - 1, 0)
    return Interval(value=quantile(ordered, 0.5), low=ordered[outer], high=ordered[-1 - outer])


def sign_test(worse: int, better: int) -> float:
    """Two-sided exact p of so uneven a split when each was as likely; McNemar's exact test on the pairs that changed.

    Source: McNemar 1947; the exact binomial form.
    """
    changed = worse + better
    if worse == better:
        return 1.0
    tail = ways = 1
    for count in range(min(worse, better)):
        ways = ways * (changed - count) // (count + 1)
        tail += ways
    # Both tails of 2 ** changed ways; integers keep it exact for any number of pairs.
    return min(1.0, tail / (1 << (changed - 1)))


def pass_at_k(trials: int, passed: int, k: int) -> float:
    """Chance that at least one of `k` trials passes, unbiased, from `passed` of `trials`.

    Source: Chen et al. 2021, "Evaluating large language models trained on code", section 2.1.
    """
    _check_k(trials, k)
    return 1.0 - comb(trials - passed, k) / comb(trials, k)


def pass_hat_k(trials: int, passed: int, k: int) -> float:
    """Chance that all of `k` trials pass, unbiased, from `passed` of `trials`.

    Source: Yao et al. 2024, "tau-bench", section 3.
    """
    _check_k(trials, k)
    return comb(passed, k) / comb(trials, k)


def clustered_bootstrap(
    values: Mapping[str, Sequence[float]],
    *,
    bounds: tuple[float, float],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Mean of all values, with an interval that holds also where there are few clusters.

    Values of one cluster are alike (tasks of one intent template), so they are drawn together: drawing them one by one
    would promise more than the data holds. A few clusters show too little of how much clusters differ, so each limit is
    the outer one of two: the expanded percentile of resampling whole clusters, and Student's t. It is never further out
    than Wilson's interval over clusters, which is that of values as far apart as `bounds`. Where all clusters say the
    same, every draw does too; then as large a share of clusters as Wilson's interval of none seen allows may be
    anything within `bounds`. Of more than 1000 clusters fewer samples are drawn, as the time of each grows with their
    number.

    Args:
        values: Cluster name to its values.
        bounds: The least and the largest value there can be.
        resamples: How many draws, at most.
        seed: Of the draws.

    Source: Hesterberg 2015, "What teachers should know about the bootstrap", section 5.3: percentiles further out, by
        Student's t and the factor n / (n - 1) of the variance, as few clusters vary too little among themselves. That
        this is too narrow for 2 to 4 clusters, and the limits together are not, was found by simulation, which the
        tests repeat.
    """
    sums = [(sum(cluster), len(cluster)) for cluster in values.values() if cluster]
    low, high = bounds
    if not sums:
        return Interval(value=0.0, low=low, high=high)
    mean, count = _mean(sums), len(sums)
    # Compared with a tolerance: the mean is rounded, so clusters that agree differ from it in the last digits.
    if count == 1 or all(isclose(part, mean * size, abs_tol=1e-9) for part, size in sums):
        other = wilson(0, count).high
        return Interval(value=mean, low=mean + other * (low - mean), high=mean + other * (high - mean))
    widest = _wilson((mean - low) / (high - low), _effective(sums), _Z)
    t, spread = _t(count - 1), count / (count - 1)
    error = sqrt(spread * sum((part - mean * size) ** 2 for part, size in sums)) / sum(size for _, size in sums)
    draw = random.Random(seed)  # a measurement to be repeated, not a secret
    samples = min(resamples, max(1, _DRAWN // count))
    means = sorted(_mean(draw.choices(sums, k=count)) for _ in range(samples))
    tail = NormalDist().cdf(-sqrt(spread) * t)
    return Interval(
        value=mean,
        low=max(low + widest.low * (high - low), min(quantile(means, tail), mean - t * error)),
        high=min(low + widest.high * (high - low), max(quantile(means, 1 - tail), mean + t * error)),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Value below which `share` of the ordered values lie, interpolated linearly between neighbours."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _wilson(rate: float, total: float, z: float) -> Interval:
    scale = 1 + z * z / total
    centre = (rate + z * z / (2 * total)) / scale
    half = z / scale * sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return Interval(value=rate, low=low, high=high)


@cache
def _t(freedom: int) -> float:
    """Student's t that is not exceeded, either way, with this confidence."""
    low, high = _Z, 2.0
    while _within(high, freedom) < _CONFIDENCE:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < _CONFIDENCE else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """Chance that Student's t is between -t and t.

    Source: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4; exact for whole degrees of freedom.
    """
    angle = atan(t / sqrt(freedom))
    odd, square = freedom % 2, cos(angle) ** 2
    term = cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= square * (step - 1) / step
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


def _effective(clusters: Sequence[tuple[float, int]]) -> float:
    """Kish's effective number; of clusters of one size it is their count."""
    total = sum(size for _, size in clusters)
    return total * total / sum(size * size for _, size in clusters)


def _mean(sums: Iterable[tuple[float, int]]) -> float:
    total, count = 0.0, 0
    for part, size in sums:
        total += part
        count += size
    return total / count


def _check_k(trials: int, k: int) -> None:
    if not 1 <= k <= trials:
        raise ValueError(f"k={k} of {trials} trials; k is from 1 to the number of trials")
