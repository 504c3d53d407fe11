"""Chromium's accessibility has to be enabled before a page is first read: enabled later, it takes the page's renderer
down.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, async_playwright

from harness.browser.driver import executable
from harness.browser.driver.chromium_flags import switches
from harness.browser.rendering.observer import Observer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

VIEWPORT = (1280, 720)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    """Started as episodes have it: no frame host of its own for every document."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable.find(), args=switches(), chromium_sandbox=False
        )
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="module")
async def page(chromium: Browser) -> AsyncIterator[Page]:
    async def answer(route: Route) -> None:
        await route.fulfill(content_type="text/html", body=f"<!doctype html><title>x</title><a>{route.request.url}</a>")

    context = await chromium.new_context()
    await context.route("**/*", answer)
    yield await context.new_page()
    await context.close()


async def test_a_page_that_was_read_bears_accessibility_on_its_next_document(page: Page) -> None:
    crashed = asyncio.Event()
    page.on("crash", lambda _: crashed.set())
    cdp = await page.context.new_cdp_session(page)
    observer = Observer(dialect="cairn", viewport=VIEWPORT)
    await page.goto("http://shop.localhost/one")
    await observer.read(page, cdp)
    await page.goto("http://shop.localhost/two")
    enabled = asyncio.ensure_future(cdp.send("Accessibility.enable"))
    dying = asyncio.ensure_future(crashed.wait())
    done, _ = await asyncio.wait((enabled, dying), return_when=asyncio.FIRST_COMPLETED)
    for one in (enabled, dying):
        one.cancel()  # whichever is still waiting
    assert done == {enabled}, "the page was read before accessibility was enabled, and is gone now"
    assert "shop.localhost/two" in (await observer.read(page, cdp)).text
