"""Where a chaos run plays: sites and scripted endpoint in the driver's own process, so that their logs outlive every
kill.

With `shifting`, each reset makes a tenant's site another edition, told by the titles of its pages: a browser that is
led back there finds pages that are not the recorded ones.
"""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos_checks import Place

from harness.browser.network.http import fetch
from harness.codec import loads
from harness.loopback_server import serving
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripts import read_plans
from harness.plugins.demo.registry import SITES
from harness.plugins.demo.tenants import HOST, SitesApp
from harness.tasks import load

PROJECT = Path(__file__).resolve().parent.parent
NAMES = tuple(site.name for site in SITES)
CANONICAL = {name: f"http://{name}.localhost" for name in NAMES}


class Sites:
    """The sites' application, watched: tells of every write, and changes with every reset when it is `shifting`."""

    def __init__(self, *, shifting: bool) -> None:
        self.written = asyncio.Event()
        """Set by each effect, before the page hears of it."""
        self.shifting = shifting
        self.on_reset: Callable[[str, bool], None] = lambda host, is_done: None
        """Is told the host of each reset, before and after it."""
        self._app = SitesApp(SITES)
        self._editions: Counter[str] = Counter()

    def content(self, host: str) -> tuple[str, ...]:
        """What a tenant's site holds, without logins, which a reset keeps."""
        found = HOST.fullmatch(host)
        assert found is not None
        return content_of(self._app._sites[found[2]].tenant(found[1] or "t0").db)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        host = dict(scope["headers"]).get(b"host", b"").decode()
        is_reset = scope["path"] == "/__reset__"
        if is_reset:
            self._editions[host] += 1
            self.on_reset(host, False)
        told: list[dict[str, Any]] = []

        async def hold(message: dict[str, Any]) -> None:
            told.append(message)

        await self._app(scope, receive, hold if self.shifting else send)
        if is_reset:
            self.on_reset(host, True)
        elif scope["method"] == "POST" and scope["path"] != "/login":
            self.written.set()
        for message in self._shifted(told, self._editions[host]):
            await send(message)

    def _shifted(self, told: Sequence[dict[str, Any]], edition: int) -> Sequence[dict[str, Any]]:
        if not told or not any(b"text/html" in value for _, value in told[0]["headers"]):
            return told
        body = b"".join(message.get("body", b"") for message in told[1:])
        body = body.replace(b"</title>", f" · edition {edition}</title>".encode(), 1)
        headers = [pair for pair in told[0]["headers"] if pair[0] != b"content-length"]
        return [{**told[0], "headers": headers}, {"type": "http.response.body", "body": body}]


def content_of(db: sqlite3.Connection) -> tuple[str, ...]:
    """All rows but logins."""
    return tuple(line for line in db.iterdump() if not line.startswith('INSERT INTO "sessions"'))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The servers while they stand."""

    sites: Sites
    sites_port: int
    endpoint_port: int
    tenants: tuple[str, ...]
    passed: dict[str, Any] = field(default_factory=dict)
    """What had been logged when the present run began."""

    async def writes(self) -> dict[Place, list[dict[str, Any]]]:
        """What each tenant's site was told since the present run began."""
        found = {}
        for tenant in self.tenants:
            for name in NAMES:
                answer = await fetch(f"http://{tenant}.{name}.localhost:{self.sites_port}/__writes__")
                found[tenant, name] = loads(answer.body)[self.passed.get("writes", {}).get((tenant, name), 0) :]
        return found

    async def requests(self) -> list[dict[str, Any]]:
        """What the endpoint was asked since the present run began."""
        answer = await fetch(f"http://127.0.0.1:{self.endpoint_port}/__requests__")
        return loads(answer.body)[self.passed.get("requests", 0) :]  # type: ignore[no-any-return]

    async def begin(self) -> None:
        """Count from here."""
        self.passed.clear()
        writes, requests = await self.writes(), await self.requests()
        self.passed.update(writes={place: len(one) for place, one in writes.items()}, requests=len(requests))


@asynccontextmanager
async def stage(*, tenants: int, shifting: bool, latency_ms: float) -> AsyncIterator[Stage]:
    """Serve sites and endpoint until the context is left."""
    intents = {task.task_id: task.intent for task in load(str(PROJECT / "tasks" / "demo.json"), CANONICAL)}
    placeholders = {f"__{name.upper()}__": base for name, base in CANONICAL.items()}
    plans = read_plans(PROJECT / "tasks" / "demo.plans.json", intents, placeholders=placeholders)
    sites = Sites(shifting=shifting)
    async with AsyncExitStack() as closing:
        yield Stage(
            sites=sites,
            sites_port=await closing.enter_async_context(serving(sites)),
            endpoint_port=await closing.enter_async_context(serving(endpoint_app(plans, latency_ms=latency_ms))),
            tenants=tuple(f"t{number}" for number in range(tenants)),
        )
