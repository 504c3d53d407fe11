"""A browser for the whole module run, and small real web sites for it to look at."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.async_api import CDPSession, Page

from harness.browser.environment import BrowserEnvironment
from harness.browser.session import Chromium
from harness.browser.settings import BrowserSettings, RestoreSettings
from harness.records import Episode, Eval, Node, Site, Task, View

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


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    web = Web()
    server = await asyncio.start_server(web.serve, "127.0.0.1", 0)
    web.port = server.sockets[0].getsockname()[1]
    yield web
    server.close()


@dataclass(frozen=True)
class Seen:
    text: str
    nodes: Mapping[str, Node]
    backends: Mapping[str, int]


class PlainEyes:
    """Enough of an observer to test everything around it: named nodes of the accessibility tree, one per line."""

    async def read(self, page: Page, cdp: CDPSession) -> Seen:
        tree: Any = await cdp.send("Accessibility.getFullAXTree")
        nodes: dict[str, Node] = {}
        backends: dict[str, int] = {}
        counts: dict[tuple[str, str], int] = {}
        for raw in tree["nodes"]:
            role, name = (str(raw.get(key, {}).get("value", "")) for key in ("role", "name"))
            if not name or raw.get("ignored") or "backendDOMNodeId" not in raw:
                continue
            value = raw.get("value", {}).get("value", "")
            nth = counts.get((role, name), 0)
            counts[role, name] = nth + 1
            id = str(len(nodes) + 1)
            nodes[id] = Node(role=role, name=name, nth=nth, line=f"{role} {name!r} {value}".strip(), box=None)
            backends[id] = raw["backendDOMNodeId"]
        return Seen("\n".join(f"[{id}] {node.line}" for id, node in nodes.items()), nodes, backends)


def a_task(web: Web, *paths: str, **kwargs: Any) -> Task:
    urls = tuple(f"http://shop.localhost{path}" for path in paths or ("/",))
    defaults: dict[str, Any] = {"sites": ("shop",), "intent": "look", "eval": Eval(eval_types=("string_match",))}
    return Task(task_id="1", start_urls=urls, **{**defaults, **kwargs})


def the(view: View, role: str, name: str) -> str:
    """Id of the first node with this role and name."""
    return next(id for id, node in view.nodes.items() if (node.role, node.name) == (role, name))


QUICK = BrowserSettings(settle_timeout_s=2.0, action_timeout_s=3.0, navigation_timeout_s=4.0, step_deadline_s=12.0)
Opened = Callable[..., Any]


@asynccontextmanager
async def opened(
    web: Web, *paths: str, settings: BrowserSettings = QUICK, sites: tuple[Site, ...] | None = None, **task: Any
) -> AsyncIterator[tuple[BrowserEnvironment, View]]:
    """An environment standing on a task's start pages, in a browser of its own."""
    async with Chromium(
        settings, sites=lambda _: sites or (web.site,), restoring=RestoreSettings(), observer=PlainEyes
    ) as pool:
        wanted = a_task(web, *paths, **task)
        async with pool.open(wanted, 0) as env:
            restored = await env.restore(wanted, Episode())
            yield env, restored.view


def ids_out(text: str) -> str:
    return re.sub(r"\[\d+\] ", "", text)
