"""Real documentation pages: what the fast reading shows is what two calls per accessibility node show, ids aside.

The pages are those of Debian's python3-doc and git-doc; where a package is not installed, its pages are skipped.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import CDPSession, Page, async_playwright

from benchmarks.documents import DOCUMENTS, Document
from benchmarks.reference import Labels, measure
from harness.actions import Box
from harness.browser.driver import executable
from harness.browser.rendering import tree_cairn, tree_webarena
from harness.browser.rendering.observer import Observer
from harness.browser.rendering.tree import overlap

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

VIEWPORT = (1280, 720)
ARGS = ["--no-sandbox", "--disable-background-networking", "--no-first-run", "--disable-component-update"]
DIALECTS = {"webarena": tree_webarena.print_tree, "cairn": tree_cairn.print_tree}
OFFSETS = (0.0, 0.37, 1.0)
"""Shares of what can be scrolled."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable.find(), args=ARGS)
        context = await browser.new_context(viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]})
        yield await context.new_page()
        await browser.close()


@pytest_asyncio.fixture(loop_scope="module")
async def cdp(page: Page) -> CDPSession:
    return await page.context.new_cdp_session(page)


def without_ids(text: str) -> str:
    return re.sub(r"^(\t*)\[\d+\] ", r"\1", text, flags=re.MULTILINE)


def places(lines: Iterable[Any], viewport: tuple[int, int] | None) -> list[tuple[str, Box | None]]:
    """Every line that can be addressed, from top to bottom, and where it is; out of view is nowhere."""
    return [(one.line, one.box if one.box and is_seen(one.box, viewport) else None) for one in lines]


def is_seen(box: Box, viewport: tuple[int, int] | None) -> bool:
    return all(box[2:]) if viewport is None else all(overlap(box, viewport))


async def read_slowly(cdp: CDPSession) -> tuple[Sequence[dict[str, Any]], dict[str, Box]]:
    """As `benchmarks.reference.read` does, many nodes under way at a time."""
    nodes = (await cdp.send("Accessibility.getFullAXTree"))["nodes"]
    measured = [node for node in nodes[1:] if "backendDOMNodeId" in node]
    rects: dict[str, Box] = {}
    for batch in (measured[start : start + 200] for start in range(0, len(measured), 200)):
        found = await asyncio.gather(*(measure(cdp, node["backendDOMNodeId"]) for node in batch))
        rects |= {node["nodeId"]: rect for node, rect in zip(batch, found, strict=True) if rect is not None}
    return nodes, rects


async def scroll(page: Page, share: float) -> float:
    """How far down the page stands afterwards, in CSS px, once that has been painted."""
    return float(
        await page.evaluate(
            """async (share) => {
                scrollTo(0, share * (document.documentElement.scrollHeight - innerHeight));
                await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
                return scrollY;
            }""",
            share,
        )
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: f"{document.package}-{document.name}")
async def test_the_fast_reading_of_a_document_is_the_slow_one(page: Page, cdp: CDPSession, document: Document) -> None:
    if not document.is_installed:
        pytest.skip(f"{document.path} is not there: apt-get install {document.package}")
    await page.goto(document.path.as_uri())
    seen = set()
    for offset in sorted({await scroll(page, share): share for share in OFFSETS}.values()):
        await scroll(page, offset)
        nodes, rects = await read_slowly(cdp)
        for dialect, print_tree in DIALECTS.items():
            for viewport in (VIEWPORT, None):
                slow = print_tree(nodes, rects, viewport=viewport, label=Labels())
                observer = Observer(dialect=dialect, viewport=VIEWPORT, whole_page=viewport is None)
                fast = await observer.read(page, cdp)
                assert without_ids(fast.text) == without_ids(slow.text), (offset, dialect, viewport)
                where = places((one.node for one in fast.elements.values()), viewport)
                assert where == places(slow.shown.values(), viewport), (offset, dialect, viewport)
                seen.add(fast.text)
    assert max(map(len, seen)) > 1000
