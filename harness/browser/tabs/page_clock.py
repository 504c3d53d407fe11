"""The time of the pages of one context, which stands still while nobody acts or looks (`browser.time=stopped`).

A script in every frame holds clocks, timers and frame callbacks (page_clock.js); Chromium holds animations and
transitions. So it is the same in every Chromium, with a window or without. Requests under way go on, and so does what
has a clock of its own: sites, workers, videos, web sockets.
Why: docs/decisions/browser.md#stopped-time-is-a-script-in-each-frame
"""

import asyncio
from collections.abc import Awaitable
from contextlib import AsyncExitStack, suppress
from importlib.resources import files
from typing import Any
from weakref import WeakKeyDictionary

from playwright.async_api import BrowserContext, CDPSession, Error, Frame

from harness.browser.driver.cdp_send import sender
from harness.browser.reading.document_client import together
from harness.browser.tabs.page_timers import loop_time
from harness.browser.tabs.tab import Tab
from harness.browser.tabs.tabs import Tabs

# Playwright's clock makes a timer of requestAnimationFrame, and so of the frame that settling waits for.
_SCRIPT = files("harness.browser.tabs").joinpath("page_clock.js").read_text(encoding="utf-8")


class PageClock:
    """Stops and starts the time of all pages."""

    def __init__(self, context: BrowserContext, tabs: Tabs, *, limit_s: float) -> None:
        """`limit_s`: how long a page may take to answer; the time of one that takes longer goes on."""
        self._context = context
        self._tabs = tabs
        self._limit_s = limit_s
        self._stood_s = 0.0
        self._since: float | None = None
        """By the loop's clock; None = time goes on."""
        self._told = AsyncExitStack()
        """What new documents are told, until they are told something else."""
        self._telling: asyncio.Task[None] | None = None
        """Tells them, one after the other."""
        self._apart: WeakKeyDictionary[Frame, tuple[str, CDPSession | None]] = WeakKeyDictionary()
        """Address of a frame, and its session if it is of another process than its page."""

    @property
    def stood_s(self) -> float:
        """For how long time has stood still, in all."""
        return self._stood_s + (0.0 if self._since is None else loop_time() - self._since)

    async def begin(self) -> None:
        """Before any other script of the context is added."""
        # Not in workers: their scripts come from the network, and a wrapper would change their address.
        await self._context.add_init_script(_SCRIPT)

    async def stop(self) -> None:
        if self._since is None:
            self._since = loop_time()
            await self._tell("stop", rate=0.0)

    async def go(self) -> None:
        if self._since is not None:
            self._stood_s, self._since = self.stood_s, None
            await self._tell("go", rate=1.0)

    async def _tell(self, what: str, *, rate: float) -> None:
        # How long time has stood still in all, so that the clock does not jump from page to page.
        state = f"{self.stood_s * 1000:.0f}, {'true' if self._since is not None else 'false'}"
        self._telling = asyncio.create_task(self._tell_new(f"window.__cairnClock?.begin({state})", self._telling))
        try:
            async with asyncio.timeout(self._limit_s):
                await together(
                    # Goes on after the limit: what new documents were told before would be told to them for ever.
                    asyncio.shield(self._telling),
                    *(_heard(self._tell_tab(tab, what, rate)) for tab in self._tabs.all),
                )
        except TimeoutError:
            self._tabs.notice("a page did not respond, and its time may not have been stopped")

    async def _tell_new(self, script: str, earlier: asyncio.Task[None] | None) -> None:
        if earlier is not None:
            await asyncio.wait([earlier])
        before, self._told = self._told, AsyncExitStack()
        with suppress(Error):  # the browser is gone, which shows where it is used
            await self._told.enter_async_context(await self._context.add_init_script(script))
            # Last, so that a document that comes meanwhile is told by one of the two scripts at least.
            await before.aclose()

    async def _tell_tab(self, tab: Tab, what: str, rate: float) -> None:
        if not tab.target:  # it opens; its documents are told as they come
            return
        await together(
            _heard(tab.evaluate(f"window.__cairnClock?.{what}()")),
            _heard(sender(tab.cdp)("Animation.setPlaybackRate", playbackRate=rate)),
            *(_heard(self._tell_frame(frame, what, rate)) for frame in tab.loaded_frames[1:]),
        )

    async def _tell_frame(self, frame: Frame, what: str, rate: float) -> None:
        await frame.evaluate(f"window.__cairnClock?.{what}()")
        if (session := await self._session(frame)) is not None:
            await sender(session)("Animation.setPlaybackRate", playbackRate=rate)

    async def _session(self, frame: Frame) -> CDPSession | None:
        known = self._apart.get(frame)
        if known is None or known[0] != frame.url:
            try:
                found: CDPSession | None = await self._context.new_cdp_session(frame)
            except Error:  # it is of its page's process, and heard of the page's animations
                found = None
            self._apart[frame] = known = frame.url, found
        return known[1]


async def _heard(call: Awaitable[Any]) -> None:
    with suppress(Error):  # it goes elsewhere, or away
        await call
