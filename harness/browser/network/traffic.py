"""The network requests of the pages of one context: which are pending, and which may change a site.

Bookkeeping on events only: no request is delayed.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from playwright.async_api import BrowserContext, Error, Page, Request, Response

from harness.browser.driver.cdp_receive import fast_listener
from harness.browser.network.addresses import Addresses
from harness.browser.network.allowlist import FAILED_BY_PROXY, Allowlist
from harness.browser.network.sending import NO_CONNECTION
from harness.browser.tabs.tabs import Tabs
from harness.browser.text_limits import MAX_EFFECTS, Notices, truncate_url
from harness.records import SideEffect

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
AWAITED = frozenset({"document", "script", "stylesheet", "image", "font"})
"""Kinds of request a settled page has none of; the page itself follows `fetch` and XHR."""
SOFT = frozenset({"image", "font"})
_HELD_BACK = frozenset({"inspector", "net::ERR_INTERNET_DISCONNECTED"})
"""How requests fail that `BrowserSession.cut_off_tabs` and `cut_off` keep in the browser."""
_BROKEN = 500
"""Statuses from here on are the server's own failures."""
SOFT_S = 1.5
"""Pictures and fonts change no text: they are waited for this long at most."""
_LOCAL = ("blob:", "data:")
"""Addresses that the browser answers itself, at once. Playwright does not report the end of each such request."""


@dataclass(slots=True, eq=False)
class SentEffect:
    """A request that may change a site, as far as it has got by now."""

    method: str
    url: str
    """Real."""
    by_load: bool
    """See `SideEffect.by_load`."""
    status: int | None = None
    refused: bool = False
    is_over: bool = False
    """It was answered, or has failed."""


