"""The matrix in the viewer: choose runs, follow a cell to where two episodes part."""

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser

from harness.loopback_server import serving
from harness.plugins.html_report.viewer.app import Viewer
from harness.plugins.html_report.viewer.run_watcher import ResultsWatcher
from tests.looking import fits, keep_picture, serious_violations
from tests.reports.runs import Shape, fill

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    fill(tmp_path / "one", [Shape(score=float(place % 2)) for place in range(6)])
    fill(tmp_path / "two", [Shape(score=1.0, steps=2) for _ in range(6)], agent="tools")
    return tmp_path


@pytest_asyncio.fixture(loop_scope="session")
async def base(results: Path) -> AsyncIterator[str]:
    async with serving(Viewer(ResultsWatcher(results)).app(None)) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.sample(1)
@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_runs_are_chosen_and_a_cell_leads_to_a_diff(base: str, browser: Browser, theme: str) -> None:
    page = await browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
    await page.goto(f"{base}/")
    await page.get_by_role("link", name="Compare runs").click()
    assert await serious_violations(page) == [] and await fits(page)
    await page.get_by_label("Reference").select_option("one")
    await page.get_by_role("checkbox", name="one").check()
    await page.get_by_role("checkbox", name="two").check()
    await page.get_by_role("button", name="Compare").click()
    assert await serious_violations(page) == [] and await fits(page)
    await keep_picture(page, f"viewer-matrix-{theme}")
    address = page.url
    await page.get_by_role("link", name="3 gained, 0 lost").click()
    await page.get_by_role("link", name="where they part").first.click()
    assert "side by side" in await page.title() and await page.locator("img").count() > 0
    assert await serious_violations(page) == [] and await fits(page)
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto(address)
    assert await serious_violations(page) == [] and await fits(page)
    await page.close()


async def test_a_diff_has_the_scoring_of_the_matrix_that_leads_to_it(base: str, results: Path) -> None:
    fill(results / "three", [Shape(score=0.0, published=1.0)] * 6, scoring="webarena", screenshots=False)
    fill(results / "four", [Shape(published=0.0)] * 6, agent="tools", screenshots=False)
    async with httpx.AsyncClient(base_url=base) as client:
        matrix = (await client.get("/with/matrix?run=three&run=four")).text
        assert "0 gained, 6 lost" in matrix
        address = unescape(re.findall(r'href="(diff\?[^"]+)"', matrix)[0])
        for asked in (address, address.replace("scoring=webarena&", "")):
            page = (await client.get(f"/with/{asked}")).text
            assert re.findall(r'class="mark (\w+)"', page)[:2] == ["passed", "failed"]
        other = (await client.get(f"/with/{address.replace('webarena', 'corrected')}")).text
        assert re.findall(r'class="mark (\w+)"', other)[:2] == ["failed", "passed"]


async def test_bad_addresses_are_one_sentence(base: str, results: Path) -> None:
    async with httpx.AsyncClient(base_url=base) as client:
        for address, said in (
            ("/with/matrix?run=none", "there is no run none"),
            ("/with/matrix?run=../one", "there is no run ../one"),
            ("/with/diff?task=0&episode=one:0", "1 episodes are asked for"),
            ("/with/diff?task=0&episode=one:0&episode=..:0", "episode=..:0 is none"),
            ("/with/diff?task=0&episode=one:0&episode=two:x", "episode=two:x is none"),
            ("/with/diff?task=0&scoring=x&episode=one:0&episode=two:0", "there is no scoring"),
            ("/run/one/with/figures?scoring=x", "there is no scoring"),
            ("/with/diff?task=77&episode=one:0&episode=two:0", "has no journal for task 77"),
        ):
            answer = await client.get(address)
            assert answer.status_code == 200 and said in answer.text, address
        (results / "two" / "1.traj.jsonl").write_bytes(b"{}\n{}\n")
        assert "1.traj.jsonl:1" in (await client.get("/with/matrix?run=one&run=two")).text
