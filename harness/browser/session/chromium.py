"""One Chromium per worker, one fresh context per episode; where frames are drawn on demand, one per lane.

The browser starts when the first episode needs it, and again after a crash; `starts` counts. Contexts are closed, so no
episode leaves anything for the next. A browser that does not close a context in time, or cannot open one, is replaced:
its other episodes continue while it works, and it ends with the last of them. If a browser with several episodes
crashes, the cause is unknown: their next attempts request a separate browser.
"""

import asyncio
import logging
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from types import MappingProxyType, TracebackType

import psutil
from playwright.async_api import Browser, Error, Playwright

from harness.api import Artifacts, Benchmark
from harness.browser.acting.clipboard import BrowserClipboard
from harness.browser.driver import executable
from harness.browser.driver.child_environment import browser_environment
from harness.browser.driver.chromium_flags import switches
from harness.browser.driver.devtools_pipe import DevToolsPipe
from harness.browser.driver.driver_start import start_driver
from harness.browser.driver.frame_queue import SWITCHES as ON_DEMAND
from harness.browser.driver.frame_queue import FrameQueue
from harness.browser.driver.memory_watch import MemoryWatch
from harness.browser.driver.pipe_receiver import shared_pipe
from harness.browser.driver.playwright_errors import crashed, first_line, last_error_line
from harness.browser.driver.process_watch import ProcessWatch, browser_pid
from harness.browser.network.addresses import Addresses
from harness.browser.network.allowlist import Allowlist
from harness.browser.network.page_proxy import PageProxy
from harness.browser.network.system_proxy import SystemProxies
from harness.browser.page_settings import PageSettings
from harness.browser.session.browser_session import SiteBinding
from harness.browser.session.environment import BrowserEnvironment, EnvironmentDeps
from harness.browser.visit_policy import NO_VISITS, BrowserVisits, VisitPolicy
from harness.errors import BrowserCrashed, BrowserLost, UsageError
from harness.records import Site, Task
from harness.settings.browser import BrowserSettings
from harness.settings.observation import ObservationSettings
from harness.settings.resume import ResumeSettings

logger = logging.getLogger(__name__)

_CLOSES_WITHIN_S = 5.0
_OPENS_WITHIN_S = 5.0
_STARTS_WITHIN_S = 30.0
_PAUSES_S = (1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0, 10.0)
"""Between the tries to start a browser; of the first one of all, only two: then something is wrong with the machine."""
_AS_DECLARED = ObservationSettings()
_RESUMES_AS_DECLARED = ResumeSettings()
NOWHERE_ELSE: Mapping[str, str] = MappingProxyType({})


