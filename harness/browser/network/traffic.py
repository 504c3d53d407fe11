"""The network requests of the pages of one context: which are pending, and which may change a site.

Bookkeeping on events only: no request is delayed.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from playwright.async_api import BrowserContext, Request, Response

from harness.browser.driver.cdp_receive import fast_listener
from harness.browser.network.addresses import Addresses
from harness.browser.network.allowlist import BLOCKED, Allowlist
from harness.browser.text_limits import MAX_EFFECTS, Notices, truncate_url
from harness.records import SideEffect

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
AWAITED = frozenset({"document", "script", "stylesheet", "image", "font"})
"""Kinds of request a settled page has none of; the page itself follows `fetch` and XHR."""
SOFT = frozenset({"image", "font"})
_CUT_OFF = "net::ERR_INTERNET_DISCONNECTED"
_BROKEN = 500
"""Statuses from here on are the server's own failures."""
SOFT_S = 1.5
"""Pictures and fonts change no text: they are waited for this long at most."""


@dataclass(slots=True)
class _Effect:
    method: str
    url: str
    status: int | None = None


class Traffic:
    """Listens to one context."""

    def __init__(
        self,
        context: BrowserContext,
        addresses: Addresses,
        *,
        guard: Allowlist,
        limit_s: float,
        changed: Callable[[], None],
    ) -> None:
        """`limit_s`: a request open for longer is not waited for. `changed` is called whenever one has ended."""
        self._addresses = addresses
        self._guard = guard
        self._limit_s = limit_s
        self._changed = changed
        self._under_way: dict[Request, float] = {}
        self._effects: dict[Request, _Effect] = {}
        self._unanswered: dict[Request, _Effect] = {}
        """Effects whose answer is still to come, taken or not."""
        self._is_recording = True
        self._changed_effects = asyncio.Event()
        self._blocked: list[str] = []
        self._lost: list[str] = []
        context.on("request", fast_listener(self._begun))
        context.on("response", fast_listener(self._answered))
        context.on("requestfinished", fast_listener(self._ended))
        context.on("requestfailed", self._failed)

    def awaited(self) -> float | None:
        """Seconds for which a pending request is still worth waiting for; None = there is none."""
        now = time.monotonic()
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

    async def effects_answered(self, *, limit_s: float) -> None:
        """Wait until every effect has had its answer, or failed; no longer than so many seconds."""
        try:
            async with asyncio.timeout(limit_s):
                while self._unanswered:
                    self._changed_effects.clear()
                    await self._changed_effects.wait()
        except TimeoutError:
            return

    def take_effects(self) -> tuple[SideEffect, ...]:
        """The non-safe requests since the last time, canonical; of very many, the first."""
        effects = tuple(
            SideEffect(
                method=effect.method, url=truncate_url(self._addresses.to_canonical(effect.url)), status=effect.status
            )
            for effect in islice(self._effects.values(), MAX_EFFECTS)
        )
        self._effects.clear()
        return effects

    def take_notices(self) -> tuple[str, ...]:
        """Addresses outside the task's sites that pages asked for in vain since the last time."""
        notices = Notices()
        for url in dict.fromkeys(self._blocked):
            notices.add(f"the page was not allowed to request {url}: it is outside the sites of this task")
        self._blocked.clear()
        return notices.take()

    def take_lost(self) -> tuple[str, ...]:
        """Real addresses of documents that could not be had since the last time: no answer, or status 500 and above."""
        lost = tuple(dict.fromkeys(self._lost))
        self._lost.clear()
        return lost

    def _begun(self, request: Request) -> None:
        if request.resource_type in AWAITED:
            self._under_way[request] = time.monotonic()
        if request.method not in SAFE and self._is_recording:
            self._effects[request] = self._unanswered[request] = _Effect(request.method, request.url)
            self._changed_effects.set()

    def _answered(self, response: Response) -> None:
        if (effect := self._unanswered.pop(response.request, None)) is not None:
            effect.status = response.status
            self._changed_effects.set()
        if response.status >= _BROKEN and response.request.is_navigation_request():
            self._lost.append(response.url)

    def _ended(self, request: Request) -> None:
        if self._unanswered.pop(request, None) is not None:
            self._changed_effects.set()
        if self._under_way.pop(request, None) is not None:
            self._changed()

    def _failed(self, request: Request) -> None:
        if request.failure == _CUT_OFF:
            self._effects.pop(request, None)  # it never left the browser
        if request.is_navigation_request():
            outside = request.failure == BLOCKED and not self._guard.reaches(request.url)
            (self._blocked if outside else self._lost).append(request.url)
        self._ended(request)
