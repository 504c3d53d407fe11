"""The figures of one run as a page of the viewer: geometry, what is left out, hostile names."""

import re
from collections.abc import AsyncIterator
from math import inf
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser

from harness.errors import ConfigError
from harness.loopback_server import serving
from harness.plugins.html_report.report import write_report
from harness.plugins.html_report.viewer.app import Viewer
from harness.plugins.html_report.viewer.run_watcher import ResultsWatcher
from harness.plugins.plot import viewer_page
from harness.plugins.plot.figures import PLOTS, Named, Panel, Point, Series
from harness.plugins.plot.geometry import WIDTH, Drawn, drawn
from harness.runs import Run
from harness.runs.intervals import Interval
from tests.looking import fits, keep_picture, serious_violations
from tests.reports.runs import Shape, assorted, fill

in_session = pytest.mark.asyncio(loop_scope="session")
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shapes = [*assorted(12, steps=4), Shape(steps=3)]
    return fill(tmp_path / "results" / "demo", shapes, trials=2, screenshots=False)


@pytest_asyncio.fixture(loop_scope="session")
async def base(folder: Path) -> AsyncIterator[str]:
    async with serving(Viewer(ResultsWatcher(folder.parent)).app(None)) as port:
        yield f"http://127.0.0.1:{port}"


def panel(kind: str, *points: Point, share: bool = True, categories: tuple[str, ...] = ()) -> Panel:
    series = (Series(run="demo", points=points),)
    return Panel(kind=kind, x="step", y="passed", series=series, is_share=share, categories=categories)


def point(x: float, value: float, low: float, high: float) -> Point:
    return Point(x=x, y=Interval(value=value, low=low, high=high))


def picture(one: Panel) -> Drawn:
    found = drawn(one)
    assert found is not None
    return found


def test_values_are_where_the_axes_say() -> None:
    found = picture(panel("line", point(1, 0.0, 0.0, 0.5), point(3, 1.0, 0.5, 1.0)))
    first, last = found.dots
    assert (first.x, first.y) == (found.left, found.bottom) and (last.x, last.y) == (found.right, found.top)
    middle = next(tick for tick in found.across if tick.text == "2")
    assert middle.at == (found.left + found.right) / 2
    assert [tick.text for tick in found.along] == ["0%", "20%", "40%", "60%", "80%", "100%"]
    assert last.text == "step 3: 100% (50% to 100%)"


def test_a_stair_holds_its_value_until_the_next() -> None:
    found = picture(panel("stairs", point(0, 0.0, 0.0, 0.0), point(1, 1.0, 1.0, 1.0)))
    corners = re.findall(r"([\d.]+) ([\d.]+)", found.line)
    assert [float(y) for _, y in corners] == [found.bottom, found.bottom, found.top]
    assert corners[1][0] == corners[2][0]


def test_rows_have_names_and_stay_within_the_picture() -> None:
    found = picture(panel("rows", point(0, 0.5, 0.2, 0.8), point(1, 1.0, 0.9, 1.0), categories=("shop", HOSTILE)))
    assert [name.text for name in found.names] == ["shop", HOSTILE]
    assert all(found.left <= dot.x <= found.right < WIDTH and found.top < dot.y < found.bottom for dot in found.dots)


def test_what_is_no_number_is_not_drawn() -> None:
    assert drawn(panel("line")) is None
    assert drawn(panel("line", point(1, inf, 0.0, inf))) is None
    assert picture(panel("scatter", point(0, 0.0, 0.0, 0.0), share=False)).dots, "zero alone has axes, too"


@in_session
async def test_each_figure_of_the_command_is_on_the_page(base: str, folder: Path) -> None:
    async with httpx.AsyncClient() as client:
        overview = await client.get(f"{base}/run/demo")
        assert 'href="/run/demo/with/figures"' in overview.text
        page = (await client.get(f"{base}/run/demo/with/figures")).text
    named = [Named("demo", Run(folder))]
    plots = [plot for make in PLOTS.values() if (plot := make(named)) is not None]
    assert re.findall(r'<h2 id="figure-(\w+)"', page) == [plot.name for plot in plots] and len(plots) > 4
    assert page.count('<svg class="plot"') == sum(drawn(one) is not None for plot in plots for one in plot.panels)


@in_session
async def test_a_long_run_is_not_read_step_by_step(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer_page, "_MOST_READ", 10)
    async with httpx.AsyncClient() as client:
        page = (await client.get(f"{base}/run/demo/with/figures")).text
    assert "time and tokens by step are left out for more than 10 episodes" in page
    assert "figure-effort_by_step" not in page and "figure-success_by_steps" in page


@in_session
async def test_a_run_without_episodes_has_no_figures(tmp_path: Path) -> None:
    fill(tmp_path / "results" / HOSTILE.replace("/", "_"), [], screenshots=False)
    app = Viewer(ResultsWatcher(tmp_path / "results")).app(None)
    async with serving(app) as port, httpx.AsyncClient() as client:
        name = HOSTILE.replace("/", "_")
        page = await client.get(f"http://127.0.0.1:{port}/run/{name}/with/figures")
    assert page.status_code == 200 and "<script>alert" not in page.text


def test_the_report_has_the_figures_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = write_report(Run(folder))
    page = report.index.parent / "figures.html"
    assert '<a href="figures.html">Figures</a>' in report.index.read_text()
    assert page.read_text().count('<svg class="plot"') > 4 and 'href="index.html">demo</a>' in page.read_text()

    def fail(*_: object) -> None:
        raise ConfigError("no figures today")

    monkeypatch.setattr(viewer_page.FiguresPage, "show", fail)
    (folder / "report" / ".made.json").unlink()
    index = write_report(Run(folder)).index.read_text()
    assert "Figures: no figures today" in index and "figures.html" not in index


def test_the_figures_of_a_report_are_in_its_scoring(tmp_path: Path) -> None:
    folder = fill(tmp_path / "demo", [Shape(score=0.0, published=1.0)] * 4, screenshots=False)
    pages = dict[str, str]()
    for scoring in ("webarena", "corrected"):
        index = write_report(Run(folder, scoring=scoring)).index
        pages[scoring] = (index.parent / "figures.html").read_text()
    assert ">100%</td>" in pages["webarena"] and ">100%</td>" not in pages["corrected"]


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("place", ["viewer", "report"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
@in_session
async def test_the_page_is_accessible(
    base: str, folder: Path, browser: Browser, scheme: str, width: int, place: str
) -> None:
    in_report = write_report(Run(folder)).index.parent / "figures.html"
    context = await browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page = await context.new_page()
    refused: list[str] = []
    page.on("console", lambda one: refused.append(one.text) if one.type == "error" else None)
    await page.goto(f"{base}/run/demo/with/figures" if place == "viewer" else in_report.as_uri())
    assert await serious_violations(page) == [] and await fits(page) and refused == []
    await keep_picture(page, f"figures-{place}-{scheme}-{width}")
