"""Where the DevTools of a running Chromium are reached over a WebSocket, beside playwright's own pipe.

Chromium picks a free port on loopback and writes it into its profile. A process that reaches the port reaches every
context, so the address is for the relay of `agent.browser=cdp` only.
"""

import asyncio
from pathlib import Path

import psutil
from playwright.async_api import Browser

from harness.errors import BrowserCrashed

SWITCH = "--remote-debugging-port=0"
_PROFILE = "--user-data-dir="
_WRITTEN_WITHIN_S = 10.0
_LOOKS_EVERY_S = 0.02


async def browser_pid(browser: Browser) -> int:
    """The process id of a browser's main process.

    Raises:
        playwright.async_api.Error: The browser is gone.
    """
    session = await browser.new_browser_cdp_session()
    answer = await session.send("SystemInfo.getProcessInfo")
    await session.detach()
    (pid,) = (one["id"] for one in answer["processInfo"] if one["type"] == "browser")
    return int(pid)


async def devtools_address(browser: Browser) -> str:
    """The WebSocket address of a browser that was started with `SWITCH`.

    Raises:
        playwright.async_api.Error: The browser is gone.
        BrowserCrashed: It does not say where it listens.
    """
    pid = await browser_pid(browser)
    try:
        arguments = await asyncio.to_thread(psutil.Process(pid).cmdline)
        folder = next(one for one in reversed(arguments) if one.startswith(_PROFILE)).removeprefix(_PROFILE)
        async with asyncio.timeout(_WRITTEN_WITHIN_S):
            port, path = await _written(Path(folder, "DevToolsActivePort"))
    except (psutil.Error, StopIteration, TimeoutError) as exc:
        raise BrowserCrashed(f"the browser does not say where its DevTools listen: {exc!r}") from exc
    return f"ws://127.0.0.1:{port}{path}"


async def _written(file: Path) -> tuple[int, str]:
    """Port and path, once the browser has written both."""
    while True:
        lines = (await asyncio.to_thread(_text, file)).splitlines()
        if len(lines) == 2 and lines[0].isdecimal():
            return int(lines[0]), lines[1]
        await asyncio.sleep(_LOOKS_EVERY_S)


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""