class Traffic:
    """Listens to one context."""

    def __init__(
        self,
        context: BrowserContext,
        addresses: Addresses,
        *,
        guard: Allowlist,
        limit_s: float,
        tabs: Tabs,
    ) -> None:
        """`limit_s`: a request open for longer is not waited for. `tabs` hear whenever one has ended."""
        self.listener: Callable[[SentEffect], None] | None = None
        """Is given each effect as it begins, in the place of `take_effects`, and once more when it is over."""
        self._addresses = addresses
        self._guard = guard
        self._limit_s = limit_s
        self._tabs = tabs
        self._before: Mapping[Page, int] = {}
        """Documents when the action at hand began."""
        self._begun_since = 0
        """Requests since then."""
        self._under_way: dict[Request, float] = {}
        self._effects: dict[Request, SentEffect] = {}
        self._unanswered: dict[Request, SentEffect] = {}
        """Effects whose answer is still to come, taken or not."""
        self._is_recording = True
        self._changed_effects = asyncio.Event()
        self._blocked: list[str] = []
        self._lost: list[str] = []
        self._refused: list[str] = []
        # Playwright's events: five messages for a request. Chromium's own would be seven and larger, and a page's word
        # for what it still sends cannot be believed.
        context.on("request", fast_listener(self._begun))
        context.on("response", fast_listener(self._answered))
        context.on("requestfinished", fast_listener(self._ended))
        context.on("requestfailed", self._failed)

    def action_begins(self) -> None:
        """What is sent from here on is of the action, or of pages that it leads to."""
        self._before = self._tabs.documents()
        self._begun_since = 0
        if self._tabs.sending is not None:
            self._tabs.sending.action_begins()

    def sent_nothing(self) -> bool:
        """Whether it is known that no request since the action began was written to a connection, and one was tried."""
        sending = self._tabs.sending
        return sending is not None and sending.sent_nothing(self._begun_since)

    def awaited(self) -> float | None:
        """Seconds for which a pending request is still worth waiting for; None = there is none."""
        now = asyncio.get_running_loop().time()
        left = [
            begun + (SOFT_S if request.resource_type in SOFT else self._limit_s) - now
            for request, begun in self._under_way.items()
        ]
        return max((seconds for seconds in left if seconds > 0), default=None)

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Requests begun meanwhile are the harness's own, a login's for instance, and no effects."""
        self._is_recording = False
        try:
            yield
        finally:
            self._is_recording = True

    async def effects_begun(self) -> None:
        """Wait until there is something to take."""
        while not self._effects:
            self._changed_effects.clear()
            await self._changed_effects.wait()

    async def effects_answered(self) -> None:
        """Wait until every effect has had its answer, or failed; no longer than a request is waited for."""
        try:
            async with asyncio.timeout(self._limit_s):
                while self._unanswered:
                    self._changed_effects.clear()
                    await self._changed_effects.wait()
        except TimeoutError:
            return

    def take_effects(self) -> tuple[SideEffect, ...]:
        """The non-safe requests since the last time, canonical; of very many, the first."""
        effects = tuple(map(self.record, islice(self._effects.values(), MAX_EFFECTS)))
        self._effects.clear()
        return effects

    def can_leave(self, effect: SentEffect) -> bool:
        """Whether the browser lets it out."""
        return self._guard.reaches(effect.url)

    def record(self, effect: SentEffect) -> SideEffect:
        """The effect as it is recorded."""
        return SideEffect(
            method=effect.method,
            url=truncate_url(self._addresses.to_canonical(effect.url)),
            status=effect.status,
            refused=effect.refused,
            by_load=effect.by_load,
        )

    def take_notices(self) -> tuple[str, ...]:
        """Addresses outside the task's sites that pages asked for in vain since the last time."""
        notices = Notices()
        for url in dict.fromkeys(self._blocked):
            notices.add(f"the page was not allowed to request {url}: {self._guard.why_blocked(url)}")
        self._blocked.clear()
        return notices.take()

    def take_failed(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Real addresses since the last time: of documents that could not be had, as there was no answer or one with
        status 500 and above, and of requests that may change a site and found no connection.
        """
        failed = tuple(dict.fromkeys(self._lost)), tuple(dict.fromkeys(self._refused))
        self._lost.clear()
        self._refused.clear()
        return failed

    def _begun(self, request: Request) -> None:
        if request.resource_type in AWAITED and not request.url.startswith(_LOCAL):
            self._under_way[request] = asyncio.get_running_loop().time()
        self._begun_since += 1
        is_sent = request.url.startswith("http")  # a POST to a `blob:` never leaves the browser
        if request.method not in SAFE and is_sent and self._is_recording:
            # Not held back until it is recorded: that would cost each request a round trip, and turn the cache off.
            effect = SentEffect(request.method, request.url, by_load=self._is_by_load(request))
            self._unanswered[request] = effect
            if self.listener is not None:
                return self.listener(effect)
            self._effects[request] = effect
            self._changed_effects.set()

    def _is_by_load(self, request: Request) -> bool:
        try:
            page = request.frame.page
        except Error:  # it opens the page, which is not there yet: only the action can have sent it
            return False
        return self._tabs.documents().get(page, 0) != self._before.get(page, 0)

    def _answered(self, response: Response) -> None:
        if (effect := self._unanswered.get(response.request)) is not None:
            effect.status = response.status
            self._is_over(response.request)
        if response.status >= _BROKEN and response.request.is_navigation_request():
            self._lost.append(response.url)

    def _ended(self, request: Request) -> None:
        self._is_over(request)
        if self._under_way.pop(request, None) is not None:
            self._tabs.changed.set()

    def _failed(self, request: Request) -> None:
        if request.failure in _HELD_BACK:
            self._effects.pop(request, None)  # it never left the browser
        if request in self._unanswered and request.failure in NO_CONNECTION and self._guard.reaches(request.url):
            self._unanswered[request].refused = True
            self._refused.append(request.url)
        by_proxy = request.failure in FAILED_BY_PROXY
        if request.is_navigation_request():
            is_blocked = by_proxy and self._guard.why_blocked(request.url)
            (self._blocked if is_blocked else self._lost).append(request.url)
        if not by_proxy:
            self._guard.note_failed(request.url)
        self._ended(request)

    def _is_over(self, request: Request) -> None:
        if (effect := self._unanswered.pop(request, None)) is not None:
            effect.is_over = True
            self._changed_effects.set()
            if self.listener is not None:
                self.listener(effect)
