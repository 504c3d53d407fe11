"""The metrics of one log call, computed while its trajectories pass by.

Meanings as in ART 0.5.18: `reward` is the mean over all trajectories, `exception_rate` counts exceptions among both,
`reward_std_dev` is the population deviation within each group of two or more, averaged over those groups, and a custom
metric is averaged over the trajectories that have it, one of groups over the groups that have it and a trajectory
(metrics of costs and of step totals add up, over all groups). Nothing is rounded and every value is a float. Memory
does not grow with the number of trajectories, but for eight bytes each within one group.

A value that is not finite (NaN, infinity) makes what is computed from it such a value too, as in ART; `strict` refuses
it.
"""

import math
from array import array
from collections.abc import Mapping
from typing import Any

from harness.errors import TrackingError
from harness.plugins.tracking.name_rules import is_summed, metric_name, number


class Mean:
    """A running mean."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1


class MetricTotals:
    """Give it each group: `begin`, its trajectories and exceptions, then at last `metrics`."""

    def __init__(self, *, strict: bool = True) -> None:
        self.odd = 0
        """Values that were given and are not finite."""
        self.first_odd = ""
        self._strict = strict
        self.trajectories = 0
        self.exceptions = 0
        self._reward = Mean()
        self._deviation = Mean()
        self._custom: dict[str, Mean] = {}
        self._of_groups: dict[str, Mean] = {}
        self._rewards = array("d")
        self._group_metrics: Mapping[str, float] = {}
        self.groups = 0
        self.trainable_groups = 0
        """Groups with at least two different rewards."""
        self.scenarios: dict[str, None] = {}
        """The `scenario_id` of each group: of its own metadata, or of its first trajectory that has one."""
        self._has_scenario = False

    def begin(self, metrics: Mapping[str, Any], metadata: Mapping[str, Any], place: str) -> None:
        """A group begins, and the one before it ends."""
        self._end()
        self.groups += 1
        self._group_metrics = self._numbers(metrics, place, reserved=False)
        self._has_scenario = False
        self._scenario(metadata)

    def trajectory(self, reward: Any, metrics: Mapping[str, Any], metadata: Mapping[str, Any], place: str) -> None:
        self._scenario(metadata)
        worth = self._number(reward, f"{place}: reward")
        values = self._numbers(metrics, place, reserved=True) if metrics else {}
        self.trajectories += 1
        self._reward.add(worth)
        self._rewards.append(worth)
        for name, value in values.items():
            self._custom.setdefault(name, Mean()).add(value)

    def exception(self) -> None:
        self.exceptions += 1

    def metrics(self) -> dict[str, float]:
        """All of them, without the split; a metric without a sample is left out."""
        self._end()
        found: dict[str, float] = {}
        if self._reward.count:
            found["reward"] = self._mean(self._reward, "reward")
        if total := self.trajectories + self.exceptions:
            found["exception_rate"] = self.exceptions / total
        for name, mean in self._custom.items():
            found[name] = self._total(mean, name) if is_summed(name) else self._mean(mean, name)
        for name, mean in self._of_groups.items():
            if is_summed(name):
                found[name] = found.get(name, 0.0) + self._total(mean, name)
            elif f"group_{name}" in found:
                raise TrackingError(f"metric group_{name} is what group metric {name} is logged as; rename one of them")
            else:
                found[f"group_{name}"] = self._mean(mean, f"group_{name}")
        found["reward_std_dev"] = self._mean(self._deviation, "reward_std_dev") if self._deviation.count else 0.0
        return found

    def _end(self) -> None:
        if len(self._rewards) > 1:
            self._deviation.add(_deviation(self._rewards))
            self.trainable_groups += len(set(self._rewards)) > 1
        for name, value in self._group_metrics.items():
            if self._rewards or is_summed(name):  # what was spent on rollouts that all failed was spent
                self._of_groups.setdefault(name, Mean()).add(value)
        self._rewards = array("d")
        self._group_metrics = {}

    def _scenario(self, metadata: Mapping[str, Any]) -> None:
        if not self._has_scenario and (scenario := metadata.get("scenario_id")) is not None:
            self._has_scenario = True
            self.scenarios[str(scenario)] = None

    def _mean(self, mean: Mean, name: str) -> float:
        return self._total(mean, name) / mean.count

    def _total(self, mean: Mean, name: str) -> float:
        if self._strict and not math.isfinite(mean.total):
            raise TrackingError(f"the sum of the values of {name} is too large; log them in a larger unit")
        return mean.total

    def _numbers(self, metrics: Mapping[str, Any], place: str, *, reserved: bool) -> dict[str, float]:
        values = {}
        for name, value in metrics.items():
            metric_name(name, place, reserved=reserved)
            usual = type(value) is float and math.isfinite(value)
            values[name] = value if usual else self._number(value, f"{place}: metric {name}")
        return values

    def _number(self, value: Any, place: str) -> float:
        found = number(value, place, strict=self._strict)
        if not math.isfinite(found):
            self.odd += 1
            self.first_odd = self.first_odd or f"{place} is {found}"
        return found


def _deviation(values: "array[float]") -> float:
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) * (value - mean) for value in values) / len(values))
