"""The picture of a page as it is now; one that does not come costs the step nothing but the picture.

Playwright's waits for the page's fonts, which those of a document that never arrives whole do not become. So such a
document is asked for its picture without them, and so is a page that keeps playwright waiting. Some give none either
way: a page that never drew anything, or one whose script lets nothing else run.
"""

import asyncio
from base64 import b64decode

from playwright.async_api import CDPSession, Error

from harness.browser.driver.cdp_send import sender
from harness.browser.driver.playwright_errors import page_left
from harness.browser.tabs.tab import Tab

FONTS = "document.fonts.ready.then(() => true)"
"""Waits for the fonts of a document."""
MISSING = "there is no screenshot: the page did not render in time"


async def take_screenshot(tab: Tab, *, limit_s: float, arrives: bool, quick: bool = False) -> bytes | None:
    """A PNG of the viewport in CSS px; None when there is none.

    Args:
        limit_s: How long it may take, either way.
        arrives: Whether the document is still on its way.
        quick: Compressed less, which takes half the time, for a picture that is read and written again.
    Raises:
        playwright.async_api.Error: The page went elsewhere, or is gone.
    """
    # Not by CDP first, which is faster: some pictures would lack their fonts.
    if not arrives:
        try:
            # Not playwright's limit, whose clock also counts while this process is frozen.
            async with asyncio.timeout(limit_s):
                if not quick:
                    # The caret stays: to hide it, playwright puts a style sheet into the page.
                    return await tab.page.screenshot(
                        type="png", scale="css", caret="initial", animations="allow", timeout=0
                    )
                await tab.evaluate_aside(FONTS)
                return await capture(tab.cdp, quick=True)
        except TimeoutError:
            pass
        except Error as exc:
            _check(exc)
    try:
        async with asyncio.timeout(limit_s):
            return await capture(tab.cdp, quick=quick)
    except TimeoutError:
        return None
    except Error as exc:
        _check(exc)
        return None


async def glance(tab: Tab, *, limit_s: float) -> bytes | None:
    """A JPEG of the viewport as it is painted now, for who watches; None when there is none within the limit."""
    if not tab.target:
        return None
    try:
        async with asyncio.timeout(limit_s):
            shot = await sender(tab.cdp)("Page.captureScreenshot", format="jpeg", quality=60, optimizeForSpeed=True)
    except (TimeoutError, Error):
        return None
    return b64decode(shot["data"])


async def capture(cdp: CDPSession, *, quick: bool) -> bytes:
    """The viewport as it is painted, fonts or not."""
    shot = await sender(cdp)("Page.captureScreenshot", format="png", optimizeForSpeed=quick)
    return b64decode(shot["data"])


def _check(error: Error) -> None:
    if page_left(error):
        raise error
