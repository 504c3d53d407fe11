"""A cost that nobody knows is not shown as nothing, wherever a cost is shown."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from harness.plugins.compare.table import print_comparison
from harness.plugins.html_report.chart import charts
from harness.plugins.html_report.pages import Pages, RunView
from harness.plugins.html_report.single_file import InlineUrls
from harness.records import Usage
from harness.reports.ci import markdown
from harness.reports.display import LiveStats
from harness.reports.show_text import show_run
from harness.runs.comparison import Side, compare
from harness.runs.format import cost, precise_cost
from harness.runs.results import Result
from harness.runs.run import Run
from harness.runs.statistics import statistics_of
from tests.reports.runs import Shape, fill


def unpriced(folder: Path) -> tuple[Result, ...]:
    return tuple(replace(one, usage=replace(one.usage, cost_usd=0.0, priced=False)) for one in Run(folder).results)


def test_it_is_said_in_every_output(tmp_path: Path) -> None:
    folder = fill(tmp_path / "run", [Shape(), Shape(score=0.0)], screenshots=False)
    run, rows = Run(folder), unpriced(folder)
    run.results, known = rows, run.about
    said = StringIO()
    console = Console(file=said, width=200)
    show_run(console, run, [])
    print_comparison(console, compare(Side(about=known, rows=rows), Side(about=known, rows=rows)))
    page = Pages().run(RunView(run=known, view=statistics_of(rows), rows=rows, count=2), InlineUrls(None))  # type: ignore[arg-type]
    for text in (said.getvalue(), markdown(known, rows, statistics_of(rows)), page):
        assert "unknown" in text and "$0" not in text


def test_a_chart_of_costs_is_drawn_only_where_all_are_known(tmp_path: Path) -> None:
    rows = Run(fill(tmp_path / "run", [Shape(steps=1), Shape(steps=2), Shape(steps=3)], screenshots=False)).results
    names = [one.name for one in charts(rows)]
    assert "Cost" in names
    partly = (replace(rows[0], usage=replace(rows[0].usage, cost_usd=0.0, priced=False)), *rows[1:])
    assert [one.name for one in charts(partly)] == [name for name in names if name != "Cost"]


def test_the_line_of_a_run_that_goes_on_says_it_like_its_table() -> None:
    stats = LiveStats(jobs=1)
    for usage, said in (
        (Usage(priced=False), "cost unknown"),
        (Usage(priced=False, cost_usd=1.2), "≥ $1.2000"),
        (Usage(cost_usd=0.5), "$0.5000"),
    ):
        stats.usage = usage
        assert said in stats.headline() and "at least" not in stats.headline()


def test_what_was_paid_is_not_shown_as_free() -> None:
    """A few tokens of a cheap model; a row of zeros would not add up to its total."""
    for usd, said in ((0.0000319, "$0.000032"), (5e-324, "$0.000000000000"), (0.00007, "$0.0001"), (0.5, "$0.5000")):
        assert (cost(usd, True), precise_cost(usd, True)) == (said, said)
    assert (cost(0.0, True), precise_cost(0.0, True)) == ("$0.00", "$0.0000")


def test_where_a_part_has_a_price_it_is_a_lower_bound(tmp_path: Path) -> None:
    folder = fill(tmp_path / "run", [Shape(), Shape()], screenshots=False)
    run = Run(folder)
    run.results = (run.results[0], *unpriced(folder)[1:])
    said = StringIO()
    show_run(Console(file=said, width=200), run, [])
    assert "≥ $" in said.getvalue() and "unknown" in said.getvalue()
