"""Numbers as geometry: histograms whose bars templates draw as inline SVG. Knows no markup and no colours.

All bins of a histogram are equally wide and the first begins at 0, so that lengths can be compared between runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10, sqrt

from harness.runs.intervals import quantile
from harness.runs.outcome import FAILED, PASSED, UNSCORED
from harness.runs.results import Result

WIDTH, HEIGHT = 300, 96
_MOST_BINS = 20
_GAP = 1.5
_ACROSS = 4
"""Numbers on an axis, besides 0, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One rectangle, in units of `WIDTH` × `HEIGHT`, y downwards."""

    x: float
    y: float
    width: float
    height: float
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """One column of a histogram: what it counts, and its bars."""

    low: float
    high: float
    """The first value that is not in it any more."""
    count: int
    x: float
    width: float
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A number on an axis, and where it stands."""

    at: float
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    name: str
    unit: str
    """`count`, `usd` or `seconds`: how to write its numbers."""
    high: float
    """Where the axis ends; it begins at 0."""
    is_whole: bool
    """A bin holds one whole number."""
    median: float
    median_x: float
    p90: float
    bins: tuple[Bin, ...]
    across: tuple[Tick, ...]
    """Ticks of the horizontal axis."""
    upwards: tuple[Tick, ...]
    """Ticks of the vertical axis, which counts."""


def charts(results: Sequence[Result]) -> tuple[Histogram, ...]:
    """What the episodes of a run took, where they differ; not their cost, where some of it has no price."""
    begun = [one for one in results if one.attempts]
    is_priced = all(one.priced for one in begun)
    measures: tuple[tuple[str, str, Callable[[Result], float]], ...] = (
        ("Steps", "count", lambda one: one.steps),
        ("Tokens", "count", lambda one: one.tokens),
        ("Cost", "usd", lambda one: one.cost_usd),
        ("Working time", "seconds", lambda one: one.elapsed_ms / 1000),
    )
    return tuple(
        histogram(name, unit, [(measure(one), one.status) for one in begun])
        for name, unit, measure in measures
        if len({measure(one) for one in begun}) > 1 and (is_priced or unit != "usd")
    )


def histogram(name: str, unit: str, values: Sequence[tuple[float, str]]) -> Histogram:
    """Count `(value, status)` pairs, at least one, none negative, in bins of equal width with round edges from 0."""
    ordered = sorted(value for value, _ in values)
    width, count = _bins(ordered, whole=unit == "count")
    columns: list[dict[str, int]] = [dict.fromkeys((PASSED, FAILED, UNSCORED), 0) for _ in range(count)]
    for value, status in values:
        columns[max(0, min(count - 1, int(value / width)))][status] += 1
    step = max(1.0, _round_up(max(sum(column.values()) for column in columns) / 2))
    top = step * -(-max(sum(column.values()) for column in columns) // step)
    every, wide, is_whole = -(-count // _ACROSS), WIDTH / count, unit == "count" and width == 1
    middle = 0.5 if is_whole else 0.0
    median = quantile(ordered, 0.5)
    return Histogram(
        name=name,
        unit=unit,
        high=width * count,
        is_whole=is_whole,
        median=median,
        median_x=round(min(float(WIDTH), (median / width + middle) * wide), 2),
        p90=quantile(ordered, 0.9),
        bins=tuple(
            Bin(
                low=width * number,
                high=width * (number + 1),
                count=sum(column.values()),
                x=round(number * wide, 2),
                width=round(wide, 2),
                bars=_stack(column, wide, number, HEIGHT / top),
            )
            for number, column in enumerate(columns)
        ),
        across=tuple(
            Tick(at=round((number + middle) * wide, 2), value=width * number)
            for number in range(0, count + (not is_whole), every)
        ),
        upwards=tuple(
            Tick(at=round(HEIGHT - HEIGHT * step * number / top, 2), value=step * number)
            for number in range(int(top / step) + 1)
        ),
    )


def _bins(ordered: Sequence[float], *, whole: bool) -> tuple[float, int]:
    """Width and number of bins."""
    high = ordered[-1]
    width = _round_up(high / min(_MOST_BINS, max(5, 2 * sqrt(len(ordered)))))
    if whole:
        width = max(1.0, width)
    return width, max(1, int(high / width) + 1)


def _round_up(width: float) -> float:
    if width <= 0:
        return 1.0
    scale = 10.0 ** floor(log10(width))
    return next(step * scale for step in (1, 2, 5, 10, 20) if step * scale >= width)


def _stack(column: dict[str, int], width: float, number: int, unit: float) -> tuple[Bar, ...]:
    edges = [0]
    for status in (PASSED, FAILED, UNSCORED):
        edges.append(edges[-1] + column[status])
    return tuple(
        Bar(
            x=round(number * width + _GAP / 2, 2),
            y=round(HEIGHT - above * unit, 2),
            width=round(max(0.5, width - _GAP), 2),
            height=round((above - below) * unit, 2),
            status=status,
        )
        for (below, above), status in zip(pairwise(edges), (PASSED, FAILED, UNSCORED), strict=True)
        if above > below
    )
