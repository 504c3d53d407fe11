"""One Chromium per worker, one fresh context per episode.

The browser starts when the first episode wants it, and again after it died; `starts` counts. Nothing of one episode is
left for the next: contexts are closed, and a browser that does not close one in time is replaced.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType

from playwright.async_api import Browser, Error, Playwright, async_playwright

from harness.browser import executable
from harness.browser.addresses import Addresses
from harness.browser.environment import BrowserEnvironment, Gear
from harness.browser.faults import first_line
from harness.browser.guard import Guard
from harness.browser.receiving import quicken
from harness.browser.settings import BrowserSettings, RestoreSettings
from harness.browser.switches import switches
from harness.browser.window import Lane
from harness.errors import BrowserCrashed
from harness.protocols import Artifacts
from harness.records import Site, Task

logger = logging.getLogger(__name__)

_CLOSES_WITHIN_S = 5.0
NOWHERE_ELSE: Mapping[str, str] = MappingProxyType({})


class Chromium:
    """An `EnvironmentPool` in this process."""

    def __init__(
        self,
        settings: BrowserSettings,
        *,
        sites: Callable[[int], tuple[Site, ...]],
        restoring: RestoreSettings | None = None,
        checkpoints: Artifacts | None = None,
        tell: Callable[[int, str], None] = lambda lane, note: None,
    ) -> None:
        """Nothing is started yet.

        Args:
            sites: The sites as a lane reaches them.
            checkpoints: Where the storage states of earlier steps are; None = an episode cannot be restored from one.
            tell: Hears what site a lane waits for, and "" when it goes on.
        """
        self.starts = 0
        """Browsers launched so far."""
        self._settings = settings
        self._sites = sites
        self._gear = Gear(
            settings=settings,
            restoring=restoring or RestoreSettings(),
            checkpoints=checkpoints,
            tell=tell,
        )
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._launching = asyncio.Lock()
        self._beginning: asyncio.Task[Browser] | None = None

    async def __aenter__(self) -> "Chromium":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._beginning is not None:
            await asyncio.wait([self._beginning])
        await self._stop()

    def begin(self) -> None:
        """Start the browser without waiting for it; what is wrong with it is said when an environment is opened."""
        self._beginning = asyncio.create_task(self._running())
        self._beginning.add_done_callback(lambda task: task.cancelled() or task.exception())

    @asynccontextmanager
    async def open(
        self, task: Task, lane: int, instances: Mapping[str, str] = NOWHERE_ELSE
    ) -> AsyncIterator[BrowserEnvironment]:
        """A fresh environment on one lane's sites, for one episode of `task`.

        Args:
            task: What is played.
            lane: Whose sites.
            instances: Site to real base URL, where that is another one than the lane's.

        Raises:
            ConfigError: No browser is installed.
            BrowserCrashed: It does not start.
        """
        browser = await self._running()
        sites = tuple(replace(site, url=instances.get(site.name, site.url)) for site in self._sites(lane))
        place = Lane(
            number=lane,
            sites=sites,
            addresses=Addresses(sites),
            guard=Guard(sites, allowed=self._settings.allowed),
        )
        environment = BrowserEnvironment(browser, place, self._gear)
        try:
            yield environment
        finally:
            await self._leave(environment, browser)

    async def version(self) -> str:
        """Of the browser, which is started for it if need be."""
        return (await self._running()).version

    async def _running(self) -> Browser:
        async with self._launching:
            if self._browser is None or not self._browser.is_connected():
                await self._stop()
                self._browser = await self._start()
            return self._browser

    async def _start(self) -> Browser:
        path = await asyncio.to_thread(executable.find, self._settings.executable, headless=self._settings.headless)
        try:
            _keep_compiled()
            driver = async_playwright()
            self._playwright = await driver.start()
            quicken(driver)
            sandbox = os.geteuid() != 0
            try:
                browser = await self._launch(self._playwright, path, sandbox=sandbox)
            except Error as exc:
                if not sandbox or "sandbox" not in exc.message.lower():
                    raise
                logger.warning("Chromium's sandbox does not work here (%s); going on without it", first_line(exc))
                browser = await self._launch(self._playwright, path, sandbox=False)
        except Error as exc:
            raise BrowserCrashed(f"{path} does not start: {first_line(exc)}") from exc
        self.starts += 1
        return browser

    async def _launch(self, playwright: Playwright, path: str, *, sandbox: bool) -> Browser:
        return await playwright.chromium.launch(
            executable_path=path,
            headless=self._settings.headless,
            slow_mo=self._settings.slow_mo_ms,
            args=switches(self._settings.launch_args),
            chromium_sandbox=sandbox,
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )

    async def _leave(self, environment: BrowserEnvironment, browser: Browser) -> None:
        try:
            async with asyncio.timeout(_CLOSES_WITHIN_S):
                await environment.close()
        except (TimeoutError, Error, BrowserCrashed) as exc:
            logger.warning("a browser that does not let go of an episode is replaced: %s", exc)
            if self._browser is browser:
                self._browser = None
                await self._end(browser)

    async def _stop(self) -> None:
        browser, self._browser = self._browser, None
        if browser is not None:
            await self._end(browser)
        playwright, self._playwright = self._playwright, None
        if playwright is not None:
            try:
                async with asyncio.timeout(_CLOSES_WITHIN_S):
                    await playwright.stop()
            except (TimeoutError, Error) as exc:
                logger.warning("the browser's driver did not stop: %s", exc)

    async def _end(self, browser: Browser) -> None:
        try:
            async with asyncio.timeout(_CLOSES_WITHIN_S):
                await browser.close()
        except (TimeoutError, Error) as exc:
            logger.warning("the browser did not close: %s", exc)


def _keep_compiled() -> None:
    """Let playwright's driver keep its code compiled: it starts with a third less work, in every worker.

    Not in a place all may write to, as what is found there is run; where nobody may write, it starts as ever.
    """
    with suppress(RuntimeError):  # a user without a home
        os.environ.setdefault("NODE_COMPILE_CACHE", str(Path("~/.cache/cairn/driver").expanduser()))