class ChromiumPool:
    """An `EnvironmentFactory` in this process."""

    def __init__(  # noqa: PLR0913 (what a worker is made of)
        self,
        settings: BrowserSettings,
        *,
        sites: Callable[[int], tuple[Site, ...]],
        observation: ObservationSettings = _AS_DECLARED,
        appends: bool = False,
        visits: VisitPolicy = NO_VISITS,
        shared: bool = False,
        restoring: ResumeSettings = _RESUMES_AS_DECLARED,
        checkpoints: Artifacts | None = None,
        tell: Callable[[int, str], None] = lambda lane, note: None,
        benchmark: Benchmark | None = None,
    ) -> None:
        """Nothing is started yet.

        Args:
            sites: The sites as a lane reaches them.
            observation: What an agent is shown of a page.
            appends: See `PageSettings`.
            visits: How live sites are visited.
            shared: A process may drive the browser beside us: its DevTools pipe is shared, see `devtools_pipe`.
            restoring: How interrupted episodes go on.
            checkpoints: Where the storage states of earlier steps are; None = an episode cannot be restored from one.
            benchmark: What the tasks are of, when it is code.
            tell: Hears what site a lane waits for, and "" when it goes on.
        """
        self.starts = 0
        """Browsers launched so far."""
        self._settings = settings
        self._sites = sites
        self._visits = visits
        self._shared = shared
        self._deps = EnvironmentDeps(
            pages=PageSettings(browser=settings, observation=observation, appends=appends),
            restoring=restoring,
            checkpoints=checkpoints,
            benchmark=benchmark,
            tell=tell,
        )
        self._pages = PageProxy(SystemProxies.named() if settings.allowed == "any" else SystemProxies())
        self._current: dict[int, _Chromium] = {}
        """The browsers new episodes get: by lane, or the one of all lanes as that of lane 0."""
        self._replaced: list[_Chromium] = []
        """Browsers that no new episode gets, and that some are still in."""
        self._launching: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._driver: _Driver | None = None
        """Of the browsers that new episodes get."""
        self._driving = asyncio.Lock()
        self._beginning: asyncio.Task[_Chromium] | None = None

    async def __aenter__(self) -> "ChromiumPool":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._beginning is not None:
            await asyncio.wait([self._beginning])
        for chromium in [*self._current.values()]:
            self._replace(chromium)
        while self._replaced:
            await self._end(self._replaced.pop())
        self._pages.close()

    def begin(self, lane: int = 0) -> None:
        """Start the browser of a lane without waiting for it; what is wrong with it is said when an environment is
        opened.
        """
        # On another core the model client is imported meanwhile, which takes a second.
        self._beginning = asyncio.create_task(self._running(lane))
        # Nobody may wait for it, and the loop would log its error.
        self._beginning.add_done_callback(lambda task: task.cancelled() or task.exception())

    @asynccontextmanager
    async def open(
        self, task: Task, lane: int, instances: Mapping[str, str] = NOWHERE_ELSE, *, alone: bool = False
    ) -> AsyncIterator[BrowserEnvironment]:
        """A fresh environment on one lane's sites, for one episode of `task`.

        Args:
            instances: Site to real base URL, where that is another one than the lane's.
            alone: In a browser without other episodes.

        Raises:
            ConfigError: No browser is installed.
            BrowserCrashed: It does not start, or crashed with only this episode in it.
            BrowserLost: It broke while others were in it.
        """
        chromium = await self._exclusive() if alone else await self._running(lane)
        sites = tuple(replace(site, url=instances.get(site.name, site.url)) for site in self._sites(lane))
        guard = Allowlist(sites, allowed=self._settings.allowed, visits=self._visits)
        async with self._used(chromium), AsyncExitStack() as serving:
            server = await serving.enter_async_context(self._pages.serving(guard)) if guard.is_open else ""
            place = SiteBinding(
                number=lane,
                sites=sites,
                addresses=Addresses(sites),
                guard=guard,
                proxy=guard.proxy(server, self._pages.proxies.goes_directly),
                ended_process=chromium.processes.now,
                memory=chromium.memory,
                clipboard=chromium.clipboard,
                visits=chromium.visits,
                devtools=chromium.devtools,
                frames=chromium.frames,
            )
            async with self._episode(chromium, BrowserEnvironment(chromium.browser, place, self._deps)) as environment:
                yield environment

    @asynccontextmanager
    async def _used(self, chromium: "_Chromium") -> AsyncIterator[None]:
        """Keep a browser for an episode, from the moment on at which it gets it."""
        chromium.users += 1
        try:
            yield
        finally:
            chromium.users -= 1
            if chromium in self._replaced and not chromium.users:
                self._replaced.remove(chromium)
                await self._end(chromium)

    @asynccontextmanager
    async def _episode(
        self, chromium: "_Chromium", environment: BrowserEnvironment
    ) -> AsyncIterator[BrowserEnvironment]:
        """One episode in a browser."""
        try:
            yield environment
        except BrowserCrashed as exc:
            if exc.whole or not await chromium.opens_windows():
                logger.warning("replacing a broken browser: %s", exc)
                await self._mark_broken(chromium)
                # It is closed when its last episode leaves: at once, others would lose an attempt for a window that did
                # not open.
                self._replace(chromium)
            # Any of them may be the cause, so the next attempt decides: each episode is alone in a browser then.
            if chromium.lost_episodes > 1:
                lost = BrowserLost(str(exc), whole=True)
                lost.unsent = exc.unsent
                raise lost from exc
            raise
        finally:
            await self._leave(environment, chromium)

    async def _mark_broken(self, chromium: "_Chromium") -> None:
        """No episode can use it any more; nor one of the others of its driver, if that is what ended."""
        chromium.mark_broken()
        started = tuple(chromium.driver.running)  # while they are asked, one may end
        users = sum(one.users for one in started)
        if len(started) > 1 and not any(await asyncio.gather(*(one.opens_windows() for one in started))):
            for one in started:
                one.lost_episodes = max(one.lost_episodes, users)

    async def version(self) -> str:
        """Version of the browser, which is started for it if necessary."""
        return (await self._running(next(iter(self._current), 0))).browser.version

    async def _running(self, lane: int) -> "_Chromium":
        if not self._wants_frames or not executable.is_shell(await self._path()):
            lane = 0
        async with self._launching[lane]:
            chromium = self._current.get(lane)
            if chromium is not None and (chromium.lost_episodes or not chromium.browser.is_connected()):
                await self._retire(chromium)
            if lane not in self._current:
                self._current[lane] = await self._start()
            return self._current[lane]

    async def _exclusive(self) -> "_Chromium":
        """A browser for one episode only; it ends with that episode."""
        # The others do not wait: a second browser costs about 100 MB for one episode.
        async with self._launching[0]:
            chromium = await self._start(alone=True)
        self._replaced.append(chromium)
        return chromium

    async def _start(self, *, alone: bool = False) -> "_Chromium":
        chromium = await self._launched(alone=alone)
        self.starts += 1
        # A browser that nobody gets must not stay behind.
        async with AsyncExitStack() as undo:
            undo.push_async_callback(self._end, chromium)
            try:
                chromium.visits = await self._visits.guard(chromium.browser)
            except Error as exc:
                raise crashed(exc, "the policy of its visits was set up") from exc
            if (most_mb := self._settings.max_memory_mb) is not None:
                await chromium.bound_memory(most_mb)
            undo.pop_all()
        return chromium

    async def _launched(self, *, alone: bool) -> "_Chromium":
        """A browser that runs. What keeps one from starting, such as a full disk, does not fail an episode.

        Raises:
            UsageError: None started in several tries.
        """
        for pause_s in _PAUSES_S if self.starts else _PAUSES_S[:2]:
            try:
                return await self._try_launch(alone=alone)
            except BrowserCrashed as exc:
                logger.warning("%s; trying again in %g s", exc, pause_s)
            await asyncio.sleep(pause_s)
        try:
            return await self._try_launch(alone=alone)
        except BrowserCrashed as exc:
            raise UsageError(
                f"{exc}; `harness doctor` may say why; mend this, then run the same command again"
            ) from exc

    async def _try_launch(self, *, alone: bool) -> "_Chromium":
        path = await self._path()
        driver = await self._driven(alone=alone)
        sandbox = os.geteuid() != 0  # Chromium refuses root its sandbox
        try:
            try:
                return await self._launch(driver, path, sandbox=sandbox)
            except Error as exc:
                if not sandbox or "sandbox" not in exc.message.lower():
                    raise
                logger.warning("Chromium's sandbox does not work here (%s); continuing without it", first_line(exc))
                return await self._launch(driver, path, sandbox=False)
        except Error as exc:
            await self._leave_driver(driver)
            # Asked for its version only now, so that no start is slower for it.
            await asyncio.to_thread(executable.refuse_stranger, path)
            raise BrowserCrashed(f"{path} does not start: {first_line(exc)}{last_error_line(exc)}") from exc

    async def _path(self) -> str:
        return await asyncio.to_thread(executable.find, self._settings.executable, headless=self._settings.headless)

    async def _driven(self, *, alone: bool) -> "_Driver":
        """The driver for a further browser, for which it is kept until `_leave_driver`."""
        async with self._driving:
            driver = None if alone else self._driver
            if driver is None:
                try:
                    driver = _Driver(await start_driver())
                except Error as exc:
                    raise BrowserCrashed(f"the browser's driver does not start: {first_line(exc)}") from exc
                if not alone:
                    self._driver = driver
            driver.browsers += 1
            return driver

    async def _leave_driver(self, driver: "_Driver") -> None:
        """Stop it with its last browser, and use it for no new one: it may be what failed."""
        if self._driver is driver:
            self._driver = None
        driver.browsers -= 1
        if not driver.browsers:
            await driver.stop()

    async def _launch(self, driver: "_Driver", path: str, *, sandbox: bool) -> "_Chromium":
        async with AsyncExitStack() as starting:
            devtools, on_demand = None, self._wants_frames and executable.is_shell(path)
            # A debugging port has no credential: pages of this browser and every process of the machine could use it.
            if self._shared:
                path, devtools = await starting.enter_async_context(shared_pipe(path))
            launching = driver.playwright.chromium.launch(
                # The limit below leaves out the time in which this process is frozen, which the driver counts.
                timeout=0,
                executable_path=path,
                env={**browser_environment(os.environ)},
                headless=self._settings.headless,
                slow_mo=self._settings.slow_mo_ms,
                args=switches(resolver_rules=self._visits.resolver_rules, further=ON_DEMAND if on_demand else ()),
                chromium_sandbox=sandbox,
                # Playwright would close the browser at Ctrl-C, while the steps under way are to finish.
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
            try:
                async with asyncio.timeout(_STARTS_WITHIN_S):
                    browser = await launching
            except TimeoutError as exc:
                raise Error(f"it did not open within {_STARTS_WITHIN_S:g} s") from exc
        return _Chromium(browser, driver, devtools, FrameQueue() if on_demand else None)

    @property
    def _wants_frames(self) -> bool:
        """Whether frames are drawn on demand where Chromium can. A process that drives the browser asks for none."""
        # Only with a browser for each lane, so a setting has to ask for it.
        return self._settings.rendering == "on_demand" and not self._shared and self._settings.headless

    async def _leave(self, environment: BrowserEnvironment, chromium: "_Chromium") -> None:
        try:
            async with asyncio.timeout(_CLOSES_WITHIN_S):
                await environment.close()
        except (TimeoutError, Error, BrowserCrashed) as exc:
            logger.warning("replacing a browser that did not close an episode: %s", exc)
            self._replace(chromium)

    def _replace(self, chromium: "_Chromium") -> None:
        """Give it to no new episode."""
        for lane, one in [*self._current.items()]:
            if one is chromium:
                del self._current[lane]
                self._replaced.append(chromium)
                self._driver = None  # the failure may be its own

    async def _retire(self, chromium: "_Chromium") -> None:
        """As `_replace`, and end it if no episode is in it."""
        self._replace(chromium)
        if not chromium.users:
            self._replaced.remove(chromium)
            await self._end(chromium)

    async def _end(self, chromium: "_Chromium") -> None:
        chromium.end()
        try:
            async with asyncio.timeout(_CLOSES_WITHIN_S):
                await chromium.browser.close()
        except (TimeoutError, Error) as exc:
            logger.warning("the browser did not close: %s", exc)
        chromium.driver.running.discard(chromium)
        await self._leave_driver(chromium.driver)


class _Driver:
    """A process of playwright's, through which browsers are spoken to."""

    def __init__(self, playwright: Playwright) -> None:
        self.playwright = playwright
        self.browsers = 0
        """That are spoken to, or are to be."""
        self.running: set[_Chromium] = set()
        """Those that have started."""

    async def stop(self) -> None:
        try:
            async with asyncio.timeout(_CLOSES_WITHIN_S):
                await self.playwright.stop()
        except (TimeoutError, Error) as exc:
            logger.warning("the browser's driver did not stop: %s", exc)


class _Chromium:
    """One started browser, with the driver it is spoken to through."""

    def __init__(
        self, browser: Browser, driver: _Driver, devtools: DevToolsPipe | None, frames: FrameQueue | None
    ) -> None:
        """
        Args:
            devtools: Where a process may drive the browser beside us; None = nowhere.
            frames: Where its pages get their frames; None = from itself.
        """
        self.browser = browser
        self.driver = driver
        driver.running.add(self)
        self.devtools = devtools
        self.frames = frames
        self.clipboard = BrowserClipboard(browser)
        self.processes = ProcessWatch(browser)
        self.memory: MemoryWatch | None = None
        self.visits: BrowserVisits = NO_VISITS
        self.users = 0
        """Episodes that are in it."""
        self.lost_episodes = 0
        """Episodes that were in it when it broke, or with it in those of its driver; 0 = it works."""
        browser.on("disconnected", lambda _: self.mark_broken())

    async def bound_memory(self, most_mb: float) -> None:
        with suppress(Error, psutil.Error):  # it is gone already, which is noticed where it is used
            pid = await browser_pid(self.browser)
            self.memory = MemoryWatch(pid, most_mb=most_mb, episodes=lambda: self.users)

    def end(self) -> None:
        """Stop watching."""
        if self.memory is not None:
            self.memory.end()

    def mark_broken(self) -> None:
        """No episode can use it any more; later calls are ignored."""
        self.lost_episodes = self.lost_episodes or self.users

    async def opens_windows(self) -> bool:
        """Whether it does; one whose processes were lost may be connected all the same."""
        if self.lost_episodes:
            return False
        try:
            async with asyncio.timeout(_OPENS_WITHIN_S):
                await (await self.browser.new_page()).close()
        except (TimeoutError, Error):
            return False
        return True
