"""Asks a benchmark about an episode, and runs its scripts in the current tab. Calls are bounded, answers checked."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, TypeVar

from playwright.async_api import Error

from harness.actions.truncate import cut
from harness.api import Benchmark, Reward, SiteAnswer
from harness.browser.driver.playwright_errors import closed, first_line, gone, page_left
from harness.browser.network import http
from harness.browser.network.addresses import host_of
from harness.browser.session.browser_session import BrowserSession
from harness.browser.session.page_values import LARGEST, MOST_ITEMS, bounded
from harness.codec import dumps
from harness.errors import ActionFailed, HarnessError, PluginFailed, SiteUnavailable, plugin_boundary, said_by
from harness.records import Opened, Task

_NAVIGATIONS = 3
"""How often a script is started again because the page went elsewhere meanwhile."""
_SHOWN = 200
MOST_KEPT = 40_000_000
"""Bytes that a benchmark may store with the evidence of an episode."""
_LONGEST_INTENT = 20_000
T = TypeVar("T")


class SessionPage:
    """The current tab of a window; implements `harness.api.BenchmarkPage`."""

    def __init__(self, window: BrowserSession, opened: Opened | None) -> None:
        self._window = window
        self._opened = opened
        self.kept: dict[str, bytes] = {}
        """What the benchmark stores, by hash."""

    @property
    def url(self) -> str:
        return self._window.lane.addresses.to_canonical(self._window.tabs.current.url)

    @property
    def seed(self) -> int:
        return 0 if self._opened is None else self._opened.seed

    @property
    def files(self) -> Mapping[str, str]:
        return {} if self._opened is None else self._opened.files

    async def goto(self, url: str) -> None:
        try:
            await self._window.actor.goto(url)
        except ActionFailed as error:
            raise SiteUnavailable(f"the benchmark opened {cut(url, _SHOWN)}: {error}") from error
        await self._window.settler.settle()

    @asynccontextmanager
    async def tab(self, url: str) -> AsyncIterator["SessionPage"]:
        mine = self._window.tabs.current
        other = await self._window.tabs.open()
        try:
            await self.goto(url)
            yield self
        finally:
            if not other.page.is_closed():
                await self._window.tabs.close(other)
            if not mine.page.is_closed():
                await self._window.tabs.focus(mine)

    async def fetch(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> SiteAnswer:
        lane = self._window.lane
        real = lane.addresses.to_real(url)
        hosts = {host_of(site.url) for site in lane.sites}
        if _host(real) not in hosts:
            raise PluginFailed(f"{http.shown(url)} is on no site of the run")
        answer = await http.fetch(
            real,
            method=method,
            headers=headers,
            body=body,
            timeout_s=self._window.settings.navigation_timeout_s,
            allowed=lambda asked: _host(asked) in hosts,
        )
        return SiteAnswer(status=answer.status, body=answer.body)

    def keep(self, data: bytes) -> str:
        self.kept[digest := sha256(data).hexdigest()] = data
        if (size := sum(map(len, self.kept.values()))) > MOST_KEPT:
            raise PluginFailed(f"the benchmark kept {size} bytes; the limit is {MOST_KEPT}")
        return digest

    def canonical(self, text: str) -> str:
        return self._window.lane.addresses.to_canonical(text)

    async def evaluate(self, script: str, argument: Any = None) -> Any:
        limit_s = self._window.settings.action_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                found = await self._evaluated(bounded(f"({script})", given="argument"), argument)
        except TimeoutError as error:
            raise PluginFailed(f"{_shown(script)} returned nothing within {limit_s:g} s") from error
        except (TypeError, ValueError, OverflowError, RecursionError) as error:  # playwright's, of what it cannot read
            raise PluginFailed(f"{_shown(script)} returned a value that is not JSON") from error
        if not isinstance(found, list):
            raise PluginFailed(f"{_shown(script)} returned more than {LARGEST} bytes or {MOST_ITEMS} values")
        json_of(found[0], _shown(script))
        return found[0]

    async def _evaluated(self, script: str, argument: Any) -> Any:
        for navigation in range(_NAVIGATIONS):
            tab = (await self._window.settler.settle()) if navigation else self._window.tabs.current
            try:
                return await tab.page.evaluate(script, argument)
            except Error as error:
                if gone(error) and not closed(error):
                    raise
                if not page_left(error):
                    raise PluginFailed(f"a script of the benchmark failed: {first_line(error)}") from error
        raise PluginFailed("the page navigates away whenever a script of the benchmark runs")


class BenchmarkCalls:
    """A benchmark, asked about one task in one window."""

    def __init__(
        self,
        benchmark: Benchmark,
        window: BrowserSession,
        *,
        task: Task,
        opened: Opened | None,
    ) -> None:
        self._benchmark = benchmark
        self._window = window
        self._task = task
        self._page = SessionPage(window, opened)

    async def prepare(self) -> str:
        """The objective; "" = the task's own."""
        intent = await self._call("prepare", self._benchmark.prepare(self._page, self._task))
        if intent is not None and not isinstance(intent, str):
            raise PluginFailed(f"the benchmark's prepare returned {type(intent).__name__}, not a str or None")
        return cut(intent or "", _LONGEST_INTENT)

    async def reward(self) -> Reward | None:
        found = await self._call("reward", self._benchmark.reward(self._page, self._task))
        if found is not None and not isinstance(found, Reward):
            raise PluginFailed(f"the benchmark's reward returned {type(found).__name__}, not a Reward or None")
        if found is not None and not isinstance(found.done, bool):
            raise PluginFailed(f"the benchmark's reward returned done={found.done!r:.80}, not True or False")
        return found

    async def evidence(self) -> bytes | None:
        """The evidence as JSON."""
        found = await self._call("evidence", self._benchmark.evidence(self._page, self._task))
        return None if found is None else json_of(found, "the benchmark's evidence")

    @property
    def kept(self) -> tuple[bytes, ...]:
        """What belongs to the evidence."""
        return tuple(self._page.kept.values())

    async def _call(self, name: str, answer: Awaitable[T]) -> T:
        """Whatever the class raises costs this attempt of the task."""

        def failed(error: BaseException) -> PluginFailed:
            return PluginFailed(f"the benchmark's {name} raised {type(error).__name__}: {cut(said_by(error), _SHOWN)}")

        # playwright's error is a browser that went away: the caller's guard knows why
        with self._window.traffic.unrecorded(), plugin_boundary(failed, passes=(HarnessError, Error)):
            return await answer


def _host(url: str) -> str:
    """ "" for what is not an address."""
    try:
        return host_of(url)
    except ValueError:
        return ""


def json_of(value: Any, what: str) -> bytes:
    """Raises: PluginFailed: it is not JSON, or too large."""
    try:
        data = dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise PluginFailed(f"{what} is not JSON: {cut(str(error), _SHOWN)}") from error
    if len(data) > LARGEST:
        raise PluginFailed(f"{what} has {len(data)} bytes as JSON; the limit is {LARGEST}")
    return data


def _shown(script: str) -> str:
    return f"the benchmark's script {cut(' '.join(script.split()), _SHOWN)!r}"
