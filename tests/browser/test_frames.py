"""Frames of other processes are read wherever they go, and their sessions do not pile up."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import CDPSession, Frame, Page, Route, async_playwright

from harness.browser.acting.element import Element
from harness.browser.driver import executable
from harness.browser.rendering.observer import Observer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

ARGS = ["--no-sandbox", "--no-first-run", "--site-per-process"]
PAGES = {
    "http://page.test/": "<iframe src=http://far.test/a name=one></iframe><iframe src=http://else.test/b></iframe>",
    "http://far.test/a": "<p>from afar</p>",
    "http://far.test/c": "<p>from afar again</p>",
    "http://else.test/b": "<p>from elsewhere</p>",
    "http://page.test/around": "<iframe src=http://far.test/button style='margin:90px;padding:20px;border:3px solid'>",
    "http://page.test/low": "<iframe src=http://far.test/low style='margin:320px 0 0 90px;height:900px;border:0'>",
    "http://page.test/covered": "<iframe src=http://far.test/button></iframe><p style='position:fixed;inset:0'>over",
    "http://far.test/button": "<button onclick=\"textContent = 'pressed'\">press</button>",
    "http://far.test/low": "<button style='position:absolute;top:360px;height:90px' onclick=\"textContent = 'pressed'\">press",
    "http://page.test/near": "<p>from near</p>",
    "http://page.test/objects": "<object data=/near type=text/html></object><embed src=/near type=text/html>"
    "<object data=http://far.test/a type=text/html></object><object><p>instead</p></object>",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page() -> AsyncIterator[Page]:
    async def answer(route: Route) -> None:
        await route.fulfill(body=f"<!doctype html>{PAGES.get(route.request.url, '')}", content_type="text/html")

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable.find(), args=ARGS)
        page = await browser.new_page()
        await page.route("**/*", answer)
        yield page
        await browser.close()


async def go(page: Page, url: str) -> None:
    """Lead the first frame there: playwright's own `goto` fails where a frame changes its process."""
    async with page.expect_event("framenavigated", lambda frame: frame.url == url):
        await page.evaluate("(url) => { document.querySelector('iframe').src = url }", url)
    await next(frame for frame in page.frames if frame.url == url).wait_for_load_state()


async def test_a_frame_that_returns_to_another_process_is_read_again(page: Page) -> None:
    await page.goto("http://page.test/")
    cdp, observer = await page.context.new_cdp_session(page), Observer(dialect="cairn", viewport=(1280, 720))
    for url, text in (("http://page.test/near", "near"), ("http://far.test/c", "afar again")) * 2:
        await go(page, url)
        assert f"'from {text}'" in (await observer.read(page, cdp)).text


@pytest.mark.slow
async def test_a_frame_costs_one_session_for_as_long_as_it_is_there(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    await page.goto("http://page.test/")
    cdp, observer = await page.context.new_cdp_session(page), Observer(dialect="cairn", viewport=(1280, 720))
    opened, open_one = Counter[str](), page.context.new_cdp_session

    async def opens(of: Page | Frame) -> CDPSession:
        session = await open_one(of)
        opened[of.url] += 1
        return session

    monkeypatch.setattr(page.context, "new_cdp_session", opens)
    for url in ("http://far.test/c", "http://far.test/a") * 2:
        await page.evaluate("document.querySelector('iframe').replaceWith(document.createElement('iframe'))")
        await go(page, url)
        assert (await observer.read(page, cdp)).text.count("'from ") == 2
    assert opened == {"http://else.test/b": 1, "http://far.test/c": 2, "http://far.test/a": 2}
    assert len(observer._collector._sessions) == 2


@pytest.mark.parametrize("path", ["around", "low"])
async def test_an_element_of_another_process_is_met_where_its_frame_is(page: Page, path: str) -> None:
    await page.goto(f"http://page.test/{path}")
    met = await found(page)
    pressed = page.frames[1].get_by_role("button", name="pressed")
    # A page that was loaded a moment ago and has just been scrolled may lose a click until its new frame is drawn.
    while not await pressed.count():
        await page.mouse.click(met["x"], met["y"])
    body = await Observer(dialect="cairn", viewport=(1280, 720)).read(page, await page.context.new_cdp_session(page))
    assert "button 'pressed'" in body.text


async def test_an_element_of_another_process_is_not_met_where_its_frame_is_covered(page: Page) -> None:
    await page.goto("http://page.test/covered")
    met = await found(page)
    assert (met["met"], met["covered"]) == (False, True)


async def found(page: Page) -> Mapping[str, Any]:
    """Where the button of another process is met."""
    cdp = await page.context.new_cdp_session(page)
    body = await Observer(dialect="cairn", viewport=(1280, 720)).read(page, cdp)
    ((id, button),) = ((id, one) for id, one in body.elements.items() if one.node.role == "button")
    assert button.document.session is not cdp
    return await Element(button.document, button.backend, id=id).locate(surely=True)


@pytest.mark.parametrize("below", ["", "<p>line</p>" * 2000], ids=["small page", "large page"])
async def test_pages_of_the_site_in_objects_are_read(page: Page, below: str) -> None:
    await page.goto("http://page.test/objects", wait_until="networkidle")
    await page.evaluate("(below) => document.body.insertAdjacentHTML('beforeend', below)", below)
    cdp = await page.context.new_cdp_session(page)
    body = await Observer(dialect="cairn", viewport=(1280, 720)).read(page, cdp)
    assert body.text.count("'from near'") == 2 and "'instead'" in body.text and not body.torn
    assert "from near" not in (await Observer(dialect="webarena", viewport=(1280, 720)).read(page, cdp)).text
