"""The picture of a page as it is now; one that does not come costs the step nothing but the picture.

Playwright's waits for the page's fonts, which those of a document that never arrives whole do not become. So such a
document is asked for its picture without them, and so is a page that keeps playwright waiting. Some give none either
way: a page that never drew anything, or one whose script lets nothing else run.
"""

import asyncio
from base64 import b64decode

from playwright.async_api import Error

from harness.browser.driver.playwright_errors import closed, moved
from harness.browser.tabs.tab import Tab

MISSING = "there is no screenshot: the page did not render in time"


async def take_screenshot(tab: Tab, *, limit_s: float, arrives: bool) -> bytes | None:
    """A PNG of the viewport in CSS px; None when there is none.

    Args:
        limit_s: How long it may take, either way.
        arrives: Whether the document is still on its way.
    Raises:
        playwright.async_api.Error: The page went elsewhere, or is gone.
    """
    if not arrives:
        try:
            return await tab.page.screenshot(
                type="png", scale="css", caret="initial", animations="allow", timeout=limit_s * 1000
            )
        except Error as exc:
            _check(exc)
    try:
        async with asyncio.timeout(limit_s):
            shot = await tab.cdp.send("Page.captureScreenshot", {"format": "png"})
    except TimeoutError:
        return None
    except Error as exc:
        _check(exc)
        return None
    return b64decode(shot["data"])


def _check(error: Error) -> None:
    if moved(error) or closed(error):
        raise error
