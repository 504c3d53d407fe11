"""Decides about every page that a browser opens on the live web, before its request leaves.

Chromium holds each request for a document (all tabs and popups, redirects included) until it is let go or refused;
other requests are not touched, and the cache works as usual. Only the page of a tab counts: frames in it are let go.
What is refused is a network error for the page, and a notice for the agent says why.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from playwright.async_api import Browser, BrowserContext, CDPSession, Error

from harness.api import JsonObject
from harness.api.pages import Tabs
from harness.plugins.live.pace import Pace, pace_folder
from harness.plugins.live.robots import RobotsCache
from harness.plugins.live.rules import LiveRules, host_name
from harness.plugins.live.visit import LiveVisit

logger = logging.getLogger(__name__)

_MOST_REFUSALS = 1000


class LiveGate:
    """The gate of one browser, whose episodes share robots.txt and pace, and count their pages by their contexts."""

    def __init__(self, rules: LiveRules) -> None:
        self.rules = rules
        self.pace = Pace(pace_folder(), rules.spacing_s)
        self._robots = RobotsCache(rules.agent)
        self._session: CDPSession | None = None
        self._contexts: dict[str, str] = {}
        """Frame id of a tab's page to its context."""
        self._opened: Counter[tuple[str, str]] = Counter()
        """Pages by context and host."""
        self._refused: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def attach(self, browser: Browser) -> None:
        """Hold the documents of this browser from now on."""
        session = await browser.new_browser_cdp_session()
        session.on("Target.targetCreated", self._target_created)
        session.on("Target.targetDestroyed", self._target_destroyed)
        session.on("Fetch.requestPaused", self._paused)
        await session.send("Target.setDiscoverTargets", {"discover": True})
        pattern = {"urlPattern": "http*", "resourceType": "Document", "requestStage": "Request"}
        await session.send("Fetch.enable", {"patterns": [pattern]})
        self._session = session

    def begin(self, context: BrowserContext, tabs: Tabs, tell: Callable[[str], None]) -> LiveVisit:
        """See `BrowserVisits`."""
        return LiveVisit(self, context, tabs, tell)

    def why_refused(self, url: str) -> str:
        """What was said of an address that was refused; "" = it was not."""
        return self._refused.get(url, "")

    def _target_created(self, event: JsonObject) -> None:
        info = event["targetInfo"]
        if info["type"] == "page":
            self._contexts[info["targetId"]] = info.get("browserContextId", "")

    def _target_destroyed(self, event: JsonObject) -> None:
        self._contexts.pop(event["targetId"], None)

    def _paused(self, event: JsonObject) -> None:
        task = asyncio.get_running_loop().create_task(self._decide(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _decide(self, event: JsonObject) -> None:
        url, context = event["request"]["url"], self._contexts.get(event.get("frameId", ""))
        try:
            why = await self._refusal(url, context)
        except (OSError, ValueError) as error:  # a folder that cannot be written, an address that is none
            why = f"it cannot be checked ({error})"
        assert self._session is not None
        asked = {"requestId": event["requestId"]}
        try:
            if why:
                await self._session.send("Fetch.failRequest", {**asked, "errorReason": "BlockedByClient"})
            else:
                await self._session.send("Fetch.continueRequest", asked)
        except Error as error:
            logger.debug("a held request was gone: %s", error.message)

    async def _refusal(self, url: str, context: str | None) -> str:
        host = host_name(url)
        if context is None:
            return self._kept(url, self.rules.refusal(url)) if self.rules.deny else ""
        why = self.rules.refusal(url)
        if not why and self.rules.robots:
            why = await self._robots.refusal(url)
        # Looked at and counted in one go: others may come while robots.txt is asked for.
        if not why and self._opened[context, host] >= self.rules.pages_per_host:
            why = f"the {self.rules.pages_per_host} pages that may be opened on {host} are used up (sites.live)"
        if not why:
            self._opened[context, host] += 1
            self._refused.pop(url, None)
        return self._kept(url, why)

    def _kept(self, url: str, why: str) -> str:
        if why:
            if len(self._refused) >= _MOST_REFUSALS:
                self._refused.clear()
            self._refused[url] = why
        return why
