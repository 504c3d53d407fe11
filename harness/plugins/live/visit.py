"""One episode on the live web: waits before actions that may open a page, and remembers who kept the agent out."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from playwright.async_api import BrowserContext, Error, Request, Response

from harness.api import Action, Goto
from harness.api.actions import GoBack, GoForward
from harness.api.pages import Tabs, bounded, fast_listener
from harness.plugins.live.blocks import FACTS, PageFacts, recognise
from harness.plugins.live.pace import Place
from harness.plugins.live.rules import host_name

if TYPE_CHECKING:  # the gate begins visits
    from harness.plugins.live.gate import LiveGate

_REFUSED = "net::ERR_BLOCKED_BY_CLIENT"
"""How a request ends that the gate does not let out."""
_LOOKED_WITHIN_S = 2.0
_MOST_ANSWERS = 500


class LiveVisit:
    """Listens to one context, whose browser has the gate."""

    def __init__(
        self, gate: "LiveGate", context: BrowserContext, tabs: Tabs, tell: Callable[[str], None] = lambda note: None
    ) -> None:
        self._gate = gate
        self._tabs = tabs
        self._tell = tell
        self._place: Place | None = None
        self._opened: list[str] = []
        """Hosts of the pages that were opened since the last action."""
        self._answers: dict[str, Response] = {}
        """Address of a page, without its fragment, to its answer."""
        self._kept_out: dict[str, str] = {}
        """Host to who kept the agent out when its newest page was looked at."""
        context.on("request", fast_listener(self._begun))
        context.on("response", fast_listener(self._answered))
        context.on("requestfailed", fast_listener(self._failed))

    async def wait_for(self, action: Action) -> None:
        """Wait until a page may be opened on the host that the action is about."""
        host = _host_of(action, self._tabs.url)
        if host and not self._gate.rules.refusal(f"http://{host}/"):
            self._place = await self._gate.pace.wait(host, self._tell)

    async def settle(self) -> None:
        """The action is over: a place that was not used is given back, and other pages are counted."""
        place, self._place = self._place, None
        opened, self._opened = self._opened, []
        if place is not None and place.host in opened:
            opened.remove(place.host)
        elif place is not None:
            await self._gate.pace.give_back(place)
        for host in opened:
            await self._gate.pace.opened(host)
        await self._look()

    def why_refused(self, url: str) -> str:
        return self._gate.why_refused(url)

    def blocked(self, urls: Iterable[str]) -> tuple[str, ...]:
        """Who kept the agent out of the hosts of these addresses, and of the current page's, at last."""
        hosts = dict.fromkeys(host_name(url) for url in (*urls, self._tabs.url))
        return tuple(self._kept_out[host] for host in hosts if host in self._kept_out)

    async def _look(self) -> None:
        """See whether the current page is a block page."""
        url = self._tabs.url
        if not (host := host_name(url)):
            return
        tab = self._tabs.current
        answer = self._answers.get(url.partition("#")[0])
        found = None
        with suppress(Error, TimeoutError):  # a page that moves on or hangs is none
            async with asyncio.timeout(_LOOKED_WITHIN_S):
                found = await tab.page.evaluate(bounded(f"({FACTS})"))
        facts = PageFacts.of(
            found[0] if isinstance(found, list) else None,
            url=url,
            status=None if answer is None else answer.status,
            headers={} if answer is None else answer.headers,
        )
        if who := recognise(facts):
            self._kept_out[host] = who
        else:
            self._kept_out.pop(host, None)

    def _begun(self, request: Request) -> None:
        if _is_page(request):
            self._opened.append(host_name(request.url))

    def _answered(self, response: Response) -> None:
        if _is_page(response.request):
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            self._answers[response.url.partition("#")[0]] = response

    def _failed(self, request: Request) -> None:
        if request.failure == _REFUSED and _is_page(request):
            host = host_name(request.url)
            if host in self._opened:
                self._opened.remove(host)
            if why := self._gate.why_refused(request.url):
                self._tabs.notice(f"{request.url[:300]} was not opened: {why}")


def _is_page(request: Request) -> bool:
    """Whether it is for the page of a tab, not for a frame in it."""
    if not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except Error:  # of a tab that is only being opened
        return True


def _host_of(action: Action, current: str) -> str:
    """The host on which an action may open a page; "" = it opens none."""
    match action:
        case Goto():
            return host_name(action.url if "://" in action.url else f"http://{action.url}")
        case GoBack() | GoForward():
            return host_name(current)
    return host_name(current) if action.may_change_sites() and not action.only_fills_in() else ""
