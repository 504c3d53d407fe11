"""Running totals: what all steps of a model cost, took and produced together.

Names and rules are those of ART 0.5.18: a metric `costs/a/b` also counts in `costs/a` and `costs/all`; each metric of
`costs/`, `time/step_…` and `data/step_…` adds to `costs/cum/…`, `time/cum/…`, `data/cum/…`; trainer and actor have
throughput averages. Splits other than train, val and test (an interim state that is logged again later) do not count.

The sums are a fold over `history.jsonl`, so a killed process cannot count a row twice or lose one. A row that has
totals says what they are; older rows, which have none, are added up.
"""

from collections.abc import Iterable, Mapping, Sequence

from harness.errors import TrackingError
from harness.plugins.tracking.history import Row
from harness.plugins.tracking.name_rules import SPLITS, is_summed

SCENARIOS = "data/cum/num_unique_scenarios"
_ADDED_UP = ("costs", "time", "data")
_IDLE = {
    "throughput/step_trainer_idle_s": "throughput/cum/trainer_idle_s",
    "throughput/step_actor_idle_s": "throughput/cum/actor_idle_s",
}
_THROUGHPUT = ("trainer", "actor")
_TOTALS = tuple(f"{section}/cum/" for section in (*_ADDED_UP, "throughput"))


def is_total(name: str) -> bool:
    """Whether a key of the history is a running total; no other value may have such a name."""
    return name.startswith(_TOTALS)


def rolled_up(metrics: Mapping[str, float], split: str) -> dict[str, float]:
    """`metrics` with the sums over the parts of costs: `costs/train/prefill` counts in `costs/train` and `costs/all`.

    Raises:
        TrackingError: A cost is both a value and a sum of parts, or has the name of a running total.
    """
    for name in metrics:
        if is_total(name):
            raise TrackingError(f"metrics: {name!r} is the name of a running total; log the value of the step instead")
    costs = {name: value for name, value in metrics.items() if name.startswith("costs/")} if split in SPLITS else {}
    sums: dict[str, float] = {}
    for name, value in costs.items():
        parts = name.split("/")
        for depth in range(2, len(parts)):
            above = "/".join(parts[:depth])
            if above in costs:
                raise TrackingError(f"metrics: {above!r} is also the sum of {name!r}; log its parts alone")
            sums[above] = sums.get(above, 0.0) + value
    if costs:
        sums["costs/all"] = sum(costs.values())
    return {**metrics, **sums}


def step_data(groups: int, trajectories: int, trainable: int, split: str) -> dict[str, float]:
    """What a log call says of its own size.

    Args:
        groups: Number of groups, empty ones included.
        trajectories: With exceptions.
        trainable: Groups whose rewards differ.
        split: Only train, val and test have these metrics; only train counts trainable groups.
    """
    if split not in SPLITS:
        return {}
    found = {
        "data/step_num_scenarios": float(groups),
        "data/step_num_trajectories": float(trajectories),
        "data/step_num_groups_submitted": float(groups),
    }
    return {**found, "data/step_num_groups_trainable": float(trainable)} if split == "train" else found


class RunningTotals:
    """The totals after some rows of a history."""

    def __init__(self, sums: Mapping[str, float] | None = None) -> None:
        self.sums = dict(sums or {})

    def add(self, row: Row) -> dict[str, float]:
        """Count a row; returns the totals that belong into it."""
        numbers = {name: value for name, value in row.items() if isinstance(value, int | float)}
        if any(is_total(name) for name in numbers):  # it was written with them
            self.sums.update({name: value for name, value in numbers.items() if is_total(name) and name != SCENARIOS})
            return {}
        named = {_total(name): value for name, value in numbers.items() if _counts(name)}
        named |= {_IDLE[name]: value for name, value in numbers.items() if name in _IDLE}
        for name, value in named.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        return {name: self.sums[name] for name in named} | dict(self._throughput(numbers))

    def _throughput(self, numbers: Mapping[str, float]) -> Iterable[tuple[str, float]]:
        for who in _THROUGHPUT:
            if f"data/step_{who}_tokens" in numbers or f"time/step_{who}_s" in numbers:
                tokens, seconds = self.sums.get(f"data/cum/{who}_tokens"), self.sums.get(f"time/cum/{who}_s")
                if tokens is not None and seconds is not None and seconds > 0:
                    yield f"throughput/avg_{who}_tok_per_s", tokens / seconds


def with_totals(row: Row, totals: Mapping[str, float], columns: Sequence[str]) -> Row:
    """The row with its totals before `columns`, the last ones of every row."""
    last = {name: row[name] for name in columns if name in row}
    return {**{name: value for name, value in row.items() if name not in last}, **totals, **last}


def without_totals(row: Row) -> Row:
    """The row as it was before they were added."""
    averages = {f"throughput/avg_{who}_tok_per_s" for who in _THROUGHPUT}
    return {name: value for name, value in row.items() if not is_total(name) and name not in averages}


def _counts(name: str) -> bool:
    return name.split("/", 1)[0] in _ADDED_UP and is_summed(name)


def _total(name: str) -> str:
    section, _, rest = name.partition("/")
    return f"{section}/cum/{rest.removeprefix('step_')}"
