"""One browser context for one episode: its tabs, its allowed addresses, and the objects that act on it and observe it.

A context reuses nothing of an earlier one. Observations contain canonical addresses; requests go to real ones.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from playwright.async_api import Browser, BrowserContext, Error, ProxySettings

from harness.actions import Action, Box, Target
from harness.actions.truncate import cut
from harness.browser import text_limits
from harness.browser.acting.action_executor import ActionExecutor
from harness.browser.acting.clipboard import BrowserClipboard, Clipboard
from harness.browser.driver.devtools_pipe import DevToolsPipe
from harness.browser.driver.frame_queue import ContextFrames, FrameQueue
from harness.browser.driver.memory_watch import MemoryWatch
from harness.browser.driver.playwright_errors import Deadline, misfit, page_left
from harness.browser.marks.marks import find_marks
from harness.browser.network.addresses import Addresses
from harness.browser.network.allowlist import Allowlist
from harness.browser.network.sending import SendingWatch
from harness.browser.network.traffic import Traffic
from harness.browser.page_settings import PageSettings
from harness.browser.reading.document_client import together
from harness.browser.reading.frames import ReadHints
from harness.browser.reading.seen_element import ElementReader
from harness.browser.rendering.observer import Observer, RenderedPage
from harness.browser.rendering.similarity import fingerprint, renamed, with_ids
from harness.browser.settling.settler import INIT_SCRIPT, WITH_ASKED_FRAMES, Settled, Settler
from harness.browser.tabs import page_timers
from harness.browser.tabs.page_clock import PageClock
from harness.browser.tabs.screenshot import MISSING, glance, take_screenshot
from harness.browser.tabs.storage import Storage
from harness.browser.tabs.tab import Tab
from harness.browser.tabs.tabs import Tabs
from harness.browser.visit_policy import NO_VISITS, BrowserVisits
from harness.errors import ActionFailed, BrowserCrashed
from harness.records import Done, LiveObservation, Observation, Outcome, Refused, Site, TabRecord, Unknown

logger = logging.getLogger(__name__)

_LOOKS = 3
_TITLE_S = 2.0
_UNDONE_WITHIN_S = 2.0
_MARKED_WITHIN_S = 2.0
"""A page that takes longer to say where its elements are is looked at again."""
_GLANCES_WITHIN_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteBinding:
    """The addresses of a window's sites."""

    number: int
    sites: tuple[Site, ...]
    addresses: Addresses
    guard: Allowlist
    proxy: ProxySettings
    """For its context."""
    ended_process: Callable[[], Awaitable[Callable[[], str]]]
    """See `ProcessWatch.now`."""
    memory: MemoryWatch | None
    """Ends pages of its browser that take too much memory; None = nothing does."""
    clipboard: BrowserClipboard
    visits: BrowserVisits = NO_VISITS
    """What pages its browser may open beside the sites."""
    devtools: DevToolsPipe | None = None
    """Where a process drives the browser beside us."""
    frames: FrameQueue | None = None
    """Of a browser that renders on demand; None = it renders by itself."""


