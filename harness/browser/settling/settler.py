"""Waits until a page has processed an action: by conditions, never by a fixed time.

A tab is settled when no navigation is pending, no tab it requested is missing, no timer or task that its pages
scheduled is left (see settling.js), no request that can change it is open, and one frame has passed without a change.
The page may be read during that frame: `rested` then says whether the result is valid. A page that never settles is
left after `settle_timeout_s`, with a notice for the agent. An observation taken afterwards is never older than the
effects of the action.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any, NotRequired, TypedDict

from playwright.async_api import Error, Frame

from harness.browser.driver.playwright_errors import closed, gone, page_left
from harness.browser.network.traffic import Traffic
from harness.browser.reading.document_client import together
from harness.browser.tabs import page_timers
from harness.browser.tabs.tab import Tab
from harness.browser.tabs.tabs import Tabs
from harness.codec import dumps
from harness.errors import BrowserCrashed
from harness.settings.browser import BrowserSettings

INIT_SCRIPT = files("harness.browser.settling").joinpath("settling.js").read_text(encoding="utf-8")
WITH_ASKED_FRAMES = f"window.__cairnFrame = 2000;\n{INIT_SCRIPT}\ndelete window.__cairnFrame;"
"""Where each frame is asked for, which takes longer on a busy machine."""
_ASK = "(asked) => window.__cairn ? window.__cairn.quiet(...asked) : null"
_URLS = "() => window.__cairn ? window.__cairn.urls() : []"
_RESTED = "(ignored) => window.__cairn ? window.__cairn.rested(ignored) : true"
_ARRIVES = "the document"
"""What settling.js calls one that is still being parsed."""
# Each document has a whole settling time, which does not end a page that reloads itself for ever.
_MOST_DOCUMENTS = 10


class _FrameState(TypedDict):
    """What settling.js says of one frame."""

    busy: str
    """What it waits for; "" if for nothing."""
    ticking: bool
    requests: list[str]
    elements: NotRequired[int]
    due: NotRequired[Any]
    """See `page_timers`."""


_NOTHING_KNOWN: _FrameState = {"busy": "", "ticking": False, "requests": []}
_RETRY_S = 0.25
"""Upper bound of one wait for an event: an event that never comes must not cost more than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A tab that may be read."""

    tab: Tab
    commits: int
    """Documents it had gone through."""
    elements: int
    """Of the main document, as it says; 0 = unknown."""
    surely: bool
    """False: one frame without a change is still to pass."""
    arrives: bool
    """The document is still on its way, and may never be there whole."""


class Settler:
    """Settles the current tab of one context."""

    def __init__(self, tabs: Tabs, traffic: Traffic, settings: BrowserSettings) -> None:
        self._tabs = tabs
        self._traffic = traffic
        self._settings = settings
        # All frames of a page are late together, and Chromium refuses a second request to end the script of one page.
        self._interrupting: dict[Tab, asyncio.Task[None]] = {}
        self._origin: Tab | None = None
        self._elements = 0
        self._arrives = False
        self._ambient: dict[str, tuple[Tab, int]] = {}
        """Addresses (without query) whose requests outlasted a whole settling (long polls), and the documents in which
        they did; the document itself knows which of its requests these are.
        """

    async def forget_answered(self) -> None:
        """Before an action: an address is ambient as long as it is asked; a slow answer alone does not make it so."""
        if not self._ambient:
            return
        asked: set[str] = set()
        with suppress(Error, TimeoutError):  # where a page does not say, settling says so
            async with asyncio.timeout(_RETRY_S):
                for tab in self._tabs.all:
                    for urls in await together(*(_run(tab, frame, _URLS, None) for frame in tab.loaded_frames)):
                        asked.update(urls)
                self._ambient = {url: document for url, document in self._ambient.items() if url in asked}

    def watch(self, tab: Tab) -> None:
        """An action is about to begin in this tab; what it goes on to do counts, even in a tab it opens."""
        self._origin = tab

    async def settle(self) -> Tab:
        """Wait, and return the tab that is current then; see `reach`."""
        return (await self.reach()).tab

    async def reach(self, *, early: bool = False, meanwhile: Callable[[Tab], Awaitable[None]] | None = None) -> Settled:
        """Wait until the tab that is current then may be read.

        Args:
            early: Do not wait for the frame without a change; see `rested`.
            meanwhile: Begun when a document has arrived, while it settles.

        Raises:
            BrowserCrashed: The page's script lets nothing else run.
        """
        document: tuple[Tab, int] | None = None
        documents = 0
        deadline = 0.0
        while True:
            self._tabs.changed.clear()
            tab = await self._tabs.ensure_current()
            await self._arrive(tab)
            arrived = document != (tab, tab.commits)
            if arrived:  # every document has the whole time for itself
                document = (tab, tab.commits)
                documents += 1
                deadline = asyncio.get_running_loop().time() + self._settings.settle_timeout_s
            if documents > _MOST_DOCUMENTS:
                if tab.frozen:
                    return self._settled(tab, surely=True)
                self._tabs.notice("the page was still busy: it keeps reloading itself")
                await tab.freeze()
                documents = 0
            waits: list[Awaitable[Any]] = [self._quiet(tab, deadline, early=early)]
            if arrived and meanwhile is not None:
                waits.append(meanwhile(tab))
            busy = (
                (await together(*waits))[0]
                or await self._origin_quiet(tab, deadline)
                or await self._unfinished(tab, document, deadline)
            )
            if not busy:
                return self._settled(tab, surely=not early)
            if asyncio.get_running_loop().time() >= deadline and not tab.moving and not tab.opening:
                seconds = self._settings.settle_timeout_s
                self._tabs.notice(f"the page was still busy after {seconds:g} s (waiting for {busy})")
                tab.give_up_frames()  # what outlasted a whole settling is not waited for again
                return self._settled(tab, surely=True)

    def is_at(self, settled: Settled) -> bool:
        """Whether the current tab is still where it was."""
        tab = settled.tab
        return self._tabs.is_current(tab) and tab.commits == settled.commits and not tab.moving

    async def rested(self, settled: Settled) -> bool:
        """Whether what was settled early has since let a frame pass without a change, and nothing has begun."""
        if settled.surely:
            return True
        tab = settled.tab
        ignored = self._ignored(tab)
        try:
            # Without this frame, a page that draws in animation frames would be read before it has drawn.
            async with asyncio.timeout(self._settings.action_timeout_s):
                rested = await together(*(_run(tab, frame, _RESTED, ignored) for frame in tab.loaded_frames))
        except TimeoutError:
            return False  # a script that lets nothing else run; settling ends it
        except Error as exc:
            if gone(exc) and not closed(exc):
                raise
            return False  # it went elsewhere, or the page has broken our script; settling tells
        return all(rested) and not tab.opening and not tab.frames_moving and self._traffic.awaited() is None

    def _settled(self, tab: Tab, *, surely: bool) -> Settled:
        return Settled(tab=tab, commits=tab.commits, elements=self._elements, surely=surely, arrives=self._arrives)

    async def _arrive(self, tab: Tab) -> None:
        """Wait for the pending navigation and tabs; the server may be slow, within a timeout."""
        seconds = self._settings.navigation_timeout_s
        deadline = asyncio.get_running_loop().time() + seconds
        while (tab.moving or tab.opening) and not tab.page.is_closed() and self._tabs.is_current(tab):
            if asyncio.get_running_loop().time() >= deadline:
                where = tab.moving or "the new tab"
                self._tabs.notice(f"gave up waiting for {where}: no answer within {seconds:g} s")
                tab.give_up_moving()
                await tab.cdp.send("Page.stopLoading")
                return
            await self._event(deadline - asyncio.get_running_loop().time())

    async def _origin_quiet(self, tab: Tab, deadline: float) -> str:
        origin = self._origin
        if origin is None or origin is tab or origin.page.is_closed():
            return ""
        self._origin = None
        await self._quiet(origin, deadline, early=False)
        return "a new tab"  # look again at the tab itself: it may have been sent somewhere by its opener

    async def _unfinished(self, tab: Tab, document: tuple[Tab, int] | None, deadline: float) -> str:
        """What began or is still open beside the document's own scripts."""
        if not self._tabs.is_current(tab) or tab.page.is_closed() or tab.opening:
            return "a tab"
        if tab.moving or document != (tab, tab.commits):
            return "a new page"
        left = deadline - asyncio.get_running_loop().time()
        if tab.frames_moving:
            await self._event(left)
            return "a frame"
        if (waiting := self._traffic.awaited()) is not None:
            await self._event(min(waiting, left))
            return "a request"
        return ""

    async def _event(self, limit_s: float) -> None:
        """Wait for anything to happen in the context."""
        try:
            async with asyncio.timeout(max(0.0, min(limit_s, _RETRY_S))):
                await self._tabs.changed.wait()
        except TimeoutError:
            pass
        self._tabs.changed.clear()

    async def _quiet(self, tab: Tab, deadline: float, *, early: bool) -> str:
        """What the tab's frames still wait for when the time is over; "" = they are quiet."""
        document = tab.commits
        answers = await together(*(self._ask(tab, frame, deadline, early=early) for frame in tab.loaded_frames))
        if not answers or answers[0] is None:
            return "a new page"
        due = [answer.get("due") for answer in answers if answer]
        tab.timers = [timer for one in due for timer in page_timers.parsed(one, page=tab.page, document=document)]
        self._elements = answers[0].get("elements", 0)
        self._arrives = answers[0]["busy"] == _ARRIVES
        known = [answer for answer in answers if answer]
        busy = next((str(answer["busy"]) for answer in known if answer["busy"]), "")
        if busy:
            self._ambient |= {url: (tab, document) for answer in known for url in answer["requests"]}
        elif any(answer["ticking"] for answer in known) and tab.noticed_ticking != tab.commits:
            tab.noticed_ticking = tab.commits
            self._tabs.notice("the page was still busy: it keeps changing on its own")
        return busy

    async def _ask(self, tab: Tab, frame: Frame, deadline: float, *, early: bool) -> _FrameState | None:
        """One frame's answer; None when it went away meanwhile, or runs no script."""
        budget = max(0.0, deadline - asyncio.get_running_loop().time())
        try:
            async with asyncio.timeout(budget + self._settings.action_timeout_s):
                answer = await self._answer(tab, frame, [budget * 1000, self._ignored(tab), early])
                return answer or _NOTHING_KNOWN
        except TimeoutError:
            # One on its way elsewhere may answer nothing before it is there, or given up; a new frame nothing yet.
            if not tab.moving and (frame.url or frame is tab.page.main_frame):
                await self._interrupt(tab)
            return None
        except Error as exc:
            if page_left(exc):
                return None
            raise

    def _ignored(self, tab: Tab) -> list[str]:
        return sorted(url for url, document in self._ambient.items() if document != (tab, tab.commits))

    async def _answer(self, tab: Tab, frame: Frame, asked: list[Any]) -> Any:
        """State reported by settling.js; if the page broke it, a fallback read outside the page's world."""
        try:
            return await _run(tab, frame, _ASK, asked)
        except Error as exc:
            if page_left(exc) or gone(exc):
                raise
        if frame is not tab.page.main_frame:
            return None
        if tab.noticed_broken != tab.commits:
            tab.noticed_broken = tab.commits
            self._tabs.notice(
                "a script of the page prevents tracking its timers and requests; later changes may be missed"
            )
        # To save all built-in functions beforehand would slow down every page because of a few.
        return await tab.evaluate_aside(f"{INIT_SCRIPT}\n({_ASK})({dumps(asked).decode()})")

    async def _interrupt(self, tab: Tab) -> None:
        """End a script that lets nothing else run, so that the page can at least be looked at."""
        if (ending := self._interrupting.get(tab)) is None:
            ending = self._interrupting[tab] = asyncio.create_task(self._end_script(tab))
            ending.add_done_callback(partial(self._interrupted, tab))
        await asyncio.shield(ending)

    def _interrupted(self, tab: Tab, ending: "asyncio.Task[None]") -> None:
        del self._interrupting[tab]
        if not ending.cancelled():
            ending.exception()  # all who waited may have been cancelled

    async def _end_script(self, tab: Tab) -> None:
        try:
            async with asyncio.timeout(self._settings.action_timeout_s):
                await tab.cdp.send("Runtime.terminateExecution")
                await tab.evaluate("1")
        except TimeoutError:
            raise BrowserCrashed("a script of the page blocks the page") from None
        self._tabs.notice("a script of the page did not end and was stopped")


async def _run(tab: Tab, frame: Frame, function: str, argument: Any) -> Any:
    """What a function of a frame's own world returns, or promises."""
    if frame is tab.page.main_frame:
        return await tab.evaluate(f"({function})({dumps(argument).decode()})")
    return await frame.evaluate(function, argument)
