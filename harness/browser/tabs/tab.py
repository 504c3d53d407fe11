"""One page, with a DevTools session of its own and its pending navigations.

A navigation is known from the moment anybody asks for it until it has arrived, failed or come to nothing: nothing is
observed in between. Only bookkeeping on events; waiting is `settling`'s.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from playwright.async_api import CDPSession, Error, Frame, Page

from harness.browser.driver.cdp_receive import fast_listener
from harness.browser.driver.cdp_send import sender
from harness.browser.network.sending import SendingWatch
from harness.browser.reading.document_client import WORLD, together
from harness.browser.reading.frames import FrameDocument
from harness.browser.tabs.storage import Feed, Storage
from harness.codec import JsonObject

if TYPE_CHECKING:
    from harness.browser.tabs.page_timers import PageTimer

_SAME_DOCUMENT = frozenset({"sameDocument", "historySameDocument"})
_BEGINS_WITHIN_S = 1.0
_OFFLINE = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
_SOURCE = """(() => {
    const of = (name) => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
    const doctype = of("doctype");
    const head = doctype ? new XMLSerializer().serializeToString(doctype) : "";
    return [of("title"), head + (of("documentElement")?.outerHTML ?? "")];
})()"""
"""By the prototype's own properties: fields of a form can take the names of the document's."""
_FIELDS = f"({files('harness.browser.tabs').joinpath('fields.js').read_text(encoding='utf-8')})()"


class _Phase(Enum):
    REQUESTED = "by a page"
    EXPECTED = "by us"
    STARTED = "by the browser"
    GIVEN_UP = "nobody waits for it"


@dataclass(frozen=True, slots=True)
class _Move:
    """A frame's navigation that has not arrived yet."""

    url: str
    phase: _Phase
    at: float = field(default_factory=lambda: asyncio.get_running_loop().time())


