"""Figures as SVG and PNG, by matplotlib.

Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart; each run has a line
style and a marker of its own, too, so that a print in black and white can be read. The same runs give the same SVG.
Texts of runs are drawn as they are: nothing in them is read as mathematics.

Source: Okabe and Ito 2008, "Color universal design", https://jfly.uni-koeln.de/color/
"""

import warnings
from collections.abc import Sequence
from io import BytesIO
from typing import Any

from harness.errors import ConfigError
from harness.plugins.plot.figures import Panel, Plot, Series
from harness.runs import one_line

FORMATS = ("svg", "png")
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DOTS_PER_INCH = 200
_LONGEST_NAME, _LONGEST_ROW = 44, 60
_SETTINGS = {
    "text.parse_math": False,
    "svg.hashsalt": "cairn",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


def drawn(plot: Plot) -> dict[str, bytes]:
    """Ending of the file to its content.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("the package matplotlib is not installed; run pip install 'cairn-harness[plot]'") from error
    with rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # a box is drawn instead
        figure: Any = Figure(figsize=_size(plot), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
        runs = plot.panels[0].series
        figure.suptitle(plot.title + (f" · {_name(runs[0])}" if len(runs) == 1 else ""), fontsize=12, fontweight="bold")
        axes = figure.subplots(1, len(plot.panels), squeeze=False)[0]
        for ax, panel in zip(axes, plot.panels, strict=True):
            _draw(ax, panel)
        _legend(figure, axes[0], plot)
        return {ending: _saved(figure, ending) for ending in FORMATS}


def _size(plot: Plot) -> tuple[float, float]:
    """Inches."""
    panel, wide = plot.panels[0], _width(plot)
    runs = len(panel.series)
    below = 0.2 + 0.22 * (-(-runs // _legend_columns(plot)) if runs > 1 else 0)
    if panel.kind == "rows":
        return wide, 1.5 + below + len(panel.categories) * (0.24 + 0.12 * runs)
    return wide, 4.0 + below


def _width(plot: Plot) -> float:
    return 9.6 if len(plot.panels) > 1 else 7.2 if plot.panels[0].kind == "rows" else 6.4


def _legend_columns(plot: Plot) -> int:
    """Two, where the names of the runs leave room for them."""
    longest = max(len(_name(one)) for one in plot.panels[0].series)
    return 2 if 2 * (0.8 + 0.08 * longest) <= _width(plot) else 1


def _legend(figure: Any, ax: Any, plot: Plot) -> None:
    """Runs and notes below the axes."""
    handles, labels = ax.get_legend_handles_labels()
    said = "; ".join(("95% intervals", *plot.notes))
    if len(labels) > 1:
        columns = _legend_columns(plot)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, title=said, title_fontsize=8)
    else:
        figure.supxlabel(said, fontsize=8, color="#444444")


def _saved(figure: Any, ending: str) -> bytes:
    data = BytesIO()
    given = {"metadata": {"Date": None}} if ending == "svg" else {"dpi": _DOTS_PER_INCH}
    figure.savefig(data, format=ending, **given)
    return data.getvalue()


def _draw(ax: Any, panel: Panel) -> None:
    for place, one in enumerate(panel.series):
        _DRAW[panel.kind](ax, one, place, len(panel.series))
    if panel.kind == "rows":
        ax.set_yticks(range(len(panel.categories)), [one_line(name, _LONGEST_ROW) for name in panel.categories])
        ax.set_ylim(len(panel.categories) - 0.5, -0.5)
        ax.set_xlabel(panel.y)
    else:
        ax.set_xlabel(panel.x)
        ax.set_ylabel(panel.y)
        ax.set_ylim(bottom=0.0)
        ax.set_xlim(left=1.0 - 0.1 if panel.kind == "line" else 0.0)
    if panel.is_share:
        _as_share(ax, panel)
    if panel.kind in ("line", "stairs"):
        _whole_numbers(ax)


def _as_share(ax: Any, panel: Panel) -> None:
    from matplotlib.ticker import PercentFormatter

    axis = ax.xaxis if panel.kind == "rows" else ax.yaxis
    axis.set_major_formatter(PercentFormatter(1.0))
    (ax.set_xlim if panel.kind == "rows" else ax.set_ylim)(-0.02, 1.02)


def _whole_numbers(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _look(place: int) -> dict[str, Any]:
    return {"color": _COLOURS[place % len(_COLOURS)], "linewidth": 1.6}


def _line_style(place: int) -> str:
    return _LINES[place % len(_LINES)]


def _marker(place: int) -> str:
    return _MARKERS[(place + place // len(_COLOURS)) % len(_MARKERS)]


def _values(one: Series) -> tuple[list[float], list[float], list[float], list[float]]:
    points = one.points
    return (
        [point.x for point in points],
        [point.y.value for point in points],
        [point.y.low for point in points],
        [point.y.high for point in points],
    )


def _stairs(ax: Any, one: Series, place: int, _: int) -> None:
    x, y, low, high = _values(one)
    look = _look(place)
    ax.step(x, y, where="post", label=_name(one), linestyle=_line_style(place), **look)
    ax.fill_between(x, low, high, step="post", color=look["color"], alpha=0.13, linewidth=0)


def _line(ax: Any, one: Series, place: int, _: int) -> None:
    x, y, low, high = _values(one)
    look = _look(place)
    ax.plot(x, y, label=_name(one), linestyle=_line_style(place), marker=_marker(place), markersize=4, **look)
    ax.fill_between(x, low, high, color=look["color"], alpha=0.13, linewidth=0)


def _scatter(ax: Any, one: Series, place: int, _: int) -> None:
    x, y, low, high = _values(one)
    across = [point.across for point in one.points if point.across is not None]
    ax.errorbar(
        x,
        y,
        yerr=[_below(y, low), _above(y, high)],
        xerr=[_below(x, [one.low for one in across]), _above(x, [one.high for one in across])],
        label=_name(one),
        linestyle="none",
        marker=_marker(place),
        markersize=7,
        capsize=3,
        elinewidth=1.1,
        color=_COLOURS[place % len(_COLOURS)],
    )


def _row(ax: Any, one: Series, place: int, runs: int) -> None:
    """A run's points, a little below those of the run before it."""
    x, y, low, high = _values(one)
    shift = (place - (runs - 1) / 2) * 0.7 / runs
    ax.errorbar(
        y,
        [value + shift for value in x],
        xerr=[_below(y, low), _above(y, high)],
        label=_name(one),
        linestyle="none",
        marker=_marker(place),
        markersize=5,
        capsize=2,
        elinewidth=1.1,
        color=_COLOURS[place % len(_COLOURS)],
    )


def _below(values: Sequence[float], low: Sequence[float]) -> list[float]:
    """How far an interval reaches below its value; never less than nothing, as rounding may have it."""
    return [max(0.0, value - end) for value, end in zip(values, low, strict=True)]


def _above(values: Sequence[float], high: Sequence[float]) -> list[float]:
    return [max(0.0, end - value) for value, end in zip(values, high, strict=True)]


def _name(one: Series) -> str:
    return one_line(one.run, _LONGEST_NAME).lstrip("_") or "-"  # matplotlib leaves out what begins with one


_DRAW = {"stairs": _stairs, "line": _line, "scatter": _scatter, "rows": _row}
