"""The few formulas behind every comparison, in plain Python, each with the rule it follows.

Exact where exact is possible; what is random takes a seed and gives the same numbers everywhere. Tests hold them against
scipy and statsmodels. Knows nothing of runs and tasks.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, sqrt
from statistics import NormalDist

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A value and the interval that holds it with the confidence asked for."""

    value: float
    low: float
    high: float


def wilson(passed: int, total: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a rate; with nothing counted, all is possible.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference", without continuity correction.
    """
    if total == 0:
        return Interval(value=0.0, low=0.0, high=1.0)
    z = _z(confidence)
    rate = passed / total
    scale = 1 + z * z / total
    centre = (rate + z * z / (2 * total)) / scale
    half = z / scale * sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    low = 0.0 if passed == 0 else max(0.0, centre - half)
    high = 1.0 if passed == total else min(1.0, centre + half)
    return Interval(value=rate, low=low, high=high)


def sign_test(worse: int, better: int) -> float:
    """Two-sided exact p of so uneven a split when each was as likely; McNemar's exact test on the pairs that changed.

    Source: McNemar 1947; the exact binomial form.
    """
    changed = worse + better
    if worse == better:
        return 1.0
    tail = sum(comb(changed, count) for count in range(min(worse, better) + 1))
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
    values: Mapping[str, Sequence[float]], *, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Mean of all values, with the percentile interval of resampling whole clusters.

    Values of one cluster are alike (tasks of one intent template), so they are drawn together: drawing them one by one
    would promise more than the data holds.

    Args:
        values: Cluster name to its values.
        confidence: Of the interval.
        resamples: How many draws.
        seed: Of the draws.
    """
    sums = [(sum(cluster), len(cluster)) for cluster in values.values() if cluster]
    if not sums:
        return Interval(value=0.0, low=0.0, high=0.0)
    draw = random.Random(seed)  # a measurement to be repeated, not a secret
    means = sorted(_mean(draw.choices(sums, k=len(sums))) for _ in range(resamples))
    tail = (1 - confidence) / 2
    return Interval(value=_mean(sums), low=quantile(means, tail), high=quantile(means, 1 - tail))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Value below which `share` of the ordered values lie, interpolated linearly between neighbours."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


@cache
def _z(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _mean(sums: Iterable[tuple[float, int]]) -> float:
    total, count = 0.0, 0
    for part, size in sums:
        total += part
        count += size
    return total / count


def _check_k(trials: int, k: int) -> None:
    if not 1 <= k <= trials:
        raise ValueError(f"k={k} of {trials} trials; k is from 1 to the number of trials")
