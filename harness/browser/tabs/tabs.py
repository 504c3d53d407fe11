"""The tabs of one context: which is current, which are on their way, and what happened to them.

New tabs opened by a page become current, as in a browser people use. When the current tab is closed the last one is
current, and there is always one. A page can have so many open and no more: the next one is closed as it opens. Dialogs
are answered at once, because a page is blocked while one is open.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from playwright.async_api import BrowserContext, Dialog, Download, Error, Page

from harness.browser.driver.playwright_errors import Deadline, crashed, page_left
from harness.browser.network.sending import SendingWatch
from harness.browser.tabs.storage import Storage
from harness.browser.tabs.tab import Tab
from harness.browser.text_limits import Notices

# A window takes some 50 ms to open.
MOST_OPEN = 30
"""Tabs, the agent's own among them, up to which pages can open further ones."""
_REACTS_WITHIN_S = 10.0
"""A tab that does not answer at all for so long runs a script without end."""


class Tabs:
    """All tabs of one context, in opening order."""

    def __init__(
        self, context: BrowserContext, watch: Deadline, storage: Storage, sending: SendingWatch | None = None
    ) -> None:
        """`storage` receives every change of what pages store."""
        self.changed = asyncio.Event()
        """Set whenever something happened that a wait may be about."""
        self._context = context
        self._watch = watch
        self._storage = storage
        self.sending = sending
        """Follows whether requests are written to a connection; None = this is not to be known."""
        self._tabs: list[Tab] = []
        self._current: Tab | None = None
        self._own = 0
        self._own_closed: set[Tab] = set()
        """Tabs that the agent or the harness has closed."""
        self.is_driven = False
        """Whether an agent that drives the browser itself opens and closes tabs as pages do."""
        self._notices = Notices()
        self._closing: set[asyncio.Task[None]] = set()
        context.on("page", self._page_opened)
        context.on("dialog", self._answer)

    @property
    def all(self) -> tuple[Tab, ...]:
        return tuple(self._tabs)

    @property
    def current(self) -> Tab:
        """The tab that is current now.

        Raises:
            playwright.async_api.Error: A page, or the end of the browser, has closed the last one; see
                `ensure_current`.
        """
        if self._current is None:
            raise Error("the last tab has been closed")
        return self._current

    def documents(self) -> Mapping[Page, int]:
        """How many documents each page has gone through."""
        return {tab.page: tab.commits for tab in self._tabs}

    @property
    def url(self) -> str:
        """Real address of the current tab; "" when the last one has been closed."""
        return self._current.url if self._current is not None else ""

    def is_current(self, tab: Tab) -> bool:
        return self._current is tab

    def numbered(self, number: int) -> Tab:
        """The tab at a 0-based place in the order of opening.

        Raises:
            playwright.async_api.Error: It is not there any more.
        """
        if number >= len(self._tabs):
            raise Error(f"tab {number} has been closed")
        return self._tabs[number]

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

    def choose(self, tab: Tab) -> None:
        """Make it current; it is attached, and the browser shows it as it is."""
        self._current = tab

    async def close_current(self) -> None:
        """Close the current tab; the last remaining one, or a new blank one, takes its place."""
        await self.close(self.current)
        await self.ensure_current()

    async def close(self, tab: Tab) -> None:
        """Close a tab; the agent is not told, as of one that its page closes."""
        self._own_closed.add(tab)
        await tab.page.close()

    async def ensure_current(self) -> Tab:
        """The tab that is current now, attached; a new blank one when a page closed the last.

        Pages open and close tabs whenever they like: another one may be current before this is used.
        """
        while (tab := self._current) is not None:
            try:
                if not tab.page.is_closed():
                    async with asyncio.timeout(_REACTS_WITHIN_S):
                        await tab.attach()
                    return tab
            except TimeoutError:
                self.notice("a tab opened by the page did not respond and was closed")
                self._close(tab.page)
            except Error as exc:
                if not page_left(exc):
                    raise
            self._page_closed(tab)
        return await self.open()

    def notice(self, text: str) -> None:
        """Something to tell the agent with the next observation."""
        self._notices.add(text)

    def take_notices(self) -> tuple[str, ...]:
        return self._notices.take()

    def _find(self, page: Page) -> Tab | None:
        return next((tab for tab in self._tabs if tab.page is page), None)

    def _adopt(self, page: Page) -> Tab:
        tab = Tab(page, self.changed, self._storage, self.sending)
        self._tabs.append(tab)
        page.on("close", lambda _: self._closed_itself(tab))
        page.on("crash", lambda _: self._watch.crash(page.url))
        page.on("download", self._refuse_download)
        return tab

    def _page_opened(self, page: Page) -> None:
        if self._find(page) is not None:
            return
        if not self._own:
            # Of each tab: a page that is opened without an opener does not say who asked for it.
            for opener in self._tabs:
                opener.opening = max(0, opener.opening - 1)
            if len(self._tabs) >= MOST_OPEN:
                return self._refuse_tab(page)
        tab = self._adopt(page)
        if not self._own:
            self._current = tab
            self.notice(f"the page opened a new tab, which is now current: Tab {len(self._tabs) - 1}")
        self.changed.set()

    def _refuse_tab(self, page: Page) -> None:
        self.notice(f"a tab opened by the page was closed: the limit of {MOST_OPEN} open tabs is reached")
        self._close(page)
        self.changed.set()

    def _close(self, page: Page) -> None:
        """Have it closed; nothing waits for that."""
        self._closing.add(task := asyncio.create_task(_closed(page)))
        task.add_done_callback(self._closing.discard)

    def _closed_itself(self, tab: Tab) -> None:
        is_told = self._current is tab and tab not in self._own_closed and not self.is_driven
        self._page_closed(tab)
        if is_told:  # after the last one, a blank tab takes its place
            self.notice(f"the current tab was closed by its page; Tab {max(len(self._tabs) - 1, 0)} is current")

    def _page_closed(self, tab: Tab) -> None:
        if tab in self._tabs:
            self._tabs.remove(tab)
        if self._current is tab:
            self._current = self._tabs[-1] if self._tabs else None
        self.changed.set()

    def _refuse_download(self, download: Download) -> None:
        self.notice(f"a download was blocked: {download.url}")

    async def _answer(self, dialog: Dialog) -> None:
        answer = "dismissed" if dialog.type == "prompt" and not dialog.default_value else "accepted"
        self.notice(f"the page opened a dialog ({dialog.type}) saying {dialog.message!r}; it was {answer}")
        try:
            await (dialog.accept(dialog.default_value or None) if answer == "accepted" else dialog.dismiss())
        except Error as exc:
            # The page may be gone with its dialog; anything worse shows in the step itself.
            self.notice(str(crashed(exc, "answering a dialog")))
        self.changed.set()


async def _closed(page: Page) -> None:
    with suppress(Error):  # it was sooner, or everything is gone, which shows elsewhere
        await page.close()
