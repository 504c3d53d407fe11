"""Numbers as geometry: histograms whose bars templates draw as inline SVG. Knows no markup and no colours."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10, sqrt

from harness.reports.statistics import quantile
from harness.runs.outcome import FAILED, PASSED, UNSCORED

WIDTH, HEIGHT = 320, 88
_MOST_BINS = 20
_GAP = 1.5


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
    count: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    name: str
    unit: str
    """`count`, `usd` or `seconds`: how to write its numbers."""
    low: float
    high: float
    median: float
    p90: float
    bins: tuple[Bin, ...]


def histogram(name: str, unit: str, values: Sequence[tuple[float, str]]) -> Histogram:
    """Count `(value, status)` pairs, at least one, in bins of equal width with round edges."""
    ordered = sorted(value for value, _ in values)
    start, width, count = _bins(ordered, whole=unit == "count")
    columns: list[dict[str, int]] = [dict.fromkeys((PASSED, FAILED, UNSCORED), 0) for _ in range(count)]
    for value, status in values:
        columns[min(count - 1, int((value - start) / width))][status] += 1
    tallest = max(sum(column.values()) for column in columns)
    return Histogram(
        name=name,
        unit=unit,
        low=start,
        high=start + width * count,
        median=quantile(ordered, 0.5),
        p90=quantile(ordered, 0.9),
        bins=tuple(
            Bin(
                low=start + width * number,
                high=start + width * (number + 1),
                count=sum(column.values()),
                bars=_stack(column, WIDTH / count, number, HEIGHT / tallest),
            )
            for number, column in enumerate(columns)
        ),
    )


def _bins(ordered: Sequence[float], *, whole: bool) -> tuple[float, float, int]:
    """Start, width and number of bins."""
    low, high = ordered[0], ordered[-1]
    width = _round_up((high - low) / min(_MOST_BINS, max(5, 2 * sqrt(len(ordered)))))
    if whole:
        width = max(1.0, width)
    start = floor(low / width) * width
    return start, width, max(1, int((high - start) / width) + 1)


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
