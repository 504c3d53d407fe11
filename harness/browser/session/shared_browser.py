"""The browser of an episode as a process drives it beside us: where it is reached, and what becomes of its pages."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

from playwright.async_api import Error

from harness.browser.acting.uploads import upload_path
from harness.browser.driver.cdp_send import sender
from harness.browser.driver.devtools_pipe import Backlog, BrowserConnection
from harness.browser.reading.seen_element import ElementReader, Where
from harness.browser.session.browser_session import BrowserSession
from harness.protocols import RestoreResult
from harness.records import Acted, SeenElement

Follow = Callable[[Acted, bool], Awaitable[RestoreResult]]
"""See `SharedBrowser.follow`."""
_OPENS_WITHIN_S = 5.0
_ANSWERS_WITHIN_S = 1.0
_LOOKS_EVERY_S = 0.01


class SharedWindow:
    """Fits `SharedBrowser`."""

    def __init__(
        self,
        window: BrowserSession,
        follow: Follow,
        *,
        context: str,
        uploads: str | None,
        check: Callable[[], None],
    ) -> None:
        self._window = window
        self._follow = follow
        self.check = check
        self.context = context
        self._uploads = uploads
        self._backlog = Backlog()
        self._elements = ElementReader()

    @classmethod
    async def of(
        cls, window: BrowserSession, follow: Follow, *, uploads: str | None, check: Callable[[], None]
    ) -> "SharedWindow":
        """Raises: playwright.async_api.Error: The browser is gone."""
        window.lane.guard.is_driven = window.tabs.is_driven = True
        for tab in window.tabs.all:
            await tab.attach()
        about = await sender(window.tabs.current.cdp)("Target.getTargetInfo")
        return cls(window, follow, context=about["targetInfo"]["browserContextId"], uploads=uploads, check=check)

    async def connect(self, target: str = "") -> BrowserConnection:
        pipe = self._window.lane.devtools
        assert pipe is not None, "the browser of an agent that drives it is started so that it can be shared"
        return await pipe.connect(target, self._backlog)

    @property
    def targets(self) -> Sequence[str]:
        return [tab.target for tab in self._window.tabs.all if tab.target]

    def navigable(self, url: str) -> str:
        real = self._window.lane.addresses.to_real(url)
        self._window.lane.guard.check(real, shown=url)
        return real

    def upload(self, name: str) -> str:
        return upload_path(name, self._uploads)

    def canonical(self, text: str) -> str:
        return self._window.lane.addresses.to_canonical(text)

    def state(self) -> Hashable:
        return tuple((id(tab), tab.commits) for tab in self._window.tabs.all)

    async def focus(self, target: str) -> None:
        tabs = self._window.tabs
        for tab in sorted(tabs.all, key=lambda tab: not tab.target):  # a new tab may not answer, so it is asked last
            try:
                await tab.attach()
            except Error:  # it is gone or has crashed, which shows elsewhere
                continue
            if tab.target == target:
                return tabs.choose(tab)

    async def element(self, target: str, where: Where) -> SeenElement | None:
        tab = next((tab for tab in self._window.tabs.all if tab.target == target), None)
        return None if tab is None else await self._elements.read(tab, where)

    def clipboard(self) -> AbstractAsyncContextManager[None]:
        return self._window.clipboard.used()

    async def reported(self) -> None:
        with suppress(Error, TimeoutError):  # that the browser is gone shows elsewhere
            async with asyncio.timeout(_ANSWERS_WITHIN_S):
                tab = next((tab for tab in self._window.tabs.all if tab.target), None)
                if tab is not None:  # any of them: all share the connection
                    await sender(tab.cdp)("Browser.getVersion")

    @asynccontextmanager
    async def opening_tab(self) -> AsyncIterator[None]:
        before = set(self._window.tabs.all)
        yield
        with suppress(TimeoutError):  # one too many is closed as it opens
            async with asyncio.timeout(_OPENS_WITHIN_S):
                while before.issuperset(self._window.tabs.all):  # noqa: ASYNC110 (the event is the settler's, to clear)
                    await asyncio.sleep(_LOOKS_EVERY_S)

    async def follow(self, recorded: Acted, *, is_last: bool) -> RestoreResult:
        return await self._follow(recorded, is_last)
