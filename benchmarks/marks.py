"""What a screenshot with marks costs beside a plain one.

Run: `python -m benchmarks.marks [--runs 15]`. Both are taken in turn of the same page in the same browser: a plain
screenshot as Cairn takes it, and the one that is marked: compressed less by the browser, elements hit-tested meanwhile,
and numbers drawn on it. A page on which fewer elements than expected have a mark gives no row.
"""

import asyncio
import sys
import time
from collections.abc import Mapping

from playwright.async_api import CDPSession, Page, async_playwright

from benchmarks.pages import rows as table
from benchmarks.results import Rows, parser, tell, timed
from harness.browser.driver import executable
from harness.browser.driver.cdp_send import sender
from harness.browser.marks.marks import find_marks
from harness.browser.reading.document_client import together
from harness.browser.rendering.observer import Observer
from harness.browser.tabs.screenshot import FONTS, capture
from harness.pictures.png import draw_marks

VIEWPORT = (1280, 720)
_ARTICLE = "".join(
    f"<p>{'Some words of an article that has a few links, and goes on for a while. ' * 6}<a href=#{n}>link {n}</a></p>"
    for n in range(12)
)
_SEARCH = (
    "<header><a href=#h>Home</a> <input type=search aria-label=Search> <button>Search</button></header><main>"
    + "".join(
        f"<section><h2><a href=#{n}>Result {n}</a></h2><p>What it is about. <button>Save</button></section>"
        for n in range(12)
    )
    + "</main>"
)
PAGES: Mapping[str, tuple[str, int]] = {
    "an article": (_ARTICLE, 5),
    "search results": (_SEARCH, 12),
    "a table": (table(40), 50),
}
"""Page and the fewest marks it must have."""


async def _screenshot(page: Page) -> bytes:
    return await page.screenshot(type="png", scale="css", caret="initial", animations="allow")


async def _to_be_marked(cdp: CDPSession) -> bytes:
    await sender(cdp)("Runtime.evaluate", expression=FONTS, awaitPromise=True)
    return await capture(cdp, quick=True)


async def measure(runs: int = 15) -> Rows:
    found: Rows = {}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable.find())
        page = await browser.new_page(viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]})
        cdp = await page.context.new_cdp_session(page)
        for name, (text, fewest) in PAGES.items():
            await page.set_content(f"<!doctype html><html lang=en><title>Page</title><body>{text}")
            body = await Observer(dialect="cairn", viewport=VIEWPORT).read(page, cdp)
            marked: list[float] = []
            plain: list[float] = []
            marks = 0
            for run in range(runs + 2):
                started = time.perf_counter()
                await _screenshot(page)
                between = time.perf_counter()
                image, boxes = await together(_to_be_marked(cdp), find_marks(body, VIEWPORT))
                draw_marks(image, boxes)
                ended = time.perf_counter()
                marks = len(boxes)
                if run >= 2:  # the first ones warm up
                    plain.append(between - started)
                    marked.append(ended - between)
            if marks < fewest:
                raise SystemExit(f"{name}: {marks} marks, at least {fewest} expected")
            found[f"marks, screenshot of {name} ({marks} marks): beside a plain one"] = timed(marked, plain)
        await browser.close()
    return found


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=15)
    tell(asyncio.run(measure(options.parse_args().runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
