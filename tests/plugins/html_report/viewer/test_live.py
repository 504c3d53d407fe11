"""The viewer in a real browser while a run goes on."""

import time
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from harness.journal.store import RunFolder
from tests.looking import fits, keep_picture, serious_violations
from tests.reports.runs import Shape, episode, fill, task, write

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_step_appears_within_a_second_of_its_fsync(base: str, results: Path, browser: Browser) -> None:
    page = await browser.new_page()
    with RunFolder.open(results / "demo") as run:
        of = task(500)
        records = episode(run, of, Shape(steps=5))
        delays = []
        with run.journal("500") as journal:
            for record in records[:4]:  # opened, arrival, decision, step 1
                journal.append(record)
            await page.goto(f"{base}/run/demo/task/500")
            await expect(page.get_by_text("live", exact=True)).to_be_visible()
            await page.locator("#step-1 summary").first.click()
            for step in range(2, 6):
                for record in records[2 * step : 2 * step + 2]:
                    journal.append(record)
                durable = time.monotonic()
                await page.locator(f"#step-{step} .ok").wait_for()
                delays.append(time.monotonic() - durable)
            assert sorted(delays)[1] < 1.0, delays
            await expect(page.locator("#step-1 details").first).to_have_attribute("open", "")
            for record in records[12:]:
                journal.append(record)
            await expect(page.locator("#standing .mark.passed")).to_be_visible()
    await keep_picture(page, "viewer-task-live")


@pytest.mark.slow
async def test_the_run_page_counts_along(base: str, results: Path, browser: Browser) -> None:
    page = await browser.new_page()
    await page.goto(f"{base}/")
    await page.get_by_role("link", name="demo").click()
    await expect(page.locator(".facts dd").first).to_have_text("12")
    with RunFolder.open(results / "demo") as run:
        of = task(501, intent="A task that came later")
        write(run, of, episode(run, of, Shape(steps=1), screenshots=False))
    await expect(page.locator(".facts dd").first).to_have_text("13")
    await page.get_by_role("searchbox").fill("came later")
    await page.keyboard.press("Enter")
    await page.get_by_role("link", name="A task that came later").click()
    await expect(page.locator("#step-1")).to_be_visible()
    await page.keyboard.press("j")
    await page.keyboard.press("o")
    await expect(page.locator("#step-1 details.observation")).to_have_attribute("open", "")


@pytest.mark.slow
async def test_the_list_of_runs_is_filtered_and_sorted_and_stays_so_while_runs_grow(
    base: str, results: Path, browser: Browser
) -> None:
    fill(results / "short", [Shape(steps=1)], screenshots=False, agent="tools")
    fill(results / "zero", [Shape(steps=1, score=0.0)] * 12, screenshots=False, agent="null")
    page = await browser.new_page()
    await page.goto(base)
    names = page.locator(".runs tbody tr:not([hidden]) td:first-child a")
    await expect(names).to_have_count(3)
    await page.get_by_role("button", name="Tasks").click()
    await expect(names.first).to_have_text("short")
    await page.get_by_label("Agent").select_option("tools")
    await expect(names).to_have_text(["short"])
    await expect(page.get_by_text("1 of 3 runs")).to_be_visible()
    await expect(page.get_by_text("live", exact=True)).to_be_visible()
    with RunFolder.open(results / "short") as run:
        of = task(1)
        write(run, of, episode(run, of, Shape(steps=1), screenshots=False))
    await expect(page.locator(".runs tr:not([hidden]) [data-label^=task]")).to_have_text("2")
    await expect(names).to_have_text(["short"])
    await page.get_by_label("Agent").select_option("")
    await expect(page.locator(".runs th[aria-sort=ascending]")).to_have_text("Tasks")
    await keep_picture(page, "viewer-runs-sorted")


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_serious(base: str, browser: Browser, theme: str) -> None:
    page = await browser.new_page(color_scheme=theme)  # type: ignore[arg-type]
    for path in ("/", "/run/demo", "/run/demo/task/0", "/run/nope"):
        await page.goto(base + path)
        assert await serious_violations(page) == []
    await page.goto(base)
    await keep_picture(page, f"viewer-runs-{theme}")


@pytest.mark.slow
async def test_a_phone_sees_everything_without_scrolling_sideways(base: str, browser: Browser) -> None:
    page = await browser.new_page(viewport={"width": 375, "height": 812})
    for path in ("/", "/run/demo", "/run/demo/task/0"):
        await page.goto(base + path)
        assert await fits(page), path
    await page.goto(base)
    await keep_picture(page, "viewer-runs-375")
