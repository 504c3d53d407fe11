"""Only the page whose episode was begun gives a reward: an agent may open other pages, and start those itself."""

from typing import Any, cast

import pytest
from playwright.async_api import Browser, Page

pytest.importorskip("miniwob", reason="the package miniwob is not installed")

from harness.api import BenchmarkPage, Reward
from harness.plugins.miniwob.miniwob import MiniWob
from harness.plugins.miniwob.package_pages import html_folder
from harness.testing import a_task

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
EASY, HARD = "click-test", "book-flight"
TASK = a_task()


class Shown:
    """A `BenchmarkPage` that is a page of the browser."""

    seed = 0

    def __init__(self, page: Page) -> None:
        self.page = page

    async def evaluate(self, script: str, argument: Any = None) -> Any:
        return await self.page.evaluate(script, argument)


async def begun(browser: Browser, name: str) -> tuple[Page, BenchmarkPage]:
    page = await browser.new_page()
    await page.goto(address(name))
    shown = cast(BenchmarkPage, Shown(page))
    await MiniWob().prepare(shown, TASK)
    return page, shown


def address(name: str) -> str:
    return f"{html_folder().as_uri()}/miniwob/{name}.html"


async def test_the_page_that_was_begun_gives_its_reward(browser: Browser) -> None:
    page, shown = await begun(browser, EASY)
    assert await MiniWob().reward(shown, TASK) is None
    await page.click("#subbtn")
    assert await MiniWob().reward(shown, TASK) == Reward(value=1.0, done=True)
    assert (await MiniWob().evidence(shown, TASK))["done"] is True


async def test_another_page_gives_none_though_the_agent_starts_and_solves_it(browser: Browser) -> None:
    page, shown = await begun(browser, HARD)
    await page.goto(address(EASY))
    await page.click("#sync-task-cover")
    await page.click("#subbtn")
    assert await page.evaluate("WOB_DONE_GLOBAL && WOB_RAW_REWARD_GLOBAL") == 1
    assert await MiniWob().reward(shown, TASK) is None
    assert (await MiniWob().evidence(shown, TASK))["done"] is False


async def test_a_blank_tab_gives_none_and_costs_no_attempt(browser: Browser) -> None:
    page, shown = await begun(browser, EASY)
    await page.goto("about:blank")
    assert await MiniWob().reward(shown, TASK) is None
    assert (await MiniWob().evidence(shown, TASK))["done"] is False
