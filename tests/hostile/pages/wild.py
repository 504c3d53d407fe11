"""A site that answers with whatever bytes a row wants, as slowly or as endlessly as it wants, and visits to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from harness.actions import Action, Target
from harness.browser.session.chromium import ChromiumPool
from harness.browser.session.environment import BrowserEnvironment
from harness.protocols import RawEvidence, StepResult
from harness.records import Episode, Eval, HtmlTarget, LiveObservation, Outcome, Site, Task
from harness.settings.browser import BrowserSettings

QUICK = BrowserSettings(
    settle_timeout_s=0.5,
    action_timeout_s=3.0,
    navigation_timeout_s=3.0,
    step_deadline_s=30.0,
    allowed="sites",
    screenshots=True,
)
"""A hostile page is given up soon, so that a row takes no longer than it must."""
SLOW = replace(QUICK, settle_timeout_s=1.0, action_timeout_s=15.0, navigation_timeout_s=5.0, step_deadline_s=90.0)
Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]
CALM = "<!doctype html><title>Calm</title><p>all is calm</p>"


@dataclass
class Wild:
    """What stands at which path; where nothing does, a calm page."""

    port: int = 0
    pages: dict[str, str | bytes | Reply] = field(default_factory=dict)

    @property
    def site(self) -> Site:
        return Site(name="shop", url=f"http://shop.localhost:{self.port}", canonical="http://shop.localhost")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode("latin-1").partition("?")[0]
            answering = asyncio.create_task(answer(self.pages.get(path, CALM), writer))
            leaving = asyncio.create_task(reader.read())
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            for task in (answering, leaving):
                task.cancel()
            await asyncio.wait({answering, leaving})
            if not answering.cancelled() and not isinstance(answering.exception(), ConnectionError | type(None)):
                raise AssertionError("the wild site failed") from answering.exception()
        with suppress(ConnectionError):
            writer.close()


async def answer(page: str | bytes | Reply, writer: asyncio.StreamWriter) -> None:
    if isinstance(page, str):
        page = _whole(page.encode("utf-8", "surrogatepass"))
    if isinstance(page, bytes):
        writer.write(page)
        await writer.drain()
    else:
        await page(writer)


def _whole(body: bytes) -> bytes:
    return raw("content-type: text/html; charset=utf-8", f"content-length: {len(body)}", "connection: close", body=body)


def raw(*headers: str, body: bytes = b"", status: str = "200 OK") -> bytes:
    """An answer of these very bytes."""
    return "\r\n".join((f"HTTP/1.1 {status}", *headers, "", "")).encode() + body


def dripping(first: bytes, drop: bytes, every_s: float, times: int | None = None) -> Reply:
    """An answer that begins, and goes on for ever, or so many times."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        await writer.drain()
        while times is None or times > 0:
            await asyncio.sleep(every_s)  # the site is slow; nobody waits by this
            writer.write(drop)
            await writer.drain()

    return reply


def begun(first: bytes) -> Reply:
    """An answer that begins and never goes on."""
    return dripping(first, b"", 0.5)


@asynccontextmanager
async def wild_site() -> AsyncIterator[Wild]:
    wild = Wild()
    listening = await asyncio.start_server(wild.serve, "127.0.0.1", 0)
    wild.port = listening.sockets[0].getsockname()[1]
    try:
        yield wild
    finally:
        listening.close()


@dataclass
class Stay:
    """An episode in progress on the wild site."""

    env: BrowserEnvironment
    task: Task
    view: LiveObservation
    landed: StepResult | None = None

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

    def target(self, name: str) -> Target:
        """The first element of a name."""
        for id, node in self.view.nodes.items():
            if node.name == name and node.role != "StaticText":
                return Target(id=id, role=node.role, name=name, nth=node.nth)
        raise AssertionError(f"no {name!r} in\n{self.text[:2000]}")

    async def act(self, action: Action) -> Outcome:
        self.landed = await self.env.act(action)
        self.view = self.landed.view
        return self.landed.outcome

    async def gather(self) -> RawEvidence:
        return await self.env.gather(self.task)


def a_task(*, targets: Sequence[HtmlTarget] = (), task_id: str = "1", **fields: Any) -> Task:
    kinds = ("program_html",) if targets else ("string_match",)
    return Task(
        task_id=task_id,
        sites=("shop",),
        intent="look",
        start_urls=("http://shop.localhost/",),
        eval=Eval(eval_types=kinds, program_html=tuple(targets)),
        **fields,
    )


@asynccontextmanager
async def staying(pool: ChromiumPool, task: Task | None = None, lane: int = 0) -> AsyncIterator[Stay]:
    """Stand on the start page."""
    task = task or a_task()
    async with pool.open(task, lane) as env:
        restored = await env.restore(task, Episode())
        yield Stay(env, task, restored.view)
