"""Frames for the pages of a browser that renders only when it is asked to (`browser.rendering=on_demand`).

A page that an action or an observation is about is given sixty frames a second, as a screen would; a page that nobody
looks at is given none, so its animations cost nothing. Its timers, scripts and requests go on.

Chromium takes the frames of all its pages for one sequence: a second one that begins before the first has ended makes
it end its graphics process. So there is one queue for a browser, in which a page whose script runs keeps the others
waiting, and each lane has a browser of its own.
Why: docs/decisions/browser.md#frames-on-demand-come-from-one-queue-per-browser
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import BrowserContext, CDPSession, Error, Page

from harness.browser.driver.cdp_send import sender
from harness.browser.driver.playwright_errors import first_line, gone

logger = logging.getLogger(__name__)

# The lifecycle state "frozen", a minimised window, --limit-fps=1 and paused virtual time do not stop animations.
SWITCHES = ("--enable-begin-frame-control", "--run-all-compositor-stages-before-draw")
"""Chromium's headless shell renders on demand with both; any other Chromium does not know the first."""
_EVERY_S = 1 / 60
_FIRST_WITHIN_S = 0.5
"""How long a page that is busy keeps an action waiting for the first frame."""


class FrameQueue:
    """The frames of one browser."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._asked: set[asyncio.Task[None]] = set()

    async def give(self, session: CDPSession) -> None:
        """One frame, as soon as it is this page's turn; it is given also when the caller is cancelled meanwhile."""
        self._asked.add(giving := asyncio.create_task(self._give(session)))
        giving.add_done_callback(self._asked.discard)
        giving.add_done_callback(_look_at)
        await asyncio.shield(giving)

    async def _give(self, session: CDPSession) -> None:
        # Two at a time end the graphics process ("overlapping IssueExternalBeginFrame"), and some of these the browser.
        async with self._turn:
            await sender(session)("HeadlessExperimental.beginFrame")


def _look_at(asked: "asyncio.Future[Any]") -> None:
    """What nobody waits for any more may fail."""
    if not asked.cancelled():
        asked.exception()


class ContextFrames:
    """The frames of the pages of one context: all of them or, as at the beginning, none."""

    def __init__(self, context: BrowserContext, queue: FrameQueue) -> None:
        self._context = context
        self._queue = queue
        self._is_awake = False
        self._sessions: dict[Page, CDPSession] = {}
        self._rendering: dict[Page, asyncio.Task[None]] = {}
        context.on("page", self._opened)

    async def wake(self) -> None:
        """Render from here on; pages that are not busy have been given a frame when this returns."""
        if self._is_awake:
            return
        self._is_awake = True
        first = [self._begin(page) for page in self._context.pages]
        if first:
            await asyncio.wait(first, timeout=_FIRST_WITHIN_S)

    def rest(self) -> None:
        """Render nothing any more."""
        self._is_awake = False
        for rendering in self._rendering.values():
            rendering.cancel()
        self._rendering.clear()

    @asynccontextmanager
    async def rendered(self, page: Page) -> AsyncIterator[None]:
        """Render one page for a look at it, also where nothing else is rendered; `rest` ends that, too."""
        if was_still := page not in self._rendering:
            self._begin(page)
        try:
            yield
        finally:
            if was_still and not self._is_awake:
                self._end(page)

    def _opened(self, page: Page) -> None:
        page.on("close", self._closed)
        if self._is_awake:
            self._begin(page)

    def _closed(self, page: Page) -> None:
        self._sessions.pop(page, None)
        self._end(page)

    def _end(self, page: Page) -> None:
        if (rendering := self._rendering.pop(page, None)) is not None:
            rendering.cancel()

    def _begin(self, page: Page) -> "asyncio.Future[None]":
        """Render this page; done with its first frame."""
        self._end(page)
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._rendering[page] = rendering = asyncio.create_task(self._render(page, first))
        rendering.add_done_callback(lambda _: first.cancel())
        return first

    async def _render(self, page: Page, first: "asyncio.Future[None]") -> None:
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            try:
                if (session := self._sessions.get(page)) is None:
                    session = self._sessions[page] = await self._context.new_cdp_session(page)
                await self._queue.give(session)
            except Error as exc:  # what is wrong with the page shows where it is used
                if gone(exc):
                    return
                logger.debug("a frame was not rendered: %s", first_line(exc))
            if not first.done():
                first.set_result(None)
            await asyncio.sleep(max(0.0, begun + _EVERY_S - loop.time()))