class Tab:
    """One page with its own DevTools session, and its pending navigations."""

    def __init__(
        self, page: Page, changed: asyncio.Event, storage: Storage, sending: SendingWatch | None = None
    ) -> None:
        self.page = page
        self.commits = 0
        """Documents the main frame has gone through."""
        self.opening = 0
        """Tabs this page asked for that are not there yet."""
        self.noticed_ticking = self.noticed_broken = -1
        """The commit counts of the last notices to the agent: that the page changes without input, and that it breaks
        our script.
        """
        self.timers: Sequence[PageTimer] = ()
        """Those that were pending when the page last settled."""
        self.frozen = False
        """Whether its scripts rest."""
        self._cdp: CDPSession | None = None
        self._attaching = asyncio.Lock()
        self._main = ""
        self._loader = ""
        self._moves: dict[str, _Move] = {}
        self._changed = changed
        self._storage = storage
        self._sending = sending
        self.feed: Feed | None = None
        """What its pages store; None = not attached yet."""
        self._unreachable = ""
        self._world: tuple[str, int] | None = None
        """Loader of a document and the execution context of our world in it."""

    @property
    def url(self) -> str:
        """Real address; that of the page asked for when Chromium shows its own page about why it is not there."""
        return self._unreachable or self.page.url

    @property
    def target(self) -> str:
        """Its id as a DevTools target, which is that of its main frame; "" before it is attached."""
        return self._main

    @property
    def cdp(self) -> CDPSession:
        assert self._cdp is not None, "a tab is attached before it is used"
        return self._cdp

    async def source(self) -> tuple[str, str]:
        """Title and HTML of the main frame's document, as playwright's `title` and `content` give them.

        Those send a third of a megabyte of script to a document first. Raises as `evaluate`.
        """
        world = await sender(self.cdp)("Page.createIsolatedWorld", frameId=self._main, worldName=WORLD)
        title, html = await self.evaluate(_SOURCE, contextId=world["executionContextId"])
        return title, html

    async def fields(self) -> str:
        """What the form fields of the main frame's document hold, see `Observation.fields`. Raises as `evaluate`."""
        return str(await self.evaluate_aside(_FIELDS))

    async def evaluate_aside(self, expression: str) -> Any:
        """Like `evaluate`, but in our world of the document: the page can neither see nor disturb it."""
        if self._world is None or self._world[0] != self._loader:
            world = await sender(self.cdp)("Page.createIsolatedWorld", frameId=self._main, worldName=WORLD)
            self._world = (self._loader, world["executionContextId"])
        try:
            return await self.evaluate(expression, contextId=self._world[1])
        except Error:
            self._world = None
            raise

    async def evaluate(self, expression: str, **where: int) -> Any:
        """The value of an expression, or what it promises, in the main frame's own world if `where` names no other.

        Raises:
            playwright.async_api.Error: It throws, or the page went elsewhere.
        """
        answer = await sender(self.cdp)(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, **where
        )
        if "exceptionDetails" in answer:
            raise Error(f"the page's own script gets in the way: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    @property
    def moving(self) -> str | None:
        """Address the main frame is on its way to."""
        self._expire()
        move = self._moves.get(self._main)
        return None if move is None else move.url

    @property
    def loaded_frames(self) -> list[Frame]:
        """The frames that can be asked, the main frame first. One whose first document is still to come runs no script,
        and playwright would wait for it; one that holds a document has an address, unless its navigation led nowhere.
        """
        # Playwright does not say which of its frames an event of DevTools is about, so it may be any without an
        # address.
        if not any(frame != self._main for frame in self._moves):
            return self.page.frames
        # A short limit for these frames would also cut off those that answer late on a busy machine.
        return [frame for frame in self.page.frames if frame.url or frame is self.page.main_frame]

    @property
    def frames_moving(self) -> bool:
        self._expire()
        return any(move.phase is not _Phase.GIVEN_UP for move in self._moves.values())

    @property
    def held(self) -> FrameDocument:
        """What the main frame holds."""
        return FrameDocument(self._main, self._loader)

    async def attach(self) -> None:
        """Open the session and listen; once."""
        async with self._attaching:
            if self._cdp is None:
                self._cdp = await self._attached()

    async def _attached(self) -> CDPSession:
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
            cdp.on(f"Page.{event}", fast_listener(listener))
        self.feed = Feed(cdp, self._storage)
        ask = sender(cdp)
        sending = [] if self._sending is None else [self._sending.attach(cdp)]
        # At the same time: a window took 2 ms longer to open when each waited for the one before.
        _, tree, *_ = await together(self.feed.begin(), ask("Page.getFrameTree"), ask("Page.enable"), *sending)
        self._main = tree["frameTree"]["frame"]["id"]
        self._loader = tree["frameTree"]["frame"]["loaderId"]
        return cdp

    async def freeze(self) -> None:
        """Let the page's scripts rest, so that it stays what it is while it is read."""
        self.frozen = True
        await self.cdp.send("Emulation.setScriptExecutionDisabled", {"value": True})

    async def thaw(self) -> None:
        if self.frozen:
            self.frozen = False
            await self.cdp.send("Emulation.setScriptExecutionDisabled", {"value": False})

    async def hold_back(self) -> None:
        """Let the page and its frames begin no request any more; what is on its way goes on, and all of it is known."""
        await self._told("Network.setBlockedURLs", {"urls": ["*"]})
        for frame in self.loaded_frames:
            # Playwright's own session has a queue of its own: its answer comes behind the events of what left before.
            await frame.title()

    async def cut_off(self) -> None:
        """Let nothing leave the page, its frames and workers any more. What is on its way fails here, though the site
        may have read it: `hold_back` comes first.
        """
        await self._told("Network.emulateNetworkConditions", _OFFLINE)

    async def empty(self) -> None:
        """Leave the document. Chromium lifts what was emulated a moment before it ends the page, and a page that still
        has its timers sends in that moment.
        """
        await self.cdp.send("Emulation.setScriptExecutionDisabled", {"value": True})  # nothing asks whether to leave
        await self.page.goto("about:blank")

    async def _told(self, method: str, params: JsonObject) -> None:
        await self.attach()
        await self.cdp.send(method, params)
        for frame in self.page.frames[1:]:
            with suppress(Error):  # it is of the page's own process
                session = await self.page.context.new_cdp_session(frame)
                await session.send(method, params)

    def expect_move(self, url: str) -> None:
        """A navigation was asked for from outside the page, and its events are still to come."""
        self._moves[self._main] = _Move(url, _Phase.EXPECTED)

    def give_up_moving(self) -> None:
        """Forget navigations that were stopped or never began."""
        self._moves.clear()
        self.opening = 0

    def give_up_frames(self) -> None:
        """Do not wait any more for the documents that frames are on their way to."""
        for frame, move in self._moves.items():
            if frame != self._main:
                # Kept on the list, by which `loaded_frames` knows that there are frames without a document.
                self._moves[frame] = _Move(move.url, _Phase.GIVEN_UP)

    def _expire(self) -> None:
        """No event reports a request of a page that came to nothing (`mailto:`, a refused scheme)."""
        limit = asyncio.get_running_loop().time() - _BEGINS_WITHIN_S
        for frame, move in list(self._moves.items()):
            if move.phase not in (_Phase.STARTED, _Phase.GIVEN_UP) and move.at < limit:
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
            self._loader = frame["loaderId"]
            self._unreachable = frame.get("unreachableUrl", "")
        self._end(frame["id"], *_Phase)

    def _navigated_within(self, event: Mapping[str, Any]) -> None:
        self._end(event["frameId"], _Phase.EXPECTED)

    def _stopped(self, event: Mapping[str, Any]) -> None:
        # A `pushState` tells this too, while the page may have just requested a navigation.
        self._end(event["frameId"], _Phase.STARTED, _Phase.GIVEN_UP)

    def _detached(self, event: Mapping[str, Any]) -> None:
        self._end(event["frameId"], *_Phase)

    def _end(self, frame: str, *phases: _Phase) -> None:
        if (move := self._moves.get(frame)) is not None and move.phase in phases:
            del self._moves[frame]
        self._changed.set()

    def _opened(self, _: Mapping[str, Any]) -> None:
        self.opening += 1
