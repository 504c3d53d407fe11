"""The report as people use it: click through, filter, keys, themes, a phone, assistive technology. No server, no
network.
"""

import re
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from harness.codec import dumps, loads
from harness.plugins.html_report.report import write_report
from harness.plugins.html_report.single_file import write_single_file
from harness.runs.run import Run
from tests.looking import fits, keep_picture, serious_violations
from tests.reports.runs import Shape, fill

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, run: Path) -> Page:
    page = await browser.new_page(viewport={"width": 1280, "height": 900})
    await page.goto(write_report(Run(run)).index.as_uri())
    return page


async def test_a_click_leads_to_a_task_its_steps_and_back(page: Page) -> None:
    await keep_picture(page, "report-index")
    await page.locator(".tasks tbody tr").filter(has_text="same action repeated").first.get_by_role("link").click()
    step = page.locator("#step-1")
    await expect(step).to_contain_text("Let's think step by step")
    await step.locator("summary").first.click()
    await expect(step.get_by_text("RootWebArea 'Lanterns'")).to_be_visible()
    await step.locator("summary").last.click()
    await expect(step.get_by_text("You are an autonomous agent.")).to_be_visible()
    await keep_picture(page, "report-task")
    await page.keyboard.press("u")
    await expect(page.get_by_role("heading", name="Why tasks did not pass")).to_be_visible()


async def test_the_target_is_framed_where_it_is_in_the_screenshot(page: Page, run: Path) -> None:
    await page.goto((run / "report" / "tasks" / "0.html").as_uri())
    picture, frame = page.locator("#step-1 img"), page.locator("#step-1 rect.hit")
    await picture.scroll_into_view_if_needed()
    assert await picture.evaluate("async (one) => { await one.decode(); return one.naturalWidth; }") == 1280
    shown, around = await picture.bounding_box(), await frame.bounding_box()
    assert shown and around
    scale = shown["width"] / 1280
    wanted = (shown["x"] + 96 * scale, shown["y"] + 240 * scale, 180 * scale, 40 * scale)
    found = (around["x"], around["y"], around["width"], around["height"])
    assert found == pytest.approx(wanted, abs=8)


@pytest.mark.slow
async def test_a_screenshot_is_enlarged_by_keys_alone_and_without_a_server(page: Page, run: Path) -> None:
    await page.goto((run / "report" / "tasks" / "0.html").as_uri())
    small, dialog = page.locator("#step-1 .frame img"), page.get_by_role("dialog", name="Screenshot, enlarged")
    await page.get_by_role("button", name="Enlarge: Page before step 1", exact=True).focus()
    await page.keyboard.press("Enter")
    await expect(dialog).to_be_visible()
    shown, enlarged = await small.bounding_box(), await dialog.locator("img").bounding_box()
    assert shown and enlarged and enlarged["width"] > 1.8 * shown["width"]
    await expect(dialog.locator("rect.hit")).to_be_visible()
    assert await serious_violations(page) == []
    await keep_picture(page, "report-enlarged")
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(page.get_by_role("button", name="Enlarge: Page before step 1", exact=True)).to_be_focused()
    await page.keyboard.press("j")
    for is_open in (True, False):
        await page.keyboard.press("z")
        await expect(dialog).to_be_visible(visible=is_open)


async def test_a_failed_verdict_leads_to_its_step_and_the_final_page_stands_beside_the_answer(
    browser: Browser, tmp_path: Path
) -> None:
    folder = fill(tmp_path / "run", [Shape(steps=3, score=0.0)])
    page = await browser.new_page(viewport={"width": 1280, "height": 900})
    await page.goto((write_report(Run(folder)).index.parent / "tasks" / "0.html").as_uri())
    final = page.get_by_role("button", name="Enlarge: Page after the last action")
    await expect(final.locator("img")).to_have_attribute("src", await source(page, "#step-4 .frame img"))
    await expect(page.locator("#result")).to_contain_text("lanterns?page=3")
    link = page.locator("#result .to").first
    await expect(link).to_have_text("step 4: the answer was given here")
    await link.get_by_role("link").click()
    await expect(page.locator("#step-4")).to_be_in_viewport()
    cut = "[...document.querySelectorAll('.contents a span')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    assert await page.evaluate(cut) == 0, "titles of steps are whole"


async def source(page: Page, selector: str) -> str:
    found = await page.locator(selector).get_attribute("src")
    assert found
    return found


