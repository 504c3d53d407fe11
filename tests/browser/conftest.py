"""One real browser, and a small web site each test writes for it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

from harness.actions import Action, Click, Target
from harness.browser.session.chromium import ChromiumPool
from harness.browser.session.environment import BrowserEnvironment
from harness.protocols import StepResult
from harness.records import Episode, Eval, LiveObservation, Outcome, Site, Task
from harness.settings.browser import BrowserSettings

Answer = tuple[int, dict[str, str], str]
Handler = Callable[["Asked"], Awaitable[Answer]]


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: str


def html(body: str, *, title: str = "Page", headers: dict[str, str] | None = None) -> Answer:
    return 200, headers or {}, f"<!doctype html><html lang=en><title>{title}</title><body>{body}</body></html>"


@dataclass
class Web:
    """An HTTP server whose pages a test writes down; every request is kept."""

    port: int = 0
    pages: dict[str, Answer | Handler] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    browser: ChromiumPool | None = None

    def pool(self, settings: BrowserSettings | None = None, *sites: Site, **how: Any) -> ChromiumPool:
        """Episodes on `sites` (none = the one of this server) with settings of their own, in the browser of all tests."""
        assert self.browser is not None
        return Lodger(self.browser, settings or QUICK, sites=lambda _: sites or (self.site,), **how)

    @property
    def site(self) -> Site:
        return Site(name="shop", url=f"http://t0.shop.localhost:{self.port}", canonical="http://shop.localhost")

    def page(self, path: str, body: str, *, title: str = "Page", delay_s: float = 0.0) -> None:
        async def answer(_: Asked) -> Answer:
            await asyncio.sleep(delay_s)  # the server is slow; nobody waits by this
            return html(body, title=title)

        self.pages[path] = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *rest = head.split("\r\n")
            method, target, _ = first.split(" ")
            headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in rest if line)}
            body = (await reader.readexactly(int(headers.get("content-length", 0)))).decode()
            path, _, query = target.partition("?")
            asked = Asked(method, path, query, headers, body)
            if path != "/favicon.ico":
                self.asked.append(asked)
            found = self.pages.get(path, (404, {}, "<title>Missing</title>nothing here"))
            status, more, text = found if isinstance(found, tuple) else await found(asked)
            data = text.encode()
            lines = {"content-type": "text/html; charset=utf-8", "content-length": str(len(data)), **more}
            top = f"HTTP/1.1 {status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
            writer.write(top.encode() + b"connection: close\r\n\r\n" + data)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


class Lodger(ChromiumPool):
    """A pool in the browser of another one: starting a browser takes longer than most tests. Not for tests that break it."""

    def __init__(self, host: ChromiumPool, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self._host = host

    async def _running(self, lane: int) -> Any:
        return await self._host._running(lane)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server() -> AsyncIterator[Web]:
    web = Web()
    listening = await asyncio.start_server(web.serve, "127.0.0.1", 0)
    web.port = listening.sockets[0].getsockname()[1]
    async with ChromiumPool(QUICK, sites=lambda _: (web.site,)) as web.browser:
        yield web
    listening.close()


@pytest.fixture
def web(server: Web) -> Web:
    server.pages.clear()
    server.asked.clear()
    return server


@pytest.fixture(scope="session")
def chromium(server: Web) -> ChromiumPool:
    """For all tests that need no settings of their own."""
    assert server.browser is not None
    return server.browser


def a_task(web: Web, *paths: str, **kwargs: Any) -> Task:
    urls = tuple(f"http://shop.localhost{path}" for path in paths or ("/",))
    defaults: dict[str, Any] = {"sites": ("shop",), "intent": "look", "eval": Eval(eval_types=("string_match",))}
    return Task(task_id="1", start_urls=urls, **{**defaults, **kwargs})


QUICK = BrowserSettings(
    settle_timeout_s=2.0,
    action_timeout_s=3.0,
    navigation_timeout_s=3.0,
    step_deadline_s=12.0,
    allowed="sites",
    screenshots=False,
)


class Visit:
    """An episode in progress, told in the words of a test."""

    def __init__(self, env: BrowserEnvironment, view: LiveObservation) -> None:
        self.env = env
        self.view = view
        self.landed: StepResult | None = None

    @property
    def text(self) -> str:
        return self.view.observation.text

    @property
    def notices(self) -> str:
        return "\n".join(self.view.observation.notices)

    @property
    def outcome(self) -> Outcome:
        assert self.landed is not None
        return self.landed.outcome

    def target(self, role: str, name: str, nth: int = 0) -> Target:
        for id, node in self.view.nodes.items():
            if (node.role, node.name, node.nth) == (role, name, nth):
                return Target(id=id, role=role, name=name, nth=nth)
        raise AssertionError(f"no {role} {name!r} in\n{self.text}")

    async def act(self, action: Action) -> str:
        self.landed = await self.env.act(action)
        self.view = self.landed.view
        return self.text

    async def click(self, role: str, name: str) -> str:
        return await self.act(Click(target=self.target(role, name)))


@asynccontextmanager
async def visiting(pool: ChromiumPool, web: Web, *paths: str, lane: int = 0, **fields: Any) -> AsyncIterator[Visit]:
    """Stand on a task's start pages."""
    task = a_task(web, *paths, **fields)
    async with pool.open(task, lane) as env:
        restored = await env.restore(task, Episode())
        yield Visit(env, restored.view)
