"""The queue in the viewer: by keys alone, in a real browser; and what it refuses."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from harness.loopback_server import serving
from harness.main import main
from harness.plugins.html_report.viewer.app import Viewer
from harness.plugins.html_report.viewer.run_watcher import ResultsWatcher
from harness.plugins.labels.book import read_labels
from harness.runs import Run
from tests.looking import fits, keep_picture, serious_violations
from tests.reports.runs import assorted, fill

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    fill(tmp_path / "results" / "demo", assorted(6, steps=2))
    return tmp_path / "results" / "demo"


@pytest_asyncio.fixture(loop_scope="session")
async def base(run: Path) -> AsyncIterator[str]:
    async with serving(Viewer(ResultsWatcher(run.parent)).app(None)) as port:
        yield f"http://127.0.0.1:{port}"


def said(run: Path, author: str) -> dict[str, dict[str, str]]:
    """Task to what an author says of it."""
    book = read_labels(Run(run))
    found = {row.task_id: dict(book.latest(row.task_id, row.trial, row.attempts)) for row in Run(run).results}
    return {task: dict(of[author]) for task, of in found.items() if author in of}


def form_of(page: str) -> dict[str, str]:
    """The hidden fields of the form of a page."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))


@pytest.mark.browser
async def test_a_queue_is_worked_off_by_keys(base: str, run: Path, browser: Browser) -> None:
    page = await browser.new_page()
    await page.goto(f"{base}/run/demo")
    await page.get_by_role("link", name="Label episodes").click()
    await page.get_by_label("Who labels?").press_sequentially("ann")
    await page.keyboard.press("Enter")
    first = await page.locator("[name=task]").get_attribute("value")
    await page.wait_for_load_state()  # the script that hears keys is at the end of the page
    for key in ("x", "2", "s", "l", "l", "c", "c", "c", "t"):
        await page.keyboard.press(key)
    await page.keyboard.type("wrong mug, why?")
    await page.get_by_role("button", name="Save").focus()
    await page.keyboard.press("w")
    await expect(page.locator("[name=task]")).not_to_have_value(first or "")
    second = await page.locator("[name=task]").get_attribute("value")
    assert said(run, "ann") == {
        first: {
            "success": "no",
            "side_effect": "yes",
            "optimality": "2",
            "looping": "no",
            "class": "model",
            "note": "wrong mug, why?",
        }
    }
    await page.get_by_role("radio", name="unsure").first.check()
    await page.keyboard.press("w")
    await expect(page.locator("[name=task]")).not_to_have_value(second or "")
    assert said(run, "ann")[second or ""] == {"success": "unsure"}
    await page.goto(f"{base}/run/demo/with/label?author=ann&task={first}")
    await expect(page.get_by_role("radio", name="no x", exact=True)).to_be_checked()
    await page.get_by_role("group", name="Was the task done?").get_by_role("radio", name="not said").check()
    await page.keyboard.press("w")
    await page.wait_for_url(lambda url: f"task={first}" not in url)
    assert "success" not in said(run, "ann")[first or ""] and said(run, "ann")[first or ""]["optimality"] == "2"
    await page.close()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_page_is_accessible_and_fits_a_phone(base: str, run: Path, browser: Browser, theme: str) -> None:
    for task, who, value in (("0", "ann", "no"), ("1", "ann", "yes"), ("1", "ben", "no")):
        assert main(["label", str(run), "--task", task, "--author", who, f"success={value}"]) == 0
    page = await browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
    for query in ("", "?author=ann"):
        await page.goto(f"{base}/run/demo/with/label{query}")
        assert await serious_violations(page) == [] and await fits(page)
    await keep_picture(page, f"label-{theme}")
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto(f"{base}/run/demo/with/label?author=ann")
    assert await serious_violations(page) == [] and await fits(page)
    await keep_picture(page, f"label-phone-{theme}")
    await page.close()


async def test_forms_without_the_key_or_from_elsewhere_are_refused(base: str, run: Path) -> None:
    async with httpx.AsyncClient(base_url=base) as client:
        address = "/run/demo/with/label"
        fields = form_of((await client.get(address, params={"author": "ann", "task": "0"})).text)
        good = {**fields, "success": "yes"}
        for bad, code in (
            ({**good, "form_key": "guessed"}, 403),
            ({**good, "note": "x" * 70_000}, 403),
            ({**good, "author": "score"}, 400),
            ({**good, "task": "../0"}, 400),
            ({**good, "trial": "-1"}, 400),
            ({**good, "success": "perhaps"}, 400),
            ({**good, "note": "x" * 2001}, 400),
            ({**good, "attempt": "7"}, 400),
        ):
            answer = await client.post(address, data=bad)
            assert answer.status_code == code and "Traceback" not in answer.text, (bad, answer.status_code)
        cross = await client.post(address, data=good, headers={"sec-fetch-site": "cross-site"})
        assert cross.status_code == 403
        assert (await client.post("/with/matrix", data=good)).status_code == 405
        assert (await client.post("/run/demo/with/none", data=good)).status_code == 404
        assert said(run, "ann") == {}
        answer = await client.post(address, data=good)
        assert answer.status_code == 303 and answer.headers["location"].startswith(f"{address}?author=ann")
        assert said(run, "ann") == {"0": {"success": "yes"}}
        await client.post(address, data=good)
        assert len(read_labels(Run(run)).history[("0", 0)]) == 1, "what did not change is not said again"


async def test_bad_addresses_are_one_sentence(base: str) -> None:
    async with httpx.AsyncClient(base_url=base) as client:
        for query, said_ in (
            ("author=judge", "are not names of people"),
            ("author=ann&task=none", "has not ended"),
            ("author=ann&task=0&trial=x", "is not a number"),
            ("&".join(["a=1"] * 600), "more than 500 fields"),
        ):
            answer = await client.get(f"/run/demo/with/label?{query}")
            assert answer.status_code == 200 and said_ in answer.text
        assert (await client.get("/run/none/with/label")).status_code == 404
        assert (await client.get("/with/label")).status_code == 404
        assert (await client.get("/run/demo/with/matrix")).status_code == 404


async def test_texts_of_strangers_stay_texts(base: str, run: Path) -> None:
    hostile = "<script>alert(1)</script>\u202e"
    assert main(["label", str(run), "--task", "0", "--author", "ben", f"note={hostile}"]) == 0
    async with httpx.AsyncClient(base_url=base) as client:
        page = (await client.get("/run/demo/with/label", params={"author": "<b>ann</b>", "task": "0"})).text
    assert "<script>alert" not in page and "<b>ann" not in page and "\u202e" not in page
