"""Figures of one run as geometry, which a template draws as inline SVG: no style in it, and every text escaped.

In units of the picture, y downwards. `drawing` makes files of the same figures, of several runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10

from harness.plugins.plot.figures import Panel, Point

WIDTH, HEIGHT = 640.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 16.0, 10.0, 44.0
_LEFT_OF_ROWS, _ROW = 210.0, 24.0
_MOST_TICKS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A number on an axis, and where it stands."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A value with its interval."""

    x: float
    y: float
    across: tuple[float, float] | None
    """Ends of its interval along x; None = there is none. So `along`, of y."""
    along: tuple[float, float] | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One pair of axes."""

    x: str
    y: str
    height: float
    left: float
    """Of the plane between the axes; so `right`, `top` and `bottom`."""
    right: float
    top: float
    bottom: float
    across: tuple[Tick, ...]
    """Of the x axis; `along` of the y axis."""
    along: tuple[Tick, ...]
    band: str
    """Path of the interval; "" = dots have bars. So `line`."""
    line: str
    dots: tuple[Dot, ...]
    names: tuple[Tick, ...]
    """Of rows."""


def drawn(panel: Panel) -> Drawn | None:
    """The first series of a panel; None = it has no point."""
    points = [point for point in panel.series[0].points if _is_finite(point)]
    if not points:
        return None
    return _rows(panel, points) if panel.kind == "rows" else _plane(panel, points)


def said(value: float, *, is_share: bool) -> str:
    """A number as it is written."""
    return f"{value:.0%}" if is_share else f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def _plane(panel: Panel, points: Sequence[Point]) -> Drawn:
    high_x = max(point.x if point.across is None else point.across.high for point in points) or 1.0
    high_y = 1.0 if panel.is_share else max(point.y.high for point in points) or 1.0
    low_x = 1.0 if panel.kind == "line" and high_x > 1 else 0.0
    bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT

    def x(value: float) -> float:
        return _LEFT + (value - low_x) / (high_x - low_x) * (right - _LEFT)

    def y(value: float) -> float:
        return bottom - min(value, high_y) / high_y * (bottom - _TOP)

    of_line = [(x(point.x), y(point.y.value)) for point in points]
    upper = [(x(point.x), y(point.y.high)) for point in points]
    lower = [(x(point.x), y(point.y.low)) for point in points]
    if panel.kind == "stairs":
        of_line, upper, lower = (list(_stepped(one)) for one in (of_line, upper, lower))
    is_line = panel.kind != "scatter"
    return Drawn(
        x=panel.x,
        y=panel.y,
        height=HEIGHT,
        left=_LEFT,
        right=right,
        top=_TOP,
        bottom=bottom,
        across=tuple(
            Tick(at=x(one), text=said(one, is_share=False))
            for one in _ticks(high_x, whole=is_line)
            if low_x <= one <= high_x
        ),
        along=tuple(Tick(at=y(one), text=said(one, is_share=panel.is_share)) for one in _ticks(high_y)),
        band=f"{_path((*upper, *reversed(lower)))} Z" if is_line else "",
        line=_path(of_line) if is_line else "",
        dots=tuple(
            Dot(
                x=x(point.x),
                y=y(point.y.value),
                across=None if is_line or point.across is None else (x(point.across.low), x(point.across.high)),
                along=None if is_line else (y(point.y.high), y(point.y.low)),
                text=_words(panel, point),
            )
            for point in points
            if panel.kind != "stairs"
        ),
        names=(),
    )


def _rows(panel: Panel, points: Sequence[Point]) -> Drawn:
    bottom, right = _TOP + _ROW * len(panel.categories), WIDTH - _RIGHT

    def x(value: float) -> float:
        return _LEFT_OF_ROWS + min(max(value, 0.0), 1.0) * (right - _LEFT_OF_ROWS)

    def y(place: float) -> float:
        return _TOP + _ROW * (place + 0.5)

    return Drawn(
        x=panel.y,
        y="",
        height=bottom + _BOTTOM,
        left=_LEFT_OF_ROWS,
        right=right,
        top=_TOP,
        bottom=bottom,
        across=tuple(Tick(at=x(one), text=said(one, is_share=True)) for one in _ticks(1.0)),
        along=(),
        band="",
        line="",
        dots=tuple(
            Dot(
                x=x(point.y.value),
                y=y(point.x),
                across=(x(point.y.low), x(point.y.high)),
                along=None,
                text=f"{panel.categories[int(point.x)]}: {_interval(panel, point)}",
            )
            for point in points
        ),
        names=tuple(Tick(at=y(place), text=name) for place, name in enumerate(panel.categories)),
    )


def _words(panel: Panel, point: Point) -> str:
    return f"{panel.x} {said(point.x, is_share=False)}: {_interval(panel, point)}"


def _interval(panel: Panel, point: Point) -> str:
    value, low, high = (said(one, is_share=panel.is_share) for one in (point.y.value, point.y.low, point.y.high))
    return f"{value} ({low} to {high})"


def _is_finite(point: Point) -> bool:
    across = () if point.across is None else (point.across.low, point.across.high)
    return all(map(isfinite, (point.x, point.y.value, point.y.low, point.y.high, *across)))


def _stepped(corners: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """A value holds until the next one."""
    for place, (x, y) in enumerate(corners):
        if place:
            yield x, corners[place - 1][1]
        yield x, y


def _path(corners: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in corners)


def _ticks(high: float, *, whole: bool = False) -> Iterator[float]:
    """Round numbers from 0 on, not above `high`."""
    scale = 10.0 ** floor(log10(high / _MOST_TICKS))
    step = next(one * scale for one in (1, 2, 5, 10) if one * scale * _MOST_TICKS >= high * (1 - 1e-9))
    if whole:
        step = max(1.0, step)
    for number in range(int(high / step * (1 + 1e-9)) + 1):
        yield number * step
