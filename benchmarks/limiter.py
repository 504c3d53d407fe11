"""How near a limiter that was told nothing comes to an endpoint's rate limit, and how many requests it wastes on that.

Run: `python -m benchmarks.limiter [--minutes 4] [--lanes 32]`. Each endpoint is a process of its own, the scripted one,
and refuses with 429 what exceeds its limit. The lanes are the harness's own chat clients over HTTP behind one limiter;
they ask again as soon as they are answered, and there is no browser. All endpoints are measured at the same time:
nearly all of it is waiting. Goodput is held against what the endpoint would have let through in that time, and refusals
against the same lanes without a limiter, each of which heeds the wait it is told and backs off by itself.

`--real` plays the demo tasks by the command instead, browsers and worker processes included, against one such endpoint.
"""

import asyncio
import json
import math
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.results import Rows, parser, row, say, tell
from harness.api import ChatSettings, Message
from harness.browser.network.http import fetch
from harness.codec import dumps, loads
from harness.config import PROJECT
from harness.embedded_server import start_servers
from harness.llm.endpoint import Endpoint
from harness.llm.endpoint_model import EndpointModel
from harness.llm.exchange import Exchanger
from harness.llm.limiter import Limiter
from harness.llm.permits import RateLimiter, Unlimited
from harness.llm.retry import Retrier
from harness.settings.models import EndpointSettings, RetryPolicy

RPM = 60
LATENCY_MS = 1000
QUESTION = (Message(role="user", content="What now?"),)


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to limit to `RPM`."""

    name: str
    rule: dict[str, Any] = field(default_factory=dict)

    def lets_in(self, lasted_s: float) -> float:
        """Requests, if as many are always waiting."""
        if self.rule.get("window") == "fixed":
            return RPM * math.ceil(lasted_s / 60)
        return float(self.rule.get("burst", RPM)) + RPM * lasted_s / 60


SHAPES = (
    Shape("bucket of a minute"),
    Shape("bucket of ten", {"burst": 10}),
    Shape("bucket of ten, no Retry-After", {"burst": 10, "hint": False}),
    Shape("window of a minute", {"window": "fixed"}),
    Shape("bucket of a minute, x-ratelimit headers", {"tell": True}),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """By the endpoint."""

    answered: int
    refused: int

    @property
    def wasted(self) -> float:
        return self.refused / max(1, self.answered + self.refused)


@asynccontextmanager
async def limited(rule: dict[str, Any], folder: Path) -> AsyncIterator[str]:
    """An endpoint with that limit, and nothing to say."""
    (folder / "intents.json").write_bytes(b"{}")
    (folder / "plans.json").write_bytes(b"[]")
    arguments = ("--intents", str(folder / "intents.json"), "--plans", str(folder / "plans.json"))
    faults = dumps([{"do": "limit", "rpm": RPM, **rule}]).decode()
    further = ("--faults", faults, "--latency-ms", str(LATENCY_MS))
    async with start_servers(
        "harness.plugins.demo.model.model_server", *arguments, *further, log=folder / "log"
    ) as port:
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def clients(url: str, turns: RateLimiter, count: int) -> AsyncIterator[list[EndpointModel]]:
    """As a run has them: made before the first question is asked."""
    endpoint, settings = Endpoint(EndpointSettings(base_url=f"{url}/v1")), ChatSettings(model="scripted")
    async with AsyncExitStack() as closing:
        made = []
        for _ in range(count):
            retrier = Retrier(RetryPolicy(max_attempts=1000, max_retry_s=math.inf))
            chat = EndpointModel(Exchanger(endpoint, settings, retrier=retrier, prices={}, rate_limiter=turns))
            made.append(await closing.enter_async_context(chat))
            await asyncio.sleep(0)
        yield made


async def load(shape: Shape, turns: RateLimiter, *, begin: asyncio.Barrier, lanes: int, lasts_s: float) -> Seen:
    """Ask with all lanes for so long, together with the other shapes."""
    with tempfile.TemporaryDirectory() as folder:
        async with limited(shape.rule, Path(folder)) as url, clients(url, turns, lanes) as models:
            await begin.wait()
            asking = [asyncio.ensure_future(ask_on_and_on(model)) for model in models]
            await asyncio.wait(asking, timeout=lasts_s)
            statuses = json.loads((await fetch(f"{url}/__stats__")).body)["by_status"]
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
    return Seen(answered=statuses.get("200", 0), refused=statuses.get("429", 0))


async def ask_on_and_on(model: EndpointModel) -> None:
    while True:
        await model.ask(QUESTION)


async def measure(*, minutes: float = 4.0, lanes: int = 32) -> Rows:
    """Goodput beside what the endpoint lets in, and refusals beside those of the same lanes without a limiter."""
    lasts_s = minutes * 60
    begin = asyncio.Barrier(len(SHAPES) + 1)

    async def one(shape: Shape, turns: RateLimiter) -> Seen:
        return await load(shape, turns, begin=begin, lanes=lanes, lasts_s=lasts_s)

    async with asyncio.TaskGroup() as group:
        with_limiter = [group.create_task(one(shape, Limiter())) for shape in SHAPES]
        without = group.create_task(one(SHAPES[1], Unlimited()))
    rows: Rows = {}
    for_so_long = f"{lanes} lanes for {minutes:g} min"
    for shape, task in zip(SHAPES, with_limiter, strict=True):
        seen, alone = task.result(), without.result()
        let_in = shape.lets_in(lasts_s)
        rows[f"limiter, {shape.name}, {for_so_long}: answered"] = row([seen.answered], [let_in], "requests")
        wasted = row([seen.wasted * 100], [alone.wasted * 100], "% of requests")
        rows[f"limiter, {shape.name}, {for_so_long}: refused"] = wasted
    return rows


async def play(lanes: int) -> None:
    """The demo tasks, by the command."""
    with tempfile.TemporaryDirectory() as folder:
        command = (
            *(sys.executable, str(PROJECT / "run.py"), f"run.root={folder}", "run.id=run", "run.report=false"),
            *("workers=2", f"executor.lanes={lanes}", "run.display=none"),
            f"llm.faults=[{{do: limit, rpm: {RPM}, burst: 10}}]",
        )
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(*command)
        code = await process.wait()
        lasted_s = time.monotonic() - began
        done = loads((Path(folder) / "run" / "summary.json").read_bytes())["invocation"]
    answered = done["model_requests"] - done["model_refused"]
    say(
        f"exit {code}: {answered} requests answered in {lasted_s:.0f} s, start and end included "
        f"({answered / (10 + RPM * lasted_s / 60):.1%} of what the endpoint would have let in), "
        f"{done['model_refused']} refused ({done['model_refused'] / done['model_requests']:.1%})"
    )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--minutes", type=float, default=4.0)
    options.add_argument("--lanes", type=int, default=32)
    options.add_argument("--real", action="store_true", help="play the demo tasks, 2 workers with 8 lanes each")
    asked = options.parse_args()
    if asked.real:
        return asyncio.run(play(8))
    tell(asyncio.run(measure(minutes=asked.minutes, lanes=asked.lanes)))


if __name__ == "__main__":
    sys.exit(main())
