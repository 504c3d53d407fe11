"""What may be the name of a path part or of a metric, and under which name a metric is logged.

Names come from people and end up as folders, columns and chart titles, so they are refused before anything is written.
The rules are ART's (0.5.18), with its collisions closed: a metric cannot take the name of one that is computed.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from harness.api.text import cut
from harness.errors import TrackingError

COMPUTED = frozenset({"reward", "reward_std_dev", "exception_rate"})
SECTIONS = frozenset({"reward", "loss", "offpolicy", "pipeline", "throughput", "costs", "time", "data"})
SPLITS = frozenset({"train", "val", "test"})
ROW_KEYS = frozenset({"step", "training_step", "recorded_at", "time/wall_clock_sec"})
_SUMMED = ("costs/", "time/step_", "data/step_", "throughput/step_")
_BYTES = 255
"""Of a name, which file systems count instead of characters."""
_PART = re.compile(r"(?![. ])[^/\\:]{1,128}(?<![. ])")


def path_part(value: Any, what: str) -> str:
    """`value` when it can be one folder name; a split called `../x` is a TrackingError."""
    if isinstance(value, str) and _PART.fullmatch(value) and value.isprintable() and len(value.encode()) <= _BYTES:
        return value
    raise TrackingError(
        f"{what}={value!r} cannot be the name of a folder: use 1 to 128 printable characters (at most "
        f"{_BYTES} bytes) without '/', '\\' or ':', not beginning or ending with a dot or a space"
    )


def step_number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TrackingError(f"step={value!r} is not a step; give an integer of at least 0")
    return value


def number(value: Any, place: str, *, strict: bool = True) -> float:
    """`value` as a float; booleans count as 0 and 1.

    Args:
        value: What was given.
        place: Names it when it is not a number.
        strict: Whether NaN and the infinities are none.
    """
    try:
        found = float(value) if not isinstance(value, str | bytes) else None
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or (strict and not math.isfinite(found)):
        wanted = "finite number" if strict else "number"
        raise TrackingError(
            f"{place} is {cut(repr(value), 60)}: give a {wanted}, or log an exception where there is none"
        )
    return found


def metric_name(name: Any, place: str, *, reserved: bool = True) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise TrackingError(f"{place}: {name!r} is not a metric name; use printable text")
    if (reserved and name in COMPUTED) or name in ROW_KEYS:
        raise TrackingError(f"{place}: the name {name!r} is used by a computed value; choose another name")
    return name


def is_summed(name: str) -> bool:
    """Whether a metric adds up over trajectories (costs, times and counts of a step) instead of being averaged."""
    return name.startswith(_SUMMED)


def prefixed(metrics: Mapping[str, float], split: str) -> dict[str, float]:
    """Metrics under the names they are logged by: `val/…`, unless the name already says its section.

    Raises:
        TrackingError: Two of them are logged by one name.
    """

    def is_placed(name: str) -> bool:
        first, slash, _ = name.partition("/")
        return bool(slash) and split in SPLITS and (first in SECTIONS or first in SPLITS)

    names: dict[str, str] = {}
    for name in metrics:
        key = name if is_placed(name) else f"{split}/{name}"
        if key in names:
            raise TrackingError(f"metrics: {name!r} is logged as {key!r}, and so is {names[key]!r}; rename one of them")
        names[key] = name
    return {key: metrics[name] for key, name in names.items()}
