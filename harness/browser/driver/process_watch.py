"""Watches the Chromium processes that hold the state of pages, and detects that one of them has ended.

Chromium restarts its network service after a crash without an event: the pages stay, but their cookies are gone, so the
agent would continue as a visitor who is not logged in. So every watched block of an episode checks whether the
processes are still those with which the window was opened. Asking Chromium takes milliseconds and is done once per
browser; the check takes about 0.1 ms.
"""

from collections.abc import Callable

import psutil
from playwright.async_api import Browser

# Cookies that are compared from step to step would not tell a loss from a logout.
_HOLD = {
    "network.mojom.NetworkService": "Chromium's network service ended; the cookies of all pages are lost",
    "storage.mojom.StorageService": "Chromium's storage service ended; the stored data of all pages is lost",
}
"""Chromium's name for a kind of process to what its end means; not every build has each of them as a process.

Whether it ended alone is not said: it is the first to go when the browser is ended, by a signal or with its driver.
"""


async def browser_pid(browser: Browser) -> int:
    """The process id of a browser's main process.

    Raises:
        playwright.async_api.Error: The browser is gone.
    """
    (pid,) = (pid for kind, pid in await _processes(browser) if kind == "browser")
    return pid


class ProcessWatch:
    """Watches the process of one browser."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._held: dict[str, psutil.Process] = {}

    async def now(self) -> Callable[[], str]:
        """Find the processes there are now; what it returns says which of them has ended, "" = none.

        Raises:
            playwright.async_api.Error: The browser is gone.
        """
        # Chromium starts such a process again by itself, and it has another id then.
        if not self._held or _ended(self._held):
            self._held = {
                kind: found
                for kind, pid in await _processes(self._browser)
                if kind in _HOLD and (found := _process(pid)) is not None
            }
        held = self._held
        return lambda: _ended(held)


async def _processes(browser: Browser) -> list[tuple[str, int]]:
    """Kind and id of each process of a browser."""
    session = await browser.new_browser_cdp_session()
    answer = await session.send("SystemInfo.getProcessInfo")
    await session.detach()
    return [(one["type"], int(one["id"])) for one in answer["processInfo"]]


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _ended(held: dict[str, psutil.Process]) -> str:
    return next((_HOLD[kind] for kind, process in held.items() if not _is_alive(process)), "")


def _is_alive(process: psutil.Process) -> bool:
    try:
        # A process that ended stays in the list until its parent has taken note of it.
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
