"""The tabs of one context: which is current, which are on their way, and what happened to them.

New tabs opened by a page become current, as in a browser people use. When the current tab is closed the last one is
current, and there is always one. Dialogs are answered at once, because a page stands still while one is open.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any

from playwright.async_api import BrowserContext, CDPSession, Dialog, Download, Error, Page

from harness.browser.faults import Watch, crashed

_SAME_DOCUMENT = frozenset({"sameDocument", "historySameDocument"})
_STORAGE_EVENTS = (
    "domStorageItemAdded",
    "domStorageItemUpdated",
    "domStorageItemRemoved",
    "domStorageItemsCleared",
)
_BEGINS_WITHIN_S = 1.0
StorageListener = Callable[[str, Mapping[str, Any]], None]


class _Phase(Enum):
    REQUESTED = "by a page"
    EXPECTED = "by us"
    STARTED = "by the browser"


@dataclass(frozen=True, slots=True)
class _Move:
    """A frame's navigation that has not arrived yet."""

    url: str
    phase: _Phase
    at: float = field(default_factory=time.monotonic)


class Tab:
    """One page with its own DevTools session, and the navigations that are under way in it."""

    def __init__(self, page: Page, changed: asyncio.Event, stored: StorageListener) -> None:
        self.page = page
        self.commits = 0
        """Documents the main frame has gone through."""
        self.opening = 0
        """Tabs this page asked for that are not there yet."""
        self.told_ticking = -1
        """The commit count at which the agent was last told that the page changes by itself."""
        self._cdp: CDPSession | None = None
        self._main = ""
        self._moves: dict[str, _Move] = {}
        self._changed = changed
        self._stored = stored
        self._unreachable = ""

    @property
    def url(self) -> str:
        """Real address; that of the page asked for when Chromium shows its own page about why it is not there."""
        return self._unreachable or self.page.url

    @property
    def cdp(self) -> CDPSession:
        assert self._cdp is not None, "a tab is attached before it is used"
        return self._cdp

    @property
    def moving(self) -> str | None:
        """Address the main frame is on its way to."""
        self._expire()
        move = self._moves.get(self._main)
        return None if move is None else move.url

    @property
    def frames_moving(self) -> bool:
        self._expire()
        return bool(self._moves)

    async def attach(self) -> None:
        """Open the session and listen; once."""
        if self._cdp is not None:
            return
        cdp = await self.page.context.new_cdp_session(self.page)
        for event, listener in (
            ("frameRequestedNavigation", self._requested),
            ("frameScheduledNavigation", self._scheduled),
            ("frameClearedScheduledNavigation", self._cleared),
            ("frameStartedNavigating", self._started),
            ("frameNavigated", self._navigated),
            ("navigatedWithinDocument", self._navigated_within),
            ("frameStoppedLoading", self._stopped),
            ("frameDetached", self._detached),
            ("windowOpen", self._opened),
        ):
            cdp.on(f"Page.{event}", listener)
        for event in _STORAGE_EVENTS:
            cdp.on(f"DOMStorage.{event}", partial(self._stored, event))
        await cdp.send("DOMStorage.enable")
        await cdp.send("Page.enable")
        tree: Mapping[str, Any] = await cdp.send("Page.getFrameTree")
        self._main = tree["frameTree"]["frame"]["id"]
        self._cdp = cdp

    def expect_move(self, url: str) -> None:
        """A navigation was asked for from outside the page, and its events are still to come."""
        self._moves[self._main] = _Move(url, _Phase.EXPECTED)

    def give_up_moving(self) -> None:
        """Forget navigations that were stopped or never began."""
        self._moves.clear()
        self.opening = 0

    def _expire(self) -> None:
        """A request of a page that came to nothing (`mailto:`, a refused scheme) is told by no event."""
        limit = time.monotonic() - _BEGINS_WITHIN_S
        for frame, move in list(self._moves.items()):
            if move.phase is not _Phase.STARTED and move.at < limit:
                del self._moves[frame]

    def _requested(self, event: Mapping[str, Any]) -> None:
        if event["disposition"] == "currentTab":
            self._moves.setdefault(event["frameId"], _Move(event["url"], _Phase.REQUESTED))

    def _scheduled(self, event: Mapping[str, Any]) -> None:
        if event["delay"] < 1 and "#" not in event["url"]:
            self._moves.setdefault(event["frameId"], _Move(event["url"], _Phase.REQUESTED))

    def _cleared(self, event: Mapping[str, Any]) -> None:
        # Also sent right after the start of a navigation, which then stays.
        self._end(event["frameId"], _Phase.REQUESTED)

    def _started(self, event: Mapping[str, Any]) -> None:
        if event["navigationType"] not in _SAME_DOCUMENT:
            self._moves[event["frameId"]] = _Move(event["url"], _Phase.STARTED)

    def _navigated(self, event: Mapping[str, Any]) -> None:
        frame = event["frame"]
        if "parentId" not in frame:
            self.commits += 1
            self._unreachable = frame.get("unreachableUrl", "")
        self._end(frame["id"], *_Phase)

    def _navigated_within(self, event: Mapping[str, Any]) -> None:
        self._end(event["frameId"], _Phase.EXPECTED)

    def _stopped(self, event: Mapping[str, Any]) -> None:
        # A `pushState` tells this too, while the page may have just requested a navigation.
        self._end(event["frameId"], _Phase.STARTED)

    def _detached(self, event: Mapping[str, Any]) -> None:
        self._end(event["frameId"], *_Phase)

    def _end(self, frame: str, *phases: _Phase) -> None:
        if (move := self._moves.get(frame)) is not None and move.phase in phases:
            del self._moves[frame]
        self._changed.set()

    def _opened(self, _: Mapping[str, Any]) -> None:
        self.opening += 1