class BrowserSession:
    """An open context with at least one tab."""

    def __init__(
        self,
        context: BrowserContext,
        lane: SiteBinding,
        *,
        pages: PageSettings,
        state: "InitialState",
        watch: Deadline,
    ) -> None:
        settings = pages.browser
        self.context = context
        self.lane = lane
        self.settings = settings
        self.storage = Storage(context, lane.addresses, initial=state.storage)
        self.tabs = Tabs(context, watch, self.storage, state.sending)
        self.traffic = Traffic(
            context,
            lane.addresses,
            guard=lane.guard,
            limit_s=settings.settle_timeout_s,
            tabs=self.tabs,
        )
        self.clipboard = Clipboard(lane.clipboard)
        self.actor = ActionExecutor(self.tabs, lane.addresses, guard=lane.guard, pages=pages, clipboard=self.clipboard)
        self.settler = Settler(self.tabs, self.traffic, settings)
        self._frames = None if lane.frames is None else ContextFrames(context, lane.frames)
        limit_s = settings.action_timeout_s
        self._clock = PageClock(context, self.tabs, limit_s=limit_s) if settings.stops_time else None
        self._pages = pages
        self._elements = ElementReader()
        # With pictures only, a tree is read all the same: replays and reports need text to compare and to show.
        self._observer = Observer(
            dialect=pages.observation.dialect.value, viewport=settings.viewport, html=pages.html, tree=pages.tree
        )
        self._body: RenderedPage | None = None
        """What the agent last saw."""
        self._seen: Tab | None = None
        """The tab that was read for it."""
        self._is_cut_off = False

    @classmethod
    async def open(
        cls, browser: Browser, lane: SiteBinding, *, pages: PageSettings, state: "InitialState", watch: Deadline
    ) -> "BrowserSession":
        """A fresh context with one blank tab.

        Args:
            watch: Called when a page of it crashes.
        """
        settings = pages.browser
        width, height = settings.viewport
        context = await browser.new_context(
            viewport={"width": width, "height": height},
            device_scale_factor=1,
            locale=settings.locale,
            timezone_id=settings.timezone,
            color_scheme="light",
            reduced_motion="reduce",
            service_workers="block",
            accept_downloads=False,
            proxy=lane.proxy,
            storage_state=state.storage,
            geolocation=state.geolocation,
            permissions=["geolocation"] if state.geolocation else None,
        )
        # A window that fails to open must not leave its context behind.
        async with AsyncExitStack() as undo:
            undo.push_async_callback(_close, context)
            context.set_default_timeout(settings.action_timeout_s * 1000)
            window = cls(context, lane, pages=pages, state=state, watch=watch)
            undo.callback(window.render_nothing)
            if window._clock is not None:
                await window._clock.begin()
            await context.add_init_script(INIT_SCRIPT if lane.frames is None else WITH_ASKED_FRAMES)
            await window.wake()
            try:
                await window.tabs.open()
            except Error as exc:
                # Chromium decides: the system's list of timezones is another one, and absent in small containers.
                if (wrong := misfit(exc, locale=settings.locale, timezone=settings.timezone)) is not None:
                    raise wrong from exc
                raise
            watch.ended = await lane.ended_process()
            if lane.memory is not None:
                watch.memory = lane.memory.recent_reason
            undo.pop_all()
        return window

    async def wake(self) -> None:
        """Somebody is about to act on the pages, or to look at them."""
        if self._frames is not None:
            await self._frames.wake()
        if self._clock is not None:
            await self._clock.go()

    async def rest(self) -> None:
        """Nobody is interested in the pages until `wake`: see `browser.rendering` and `browser.time`."""
        self.render_nothing()
        if self._clock is not None:
            await self._clock.stop()

    def render_nothing(self) -> None:
        if self._frames is not None:
            self._frames.rest()

    @property
    def stood_s(self) -> float:
        """For how long the time of the pages has stood still."""
        return 0.0 if self._clock is None else self._clock.stood_s

    async def glance(self) -> bytes | None:
        """See `WatchableEnvironment`."""
        if (tab := self._current()) is None:
            return None
        async with nullcontext() if self._frames is None else self._frames.rendered(tab.page), self._picturing():
            return await glance(tab, limit_s=_GLANCES_WITHIN_S)

    def _picturing(self) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self.lane.memory is None else self.lane.memory.picture()

    async def is_at_password(self) -> bool:
        """See `WatchableEnvironment`."""
        seen = None if (tab := self._current()) is None else await self._elements.read(tab, None)
        return seen is not None and seen.kind == "password"

    def _current(self) -> Tab | None:
        try:
            return self.tabs.current
        except Error:  # the last one has been closed, and the next one is not open yet
            return None

    async def perform(self, action: Action) -> Outcome:
        """Do it; what cannot be done is an outcome, and a notice for the agent."""
        tab = await self.tabs.ensure_current()
        await self.settler.forget_answered()
        self.action_begins()

        async def unblock() -> None:
            await self.settler.settle()
            self.settler.watch(tab)

        try:
            # Another tab may have become current since: the ids that were seen are those of other elements there.
            body = self._body if tab is self._seen else None
            is_whole = await self.actor.perform(action, body, unblock=unblock)
        except ActionFailed as exc:
            why = cut(self.lane.addresses.to_canonical(str(exc)), text_limits.MAX_NOTICE_CHARS)
            self.tabs.notice(f"the action was refused: {why}")
            return Refused(why=why)
        return Done() if is_whole else Unknown(why=CUT)

    def action_begins(self) -> None:
        """What pages do from here on may be of the action that comes."""
        self.settler.watch(self.tabs.current)
        self.traffic.action_begins()

    async def arrive(self) -> Tab:
        """Settle as far as an observation needs it, which waits for the rest; see `Settler.reach`."""
        return (await self.settler.reach(early=True, meanwhile=self._prepare)).tab

    async def look(self, *, image: bool = False, recorded: Observation | None = None) -> LiveObservation:
        """Settle, and observe the current tab.

        Args:
            recorded: What was seen here before; its elements get their ids back.

        Raises:
            BrowserCrashed: The page cannot be read.
        """
        body: RenderedPage | None = None
        for look in range(_LOOKS):
            # Only the first look reads during the last frame: what that frame has changed is waited for.
            settled = await self.settler.reach(early=look == 0, meanwhile=self._prepare)
            tab = settled.tab
            try:
                # Read while the frame passes that shows the page to be at rest, and again if that frame changed it:
                # waiting for it first took 20 ms a step.
                body, rested, fields, html, *_ = await together(
                    self._observer.read(tab.page, tab.cdp, ReadHints(tab.held, settled.elements)),
                    self.settler.rested(settled),
                    tab.fields(),
                    self._html(tab),
                    self.storage.refresh(),
                    *(one.feed.refresh() for one in self.tabs.all if one.feed is not None),
                )
                self._seen = tab
                tabs = await self._tab_records(body)
                picture = await self._picture(settled, body) if image else _NO_PICTURE
                await tab.thaw()
            except Error as exc:
                if page_left(exc):
                    continue
                raise
            if rested and self.settler.is_at(settled) and picture.marks is not None:
                break
        else:
            if body is None:
                url = self.lane.addresses.to_canonical(tab.page.url)
                raise BrowserCrashed(f"{url} navigates away whenever it is observed")
            tabs, picture = await self._tab_records(body), await self._picture(settled, body) if image else _NO_PICTURE
        if image and picture.image is None:
            self.tabs.notice(MISSING)
        elif picture.marks is None:
            self.tabs.notice(UNMARKED)
        view = self._view(body, tabs, picture)
        return self._recognized(
            replace(view, observation=replace(view.observation, fields=fields), html=html), recorded
        )

    async def plain_link(self, target: Target) -> str:
        """Canonical address that a click on this element of the last view opens, and nothing else; "" = unknown."""
        assert self._body is not None
        return self.lane.addresses.to_canonical(await self.actor.plain_link(target, self._body))

    def reserve_ids(self, used: Collection[str]) -> None:
        """See `Observer.reserve`."""
        self._observer.reserve(used)

    async def cut_off_tabs(self) -> None:
        """Let nothing leave the tabs that are open any more, and wait for the answers to what has left them. Tabs that
        are opened later are not concerned.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(_UNDONE_WITHIN_S):
                await together(*(_if_open(tab.hold_back()) for tab in self.tabs.all))
        # Chromium fails what is on its way when a tab is cut off, although the site may have read it.
        await self.traffic.effects_answered()
        with suppress(TimeoutError):
            async with asyncio.timeout(_UNDONE_WITHIN_S):
                await together(*(_if_open(tab.cut_off()) for tab in self.tabs.all))

    async def cut_off(self) -> None:
        """Let nothing leave the browser any more; a page whose script never ends cannot be reached, and sends nothing
        either.
        """
        await self.cut_off_tabs()
        with suppress(TimeoutError):
            async with asyncio.timeout(_UNDONE_WITHIN_S):
                # This also holds for tabs that are opened from here on.
                await self.context.set_offline(True)
        self._is_cut_off = True

    async def close(self) -> None:
        if self._is_cut_off:
            with suppress(TimeoutError, Error):
                async with asyncio.timeout(_UNDONE_WITHIN_S):
                    await together(*(tab.empty() for tab in self.tabs.all))
        self.render_nothing()
        await self.context.close()
        self.clipboard.close()  # after the context, whose pages may still take keys

    def _view(self, body: RenderedPage, tabs: tuple[TabRecord, ...], picture: "_Picture") -> LiveObservation:
        shown = self.lane.addresses.to_canonical
        if body.torn:
            self.tabs.notice("the page kept changing while it was read; the observation may mix two of its states")
        raw = body.text
        canonical = shown(raw)
        text = f"{tab_header(tabs)}\n\n{text_limits.truncate_observation(canonical)}"
        nodes = {id: one.node for id, one in body.elements.items()}
        if canonical != raw:  # what histories quote and replays look for must not depend on the deployment either
            nodes = {id: replace(node, name=shown(node.name), line=shown(node.line)) for id, node in nodes.items()}
        current = next(tab for tab in tabs if tab.current)
        self._body = body
        return LiveObservation(
            observation=Observation(
                url=current.url,
                title=current.title,
                tabs=tabs,
                text=text,
                fingerprint=fingerprint(current.url, tabs, text),
                notices=tuple(
                    shown(text_limits.well_formed(notice))
                    for notice in self.tabs.take_notices() + self.traffic.take_notices()
                ),
            ),
            nodes=nodes,
            image=picture.image,
            marks=picture.marks or {},
            timers=page_timers.recorded(self.tabs.all),
        )

    def _recognized(self, view: LiveObservation, recorded: Observation | None) -> LiveObservation:
        """The view under the ids that its elements have in the record."""
        body = self._body
        assert body is not None
        if recorded is None:
            self._observer.confirm(body)
            return view
        became = self._observer.recognize(body, view.observation.text, recorded.text)
        if all(id == final for id, final in became.items()):
            return view
        self._body = replace(body, elements=with_ids(body.elements, became))
        observation = replace(view.observation, text=renamed(view.observation.text, became))
        marks = with_ids(view.marks, became)
        return replace(view, observation=observation, nodes=with_ids(view.nodes, became), marks=marks)

    async def _prepare(self, tab: Tab) -> None:
        await self._observer.prepare(tab.cdp, tab.held)

    async def _tab_records(self, body: RenderedPage) -> tuple[TabRecord, ...]:
        shown = self.lane.addresses.to_canonical
        current = self.tabs.current

        async def record(tab: Tab) -> TabRecord:
            is_read = tab is current and body.title is not None
            title = text_limits.well_formed(body.title or "") if is_read else await _title(tab)
            title = cut(shown(title), text_limits.MAX_TITLE_CHARS)
            return TabRecord(url=text_limits.truncate_url(shown(tab.url)), title=title, current=tab is current)

        return tuple(await together(*map(record, self.tabs.all)))

    async def _picture(self, settled: Settled, body: RenderedPage) -> "_Picture":
        # A picture may be tried in two ways, which together have the time of an action.
        limit_s = self.settings.action_timeout_s / 2
        # A marked picture costs 1.3 times a plain one when it is taken quickly, and 1.6 times otherwise.
        async with self._picturing():
            taking = take_screenshot(settled.tab, limit_s=limit_s, arrives=settled.arrives, quick=self._pages.marks)
            if not self._pages.marks:
                return _Picture(await taking, {})
            image, marks = await together(taking, self._marks(body))
        return _Picture(image, marks if image is not None else {})

    async def _html(self, tab: Tab) -> str | None:
        if not self._pages.observation.keep_html:
            return None
        try:
            _, html = await tab.source()
        except Error as exc:
            if page_left(exc):
                raise
            return None
        return cut(text_limits.well_formed(self.lane.addresses.to_canonical(html)), text_limits.MAX_HTML_CHARS)

    async def _marks(self, body: RenderedPage) -> dict[str, Box] | None:
        try:
            async with asyncio.timeout(_MARKED_WITHIN_S):
                return await find_marks(body, self.settings.viewport)
        except TimeoutError:
            why = f"not within {_MARKED_WITHIN_S:g} s"
        except Error as exc:
            if page_left(exc):
                raise
            why = str(exc)
        logger.warning("a page has no marks: %s", why)
        return None


class _Picture(NamedTuple):
    image: bytes | None
    marks: Mapping[str, Box] | None
    """None = the page did not say where its elements are."""


CUT = "the page took no more input; a part of the action may have had no effect. Check the page before you repeat it."
UNMARKED = "there are no marks: the page did not say in time where its elements are"
_NO_PICTURE = _Picture(None, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialState:
    """What a context begins with."""

    storage: Any = None
    """Cookies and local storage in playwright's shape, real addresses."""
    geolocation: Any = None
    sending: SendingWatch | None = None
    """See `Tabs.sending`."""


async def _if_open(asked: Awaitable[None]) -> None:
    try:
        await asked
    except Error as exc:
        if not page_left(exc):
            raise


async def _close(context: BrowserContext) -> None:
    """Close a window that could not be opened; a browser that cannot open one may fail here, too."""
    with suppress(TimeoutError, Error):
        async with asyncio.timeout(_UNDONE_WITHIN_S):
            await context.close()


def tab_header(tabs: Sequence[TabRecord]) -> str:
    """The first line of an observation, as WebArena writes it."""
    return " | ".join(f"Tab {n}{' (current)' if tab.current else ''}: {tab.title}" for n, tab in enumerate(tabs))


async def _title(tab: Tab) -> str:
    """The tab's title; "" while it is between two documents or a script holds it up."""
    try:
        async with asyncio.timeout(_TITLE_S):
            return text_limits.well_formed(await tab.page.title())
    except TimeoutError:
        return ""
    except Error as exc:
        if page_left(exc):
            return ""
        raise