async def test_a_digest_is_abbreviated_and_copied_in_full(browser: Browser, tmp_path: Path) -> None:
    folder = fill(tmp_path / "run", [Shape()], screenshots=False)
    known = loads((folder / "run.json").read_bytes())
    (folder / "run.json").write_bytes(dumps({**known, "prompt": "0123456789abcdef" * 4, "packages": {"rich": "14"}}))
    page = await browser.new_page(viewport={"width": 1280, "height": 900})
    await page.goto(write_report(Run(folder)).index.as_uri())
    digest = page.locator(".made .digest")
    narrow = await digest.bounding_box()
    await digest.click()
    assert await page.evaluate("getSelection().toString().trim()") == "0123456789abcdef" * 4
    wide = await digest.bounding_box()
    assert narrow and wide and narrow["width"] < 130 < wide["width"], "the focus shows all of it"
    await expect(page.get_by_text("rich 14")).to_be_hidden()
    await page.get_by_text("1 package", exact=True).click()
    await expect(page.get_by_text("rich 14")).to_be_visible()


async def test_the_number_of_tasks_in_a_bar_is_told_on_hover(page: Page) -> None:
    bars = page.locator(".hist").first.locator("g")
    titles = [await one.locator("title").text_content() or "" for one in await bars.all()]
    counts = [int(re.search(r": (\d+) task", title)[1]) for title in titles]  # type: ignore[index]
    assert sum(counts) == 60 and await bars.first.locator(".over").get_attribute("height") == "96"
    axis = [int(text) for text in await page.locator(".hist").first.locator("text.up").all_text_contents()]
    assert axis[0] == 0 and axis[-1] >= max(counts)


async def test_no_number_of_an_axis_is_cut_off(browser: Browser, tmp_path: Path) -> None:
    run = fill(tmp_path / "run", [Shape(steps=steps) for steps in (1, 2, 3, 5, 5)], screenshots=False)
    page = await browser.new_page()
    await page.goto(write_report(Run(run)).index.as_uri())
    cut = """(charts) => charts.flatMap((chart) => [...chart.querySelectorAll("text")].filter((text) => {
      const inner = text.getBoundingClientRect(), outer = chart.getBoundingClientRect();
      return inner.left < outer.left || inner.right > outer.right;
    })).map((text) => text.textContent)"""
    assert await page.locator(".hist").count() and await page.locator(".hist").evaluate_all(cut) == []


@pytest.mark.slow
async def test_filters_and_search_narrow_the_list(page: Page) -> None:
    shown = page.locator(".tasks tbody tr:not([hidden])")
    await expect(shown).to_have_count(60)
    await page.get_by_label("Outcome").select_option("failed")
    await expect(page.locator(".tasks tbody tr:not([hidden]) .mark.passed")).to_have_count(0)
    assert 0 < await shown.count() < 60
    await page.get_by_label("Outcome").select_option("")
    await page.get_by_role("searchbox").fill("pending ORDERS")
    await expect(shown).to_have_count(12)
    await expect(page.get_by_text("12 of 60 tasks")).to_be_visible()
    await page.get_by_role("link", name="step limit reached").click()
    for text in await shown.all_inner_texts():
        assert "step limit reached" in text
    await keep_picture(page, "report-filtered")


@pytest.mark.slow
@pytest.mark.parametrize(("most_listed", "first"), [((1000, 100), 200), ((150, 40), 100)], ids=["laid out", "waiting"])
async def test_of_a_long_list_the_first_rows_are_shown_and_all_are_searched(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_listed: tuple[int, int], first: int
) -> None:
    monkeypatch.setattr("harness.plugins.html_report.pages._MOST_LISTED", most_listed)
    page = await browser.new_page(viewport={"width": 1280, "height": 900})
    await page.goto(write_report(Run(fill(tmp_path / "run", [Shape()] * 203, screenshots=False))).index.as_uri())
    shown, more = page.locator(".list tbody tr:visible"), page.get_by_role("button", name="Show all 203")
    await expect(shown).to_have_count(first)
    await page.locator("select[name=status]").select_option("passed")
    await expect(page.locator(".shown")).to_have_text("203 tasks")
    await page.get_by_role("button", name="Task").click()
    await page.get_by_role("button", name="Task").click()
    await expect(shown.first.locator("td").nth(1)).to_have_text("202")
    await page.get_by_role("searchbox").fill("no such task")
    await expect(shown).to_have_count(0)
    await expect(more).to_be_hidden()
    await page.get_by_role("searchbox").fill("")
    await more.click()
    await expect(shown).to_have_count(203)
    await expect(more).to_be_hidden()
    await page.get_by_role("searchbox").fill("no such task")
    left = 203 if first == 200 else most_listed[1]
    assert await page.locator(".list tbody tr").count() == left, "rows that wait are in the table only while shown"
    await page.close()