class Tabs:
    """All tabs of one context, in opening order."""

    def __init__(self, context: BrowserContext, watch: Watch, *, stored: StorageListener) -> None:
        """`stored` is told every change of a page's storage."""
        self.changed = asyncio.Event()
        """Set whenever something happened that a wait may be about."""
        self._context = context
        self._watch = watch
        self._stored = stored
        self._tabs: list[Tab] = []
        self._current: Tab | None = None
        self._own = 0
        self._notices: list[str] = []
        context.on("page", self._page_opened)
        context.on("dialog", self._answer)

    @property
    def all(self) -> tuple[Tab, ...]:
        return tuple(self._tabs)

    @property
    def current(self) -> Tab:
        assert self._current is not None, "there is always a tab once the first was opened"
        return self._current

    async def open(self) -> Tab:
        """Open a blank tab and make it current."""
        self._own += 1
        try:
            page = await self._context.new_page()
        finally:
            self._own -= 1
        tab = self._find(page) or self._adopt(page)
        await tab.attach()
        self._current = tab
        return tab

    async def focus(self, tab: Tab) -> None:
        await tab.attach()
        self._current = tab
        await tab.page.bring_to_front()

    async def close_current(self) -> None:
        """Close the current tab; the last remaining one, or a new blank one, takes its place."""
        await self.current.page.close()
        await self.ensure_current()

    async def ensure_current(self) -> Tab:
        """The current tab, attached; a new blank one when a page closed the last."""
        if self._current is None:
            return await self.open()
        if self._current.page.is_closed():
            self._page_closed(self._current)
            return await self.ensure_current()
        await self._current.attach()
        return self._current

    def notice(self, text: str) -> None:
        """Something to tell the agent with the next observation."""
        self._notices.append(text)

    def take_notices(self) -> tuple[str, ...]:
        notices = tuple(self._notices)
        self._notices.clear()
        return notices

    def _find(self, page: Page) -> Tab | None:
        return next((tab for tab in self._tabs if tab.page is page), None)

    def _adopt(self, page: Page) -> Tab:
        tab = Tab(page, self.changed, self._stored)
        self._tabs.append(tab)
        page.on("close", lambda _: self._page_closed(tab))
        page.on("crash", lambda _: self._watch.strike(f"the page {page.url} crashed"))
        page.on("download", self._refuse_download)
        return tab

    def _page_opened(self, page: Page) -> None:
        if self._find(page) is not None:
            return
        tab = self._adopt(page)
        if not self._own:
            for opener in self._tabs:
                opener.opening = max(0, opener.opening - 1)
            self._current = tab
            self.notice(f"a new tab was opened by the page and is now current: Tab {len(self._tabs) - 1}")
        self.changed.set()

    def _page_closed(self, tab: Tab) -> None:
        if tab in self._tabs:
            self._tabs.remove(tab)
        if self._current is tab:
            self._current = self._tabs[-1] if self._tabs else None
        self.changed.set()

    def _refuse_download(self, download: Download) -> None:
        self.notice(f"a download was refused: {download.url}")

    async def _answer(self, dialog: Dialog) -> None:
        answer = "dismissed" if dialog.type == "prompt" and not dialog.default_value else "accepted"
        self.notice(f"the page opened a dialog ({dialog.type}) saying {dialog.message!r}; it was {answer}")
        try:
            await (dialog.accept(dialog.default_value or None) if answer == "accepted" else dialog.dismiss())
        except Error as exc:
            # The page may be gone with its dialog; anything worse shows in the step itself.
            self.notice(str(crashed(exc, "answering a dialog")))
        self.changed.set()
