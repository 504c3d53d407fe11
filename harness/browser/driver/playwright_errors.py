"""Translates Playwright's errors into the error tree; the only module that does.

Playwright's errors differ only in their text, so every comparison with such a text is in this module.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from playwright.async_api import Error

from harness.errors import BrowserCrashed, ConfigError, SiteUnavailable
from harness.escape import one_line

# Chromium has no event for it, and a look takes some 0.1 ms.
_LOOKS_EVERY_S = 0.5
_CLOCKS_DIFFER_S = 1.0
_MOVED = (
    "Execution context was destroyed",
    "Cannot find context with specified id",
    "Cannot find default execution context",
    "Promise was collected",
    "frame was detached",
    "Frame was detached",
    "Inspected target navigated or closed",
    "No node found for given backend id",
    "interrupted by another navigation",
)
_CLOSED = ("has been closed", "no object with guid", "No target with given id")
_GONE = (*_CLOSED, "Target crashed", "Page crashed", "Connection closed")
_ON_STDERR = re.compile(r"\[err\] *(\S[^\n]*)")
_HINT = re.compile(r"element is not \w+|[^\n]* intercepts pointer events|did not find some options")


def first_line(error: Error) -> str:
    """Playwright's message without its name for the call and without its call log."""
    line = str(error.message).split("\n", 1)[0].strip()
    head, found, rest = line.partition(": ")
    return rest if found and "." in head and " " not in head else line


def last_error_line(error: Error) -> str:
    """The last line that a browser that did not start wrote to stderr, in brackets; "" without one."""
    lines = _ON_STDERR.findall(str(error.message))
    return f" ({one_line(lines[-1], 300)})" if lines else ""


def moved(error: Error) -> bool:
    """Whether the page merely went elsewhere while it was being asked: ask again."""
    return any(text in str(error.message) for text in _MOVED)


def closed(error: Error) -> bool:
    """Whether a page went away while it was being used: it closed itself, or everything is gone."""
    return any(text in str(error.message) for text in _CLOSED)


def page_left(error: Error) -> bool:
    """Whether a page went elsewhere or away while it was being asked."""
    return moved(error) or closed(error)


def gone(error: Error) -> bool:
    """Whether there is nothing any more that could have done what was asked."""
    return any(text in str(error.message) for text in _GONE)


def why_not(error: Error) -> str:
    """Why a locator could not be used, on one line."""
    if error.name != "TimeoutError":
        return first_line(error).removeprefix("Error: ").rstrip(":")
    if "resolved to" not in error.message:
        return "no such element appeared in time"
    # Playwright's call log has lines of each try: the last try says what is in the way now.
    hints = _HINT.findall(error.message)
    return hints[-1].strip(" -") if hints else "the element was not ready in time"


async def in_working_time(act: Callable[[float], Awaitable[None]], limit_s: float) -> None:
    """Use a locator within a limit, given to `act` in milliseconds.

    The driver waits by its own clock, which counts the time in which this process and the driver are frozen. A wait
    that ended too early is begun again, unless the driver had begun to act.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + limit_s
    while True:
        try:
            # For playwright, 0 means without a limit.
            return await act(max(1.0, (until - loop.time()) * 1000))
        except Error as exc:
            is_early = exc.name == "TimeoutError" and until - loop.time() > _CLOCKS_DIFFER_S
            # The call log has this word once input was begun, and the same input must not be given twice.
            if not is_early or "performing " in exc.message:
                raise


def net_error(error: Error) -> str | None:
    """Chromium's name for a failed navigation (`net::ERR_CONNECTION_REFUSED`), if this is one."""
    for word in str(error.message).split():
        if word.startswith("net::ERR_"):
            return word.rstrip(".,;:")
    return None


def misfit(error: Error, *, locale: str, timezone: str) -> ConfigError | None:
    """The setting that Chromium does not take, when it is that why no window opens; it alone knows which it takes."""
    if "Invalid timezone ID" in error.message:
        return ConfigError(f"browser.timezone={timezone[:80]!r} is unknown to Chromium; give one such as Europe/Berlin")
    if "Invalid locale name" in error.message:
        return ConfigError(f"browser.locale={locale[:80]!r} is unknown to Chromium; give one such as en-US or de")
    return None


def crashed(error: Error, doing: str) -> BrowserCrashed:
    """The infrastructure error for a playwright error that nothing else handles."""
    return BrowserCrashed(f"the browser failed while {doing}: {first_line(error)}")


class Deadline:
    """Turns a crash, a lost browser or a step that never ends into `BrowserCrashed`, at once and from anywhere."""

    def __init__(self) -> None:
        self.ended: Callable[[], str] = str
        """Says which process has ended that the pages cannot do without; "" = none."""
        self.memory: Callable[[], str] = str
        """Says why a page that crashes was ended; "" = it was not ended by us."""
        self._why = ""
        self._whole = False
        """Whether what died is every page's."""
        self._running: set[asyncio.Timeout] = set()
        self._looking: asyncio.TimerHandle | None = None

    def abort(self, why: str, *, whole: bool = False) -> None:
        """Something died: what is running ends now, and nothing new begins.

        Args:
            whole: What died is shared by all pages of the browser.
        """
        self._why = self._why or why
        self._whole |= whole
        for limit in self._running:
            # One whose time is over ends already, and asyncio refuses to move it.
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())

    @property
    def is_over(self) -> bool:
        """Whether browser, page or a process they rely on died."""
        return bool(self._why or self.ended())

    def check(self) -> None:
        """Raises: BrowserCrashed: Browser, page or a process they rely on died."""
        if self._why:
            raise self._struck()
        self._check_ended(None)

    def crash(self, url: str) -> None:
        """A page crashed, or was ended because of the memory it held."""
        why = self.memory()
        self.abort(f"the page {url} crashed" + (f": {why}" if why else ""))

    def _look(self) -> None:
        """Strike if a process has ended: what it was asked may never be answered."""
        if ended := self.ended():
            self.abort(ended, whole=True)
        self._looking = None
        self._look_later()

    def _look_later(self) -> None:
        """Have a look soon, for as long as anything is running."""
        if self._running and not self._why and self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(_LOOKS_EVERY_S, self._look)

    @asynccontextmanager
    async def guard(self, doing: str, *, limit_s: float) -> AsyncIterator[None]:
        """Watch a block.

        Raises:
            BrowserCrashed: Browser, page or a process they rely on died, or the block did not end in time.
        """
        if self._why:
            raise self._struck()
        try:
            async with asyncio.timeout(limit_s) as limit:
                self._running.add(limit)
                self._look_later()
                try:
                    yield
                finally:
                    self._running.discard(limit)
                    if self._looking is not None and not self._running:
                        self._looking.cancel()
                        self._looking = None
        except TimeoutError as exc:
            hangs = BrowserCrashed(f"the browser hangs: {doing} took more than {limit_s:g} s")
            raise (self._struck() if self._why else hangs) from exc
        except Error as exc:
            raise (self._struck() if self._why else crashed(exc, doing)) from exc
        except SiteUnavailable as exc:
            # Without its network service Chromium reaches no site, and the site is not to blame.
            self._check_ended(exc)
            raise
        self._check_ended(None)  # what the block saw, it may have seen without it

    def _struck(self) -> BrowserCrashed:
        return BrowserCrashed(self._why, whole=self._whole)

    def _check_ended(self, cause: Exception | None) -> None:
        if ended := self.ended():
            self.abort(ended, whole=True)
            raise self._struck() from cause
