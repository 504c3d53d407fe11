"""The figures of one run as a page of the viewer and of the report."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.api.command_line import PageAnswer, PageRequest
from harness.errors import ConfigError
from harness.plugins.plot.figures import PLOTS, Named, Panel, Plot
from harness.plugins.plot.geometry import WIDTH, Drawn, drawn, said
from harness.runs import Run
from harness.runs.notes import surplus_notes

_MOST_READ = 1000
"""Episodes whose journals are read for one page of the viewer."""
_MOST_READ_OF_REPORT = 200
"""The same, of a report: it is made at the end of each run."""
_READS_JOURNALS = "effort_by_step"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axes:
    """A picture and its numbers."""

    picture: Drawn
    numbers: tuple[tuple[str, ...], ...]
    """What it is of, value, and ends of the interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figure:
    """One figure of the page."""

    plot: Plot
    axes: tuple[_Axes, ...]


class FiguresPage:
    """Implements `harness.api.command_line.ViewerPage`."""

    title: ClassVar[str] = "Figures"
    is_of_run: ClassVar[bool] = True
    templates: ClassVar[Path] = Path(__file__).parent / "templates"
    saves: ClassVar[bool] = False
    in_report: ClassVar[bool] = True

    def show(self, request: PageRequest, /) -> PageAnswer:
        """The figures of `harness plot`, as far as there is something to draw, in the scoring of the field `scoring`.

        Raises:
            ConfigError: There is no such scoring.
        """
        (folder,) = request.folders.values()
        run = Run(folder, scoring=request.field("scoring") or None)
        most = _MOST_READ_OF_REPORT if request.field("report") else _MOST_READ
        is_long = len(run.results) > most
        plots = [
            plot([Named(folder.name, run)]) for name, plot in PLOTS.items() if not (is_long and name == _READS_JOURNALS)
        ]
        figures = [_Figure(plot=one, axes=axes) for one in plots if one is not None and (axes := _axes(one))]
        notices = [f"time and tokens by step are left out for more than {most:,} episodes"] if is_long else []
        notices += (*map(str, run.damaged), *surplus_notes(run.surplus))
        values = {"run_name": folder.name, "figures": figures, "notices": notices, "width": WIDTH}
        return PageAnswer(template="figures.html", values=values)

    def save(self, request: PageRequest, /) -> Mapping[str, str]:
        """Never called."""
        raise ConfigError("this page takes no form; open it")


def _axes(plot: Plot) -> tuple[_Axes, ...]:
    found = ((panel, drawn(panel)) for panel in plot.panels)
    return tuple(_Axes(picture=one, numbers=_numbers(panel)) for panel, one in found if one is not None)


def _numbers(panel: Panel) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            panel.categories[int(point.x)] if panel.kind == "rows" else said(point.x, is_share=False),
            *(said(one, is_share=panel.is_share) for one in (point.y.value, point.y.low, point.y.high)),
        )
        for point in panel.series[0].points
    )
