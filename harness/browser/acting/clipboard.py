"""A clipboard for each episode, though Chromium has one for all contexts of a browser.

Pages' scripts cannot read the clipboard: they have no permission. The middle mouse button, which would paste what any
page has selected, is never pressed. What is left are keys, such as Control+V: while they are pressed, the browser's
clipboard holds that of the episode, and no other episode uses it. What a page's own script puts there, for a button
"Copy", is not kept.
Why: docs/decisions/browser.md#each-episode-has-a-clipboard-of-its-own
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from playwright.async_api import Browser, Error, Page, Route

from harness.browser.driver.playwright_errors import first_line
from harness.errors import ActionFailed

_ANSWERS_WITHIN_S = 5.0
_PLACE = "https://clipboard.invalid/"
"""Answered here: scripts reach a clipboard on secure origins only."""
# Also with nothing to paste, as the text of another episode must go.
_PUT = """(held) => navigator.clipboard.write([new ClipboardItem(Object.fromEntries(
  Object.entries({"text/plain": "", ...held}).map(([type, text]) => [type, new Blob([text], {type})])))])"""
_TAKE = """async ([types, most]) => {
  const held = {};
  for (const item of await navigator.clipboard.read())
    for (const type of item.types.filter((one) => types.includes(one))) {
      const text = await (await item.getType(type)).text();
      if (text.length <= most) held[type] = text;
    }
  await navigator.clipboard.writeText("");
  return held;
}"""
_KEPT = ("text/plain", "text/html")
_MOST_CHARACTERS = 4 << 20
"""Limit for one kind of content; more is not kept."""
_LETTERS, _OTHERS = frozenset("cxv"), frozenset({"insert", "delete"})
_CONTROL = frozenset({"control", "controlleft", "controlright", "meta", "metaleft", "metaright", "controlormeta"})
_SHIFT = frozenset({"shift", "shiftleft", "shiftright"})


# Refusing these keys would be simpler, but would change what WebArena's `press` can do.
def is_clipboard_key(keys: str) -> bool:
    """Whether keys joined by `+`, in Playwright's names, may copy, cut or paste."""
    *held, last = keys.lower().split("+")
    with_control = not _CONTROL.isdisjoint(held)
    is_letter = last.removeprefix("key") in _LETTERS
    return (with_control and (is_letter or last in _OTHERS)) or (last in _OTHERS and not _SHIFT.isdisjoint(held))


class BrowserClipboard:
    """The one of a browser, through a page of the harness; it is opened when it is used first."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._page: Page | None = None
        # Chromium has one clipboard for all contexts of a browser; a browser for each lane would cost 100 MB a lane.
        self.in_use = asyncio.Lock()

    # What a page's script has copied is lost here, as a script of another lane may have copied it.
    async def put(self, held: Mapping[str, str]) -> None:
        await (await self._opened()).evaluate(_PUT, held)

    async def take(self) -> Mapping[str, str]:
        """What it holds, which it does not any more."""
        held: Mapping[str, str] = await (await self._opened()).evaluate(_TAKE, [_KEPT, _MOST_CHARACTERS])
        return held

    async def _opened(self) -> Page:
        if self._page is None or self._page.is_closed():
            context = await self._browser.new_context(permissions=["clipboard-read", "clipboard-write"])
            await context.route("**/*", _answer)
            page = await context.new_page()
            await page.goto(_PLACE)
            self._page = page
        return self._page


async def _answer(route: Route) -> None:
    await route.fulfill(body="")


class Clipboard:
    """The clipboard of one episode."""

    def __init__(self, shared: BrowserClipboard) -> None:
        self._shared = shared
        self._held: Mapping[str, str] = {}
        """Text by its kind."""
        self._turn = asyncio.Lock()
        self._is_in_use = False

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """Keys are pressed meanwhile that copy, cut or paste.

        Where that ends with a timeout, or is cancelled, the page may still take the keys: then no other episode uses
        the clipboard until this one is over.

        Raises:
            ActionFailed: The browser's clipboard does not answer, or another episode does not leave it.
        """
        async with self._turn:  # a process may have several connections
            if self._is_in_use:
                yield
                return
            await self._begin()
            may_leave = True
            try:
                yield
            except (asyncio.CancelledError, TimeoutError):
                may_leave = False
                raise
            finally:
                if may_leave:
                    await self._end()

    def during(self, keys: str) -> AbstractAsyncContextManager[None]:
        """`used`, if these keys need it."""
        # It costs 10 ms, so other keys do not wait for it.
        return self.used() if is_clipboard_key(keys) else nullcontext()

    def close(self) -> None:
        """No page of the episode takes keys any more."""
        if self._is_in_use:
            self._is_in_use = False
            self._shared.in_use.release()

    async def _begin(self) -> None:
        try:
            async with asyncio.timeout(_ANSWERS_WITHIN_S):
                await self._shared.in_use.acquire()
                self._is_in_use = True
                await self._shared.put(self._held)
        except (TimeoutError, Error, asyncio.CancelledError) as exc:
            self.close()
            if isinstance(exc, TimeoutError):
                raise ActionFailed("the clipboard is in use by a page that does not answer; try again later") from exc
            if isinstance(exc, Error):
                raise ActionFailed(f"the clipboard cannot be used: {first_line(exc)}") from exc
            raise

    async def _end(self) -> None:
        try:
            async with asyncio.timeout(_ANSWERS_WITHIN_S):
                self._held = await self._shared.take()
        except (Error, TimeoutError):  # the keys were pressed; what is wrong with the browser shows elsewhere
            pass
        finally:
            self.close()