@pytest.mark.slow
async def test_without_its_script_a_very_long_list_says_what_is_missing(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.plugins.html_report.pages._MOST_LISTED", (100, 40))
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(write_report(Run(fill(tmp_path / "run", [Shape()] * 103, screenshots=False))).index.as_uri())
    await expect(page.locator(".list tbody tr:visible")).to_have_count(40)
    # Chromium shows it only where scripts are really off, not where that is emulated.
    assert "63 more are shown by this page" in await page.locator("noscript").inner_html()
    await context.close()


@pytest.mark.slow
async def test_the_list_is_sorted_by_numbers(page: Page) -> None:
    await page.get_by_role("button", name="Steps").click()
    await page.get_by_role("button", name="Steps").click()
    steps = [int(text) for text in await page.locator(".tasks td[data-label=steps]").all_inner_texts()]
    assert steps == sorted(steps, reverse=True) and steps[0] > 9


@pytest.mark.slow
async def test_everything_is_reached_by_keys(page: Page) -> None:
    await page.keyboard.press("/")
    await page.keyboard.type("Maya")
    await page.keyboard.press("Escape")
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Assign issue 14 to Maya")).to_be_visible()
    await page.wait_for_load_state()  # its script listens for keys
    await page.keyboard.press("j")
    await expect(page.locator(".step.here")).to_have_attribute("id", "step-1")
    await page.keyboard.press("o")
    await expect(page.locator("#step-1 details.observation")).to_have_attribute("open", "")
    await page.keyboard.press("j")
    await expect(page.locator("#step-2")).to_be_focused()
    here = page.url
    await page.keyboard.press("n")
    await page.wait_for_url(lambda url: url != here)
    await page.keyboard.press("p")
    await page.wait_for_url(here)
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_be_visible()


@pytest.mark.slow
async def test_a_phone_sees_everything_without_scrolling_sideways(browser: Browser, run: Path) -> None:
    page = await browser.new_page(viewport={"width": 375, "height": 812}, is_mobile=True, has_touch=True)
    index = write_report(Run(run)).index
    await page.goto(index.as_uri())
    assert await fits(page)
    await keep_picture(page, "report-index-375")
    rows = page.locator(".tasks tbody tr:not([hidden])")
    await expect(rows).to_have_count(30)
    await page.get_by_role("searchbox").fill("pending ORDERS")
    await expect(rows).to_have_count(12)
    await page.get_by_role("searchbox").fill("")
    await page.get_by_role("button", name="Show all 60").click()
    await expect(rows).to_have_count(60)
    await page.goto((index.parent / "tasks" / "0.html").as_uri())
    await page.keyboard.press("e")
    assert await fits(page)
    await keep_picture(page, "report-task-375")


@pytest.mark.sample(1)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("which", ["index.html", "tasks/0.html", "tasks/4.html"])
async def test_axe_finds_nothing_serious(browser: Browser, run: Path, theme: str, which: str) -> None:
    page = await browser.new_page(color_scheme=theme, viewport={"width": 1280, "height": 900})  # type: ignore[arg-type]
    index = write_report(Run(run)).index
    await page.goto((index.parent / which).as_uri())
    await page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    await keep_picture(page, f"report-{theme}-{which.replace('/', '-').removesuffix('.html')}")
    assert await serious_violations(page) == []


@pytest.mark.slow
async def test_the_theme_is_remembered(page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(ground)
    await page.get_by_role("button", name="Theme").click()
    await page.get_by_role("button", name="Theme").click()
    dark = await page.evaluate(ground)
    assert dark != light
    await page.reload()
    assert await page.evaluate(ground) == dark


async def test_one_file_holds_every_page(browser: Browser, run: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "report.html"
    target.parent.mkdir()
    write_single_file(Run(run), target)
    page = await browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(target.as_uri())
    await page.get_by_role("link", name="What does the Storm Lantern cost?").first.click()
    picture = page.locator("#step-1 img")
    assert await picture.evaluate("async (one) => { await one.decode(); return one.naturalWidth; }") == 1280
    await page.get_by_role("link", name="Next", exact=True).click()
    await expect(page.locator("#page .lede").nth(1)).to_contain_text("task 1")
    await page.go_back()
    await page.go_back()
    await expect(page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()
    assert {url.partition("#")[0] for url in asked if not url.startswith("data:")} == {target.as_uri()}
