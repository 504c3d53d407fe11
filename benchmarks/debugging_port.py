"""A shared browser that listens on a port of loopback as well, which no run has: what goes through the relay of an
episode is measured beside what goes to the browser's DevTools directly.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import patch

import psutil

from harness.browser.driver.chromium_flags import switches
from harness.browser.driver.process_watch import browser_pid
from harness.browser.session import chromium
from harness.browser.session.chromium import ChromiumPool
from harness.records import Site
from harness.settings.browser import BrowserSettings

_PROFILE = "--user-data-dir="
_LOOKS_EVERY_S = 0.02


@asynccontextmanager
async def reachable_pool(*sites: Site) -> AsyncIterator[tuple[ChromiumPool, str]]:
    """A browser, and the WebSocket address of its DevTools."""

    def listening(*, resolver_rules: str, further: Sequence[str]) -> list[str]:
        return switches(resolver_rules=resolver_rules, further=(*further, "--remote-debugging-port=0"))

    with patch.object(chromium, "switches", listening):
        async with ChromiumPool(
            BrowserSettings(allowed="any", screenshots=False), shared=True, sites=lambda _: sites
        ) as pool:
            browser = (await pool._running(0)).browser
            arguments = psutil.Process(await browser_pid(browser)).cmdline()
            folder = next(one for one in reversed(arguments) if one.startswith(_PROFILE)).removeprefix(_PROFILE)
            port, path = await asyncio.to_thread(_written, Path(folder, "DevToolsActivePort"))
            yield pool, f"ws://127.0.0.1:{port}{path}"


def _written(file: Path) -> list[str]:
    """Port and path, once the browser has written both."""
    while not file.exists() or len(lines := file.read_text().splitlines()) < 2:
        time.sleep(_LOOKS_EVERY_S)
    return lines
