"""What sessions of the environment server take, beside as many contexts of bare playwright.

Run: `python -m benchmarks.environments [--sessions 64] [--steps 8] [--beside browsergym]`. Every session plays a task
of the demo over a WebSocket of its own, all at the same time: a reset that is not counted, one that is, and then steps
that scroll. Bare playwright opens as many contexts in one browser, goes to the same page and scrolls as often; a step
is over when the page was read (`aria_snapshot`). Processor time is that of all processes of either side, the sites'
included; ours keeps journals, too. Memory is the proportional set size after the last step, without what was there
before the first session.

BrowserGym's own environment needs a playwright of its own, so CAIRN_BROWSERGYM_PYTHON names a Python that has
`browsergym-core`. Its environments block, so those of a process do one thing after the other; sixteen processes share
them, which keeps two cores busy. It waits 0.5 s in each step, unless `--pre-observation-delay 0` is given.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psutil
from playwright.async_api import Browser, BrowserContext, Page, async_playwright
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.results import NotInstalled, Row, Rows, parser, row, tell
from harness.browser.driver import executable
from harness.embedded_server import start_servers

READY = "environment server ready on "
TASK = "0"
WAYS = ("scroll [down]", "scroll [up]")
WHEEL = (600, -600)


class Session(Protocol):
    """One environment, ours or theirs."""

    async def reset(self) -> None: ...

    async def step(self, number: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Served:
    """A session of the server."""

    socket: ClientConnection

    async def reset(self) -> None:
        await self._ask("reset", {"task": TASK})

    async def step(self, number: int) -> None:
        await self._ask("step", {"action_str": WAYS[number % 2]})

    async def _ask(self, kind: str, data: dict[str, Any]) -> None:
        await self.socket.send(json.dumps({"type": kind, "data": data}))
        answer = json.loads(await self.socket.recv())
        if answer["type"] != "observation":
            raise SystemExit(f"{kind}: {answer['data']}")


@dataclass(slots=True)
class Bare:
    """A context of playwright."""

    browser: Browser
    url: str
    context: BrowserContext | None = None
    page: Page | None = None

    async def reset(self) -> None:
        if self.context is not None:
            await self.context.close()
        self.context = await self.browser.new_context()
        self.page = await self.context.new_page()
        await self.page.goto(self.url)
        await self.page.locator("body").aria_snapshot()

    async def step(self, number: int) -> None:
        assert self.page is not None
        await self.page.mouse.wheel(0, WHEEL[number % 2])
        await self.page.locator("body").aria_snapshot()


GYM = """
import json, sys
from browsergym.core.env import BrowserEnv
from browsergym.core.task import OpenEndedTask
from playwright.sync_api import BrowserType

chromium, delay, *urls = sys.argv[1:]
launch = BrowserType.launch  # its chat has a browser of its own, for which there is no setting
BrowserType.launch = lambda self, **given: launch(self, **{"executable_path": chromium, **given})
made = [
    BrowserEnv(
        OpenEndedTask,
        task_kwargs={"start_url": url, "goal": "scroll"},
        pre_observation_delay=float(delay),
    )
    for url in urls
]
print("ready", flush=True)
for line in sys.stdin:
    number, action = json.loads(line)
    if action is None:
        made[number].reset(seed=0)
    else:
        made[number].step(action)
    print("done", flush=True)
"""
GYM_PYTHON = "CAIRN_BROWSERGYM_PYTHON"
GYM_WAYS = ("scroll(0, 600)", "scroll(0, -600)")
GYM_PROCESSES = 16


@dataclass(frozen=True, slots=True)
class Gym:
    """One of BrowserGym's environments; those of a process do one thing after the other."""

    process: asyncio.subprocess.Process
    number: int
    turn: asyncio.Lock

    async def reset(self) -> None:
        await self._do(None)

    async def step(self, number: int) -> None:
        await self._do(GYM_WAYS[number % 2])

    async def _do(self, action: str | None) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        async with self.turn:
            self.process.stdin.write(json.dumps([self.number, action]).encode() + b"\n")
            if await self.process.stdout.readline() != b"done\n":
                raise SystemExit("BrowserGym's environment failed; see above")


@dataclass(slots=True)
class Measured:
    """Of one side."""

    reset_cpu_s: float = 0.0
    """Of one reset; so `step_cpu_s`."""
    reset_s: list[float] = field(default_factory=list)
    """Wall time of each; so `step_s`."""
    step_cpu_s: float = 0.0
    step_s: list[float] = field(default_factory=list)
    wall_s: float = 0.0
    """Of all steps."""
    memory_mb: float = 0.0
    """Of one session."""


@asynccontextmanager
async def served(sessions: int) -> AsyncIterator[tuple[int, list[Session]]]:
    """Process id of a server, and its clients."""
    with tempfile.TemporaryDirectory() as made:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "harness.main", "serve", "task=demo", f"environments={sessions}", "--port=0"),
            *("--queue=600", f"run.root={made}", "run.id=run", "browser.screenshots=false"),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            said = "none"
            while said and not said.startswith(READY):
                said = (await process.stdout.readline()).decode()
            if not said:
                raise SystemExit("the environment server does not start; see above")
            url = said.removeprefix(READY).strip().replace("http", "ws", 1) + "/ws"
            opened = [await connect(url, max_size=100 << 20, open_timeout=120) for _ in range(sessions)]
            yield process.pid, [Served(one) for one in opened]
            for one in opened:
                await one.close()
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


@asynccontextmanager
async def bare(sessions: int) -> AsyncIterator[tuple[int, list[Session]]]:
    """Our own process id, and contexts of a browser that is a child of this process, as its sites are."""
    with tempfile.TemporaryDirectory() as made:
        async with start_servers("harness.plugins.demo", log=Path(made) / "log") as port, async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=executable.find())
            urls = [f"http://t{number}.shop.localhost:{port}/" for number in range(sessions)]
            yield psutil.Process().pid, [Bare(browser, url) for url in urls]
            await browser.close()


@asynccontextmanager
async def gym(sessions: int, delay_s: float) -> AsyncIterator[tuple[int, list[Session]]]:
    """Our own process id, and environments of BrowserGym in children of this process, as their sites are."""
    if not (python := os.environ.get(GYM_PYTHON)):
        raise NotInstalled(
            f"{GYM_PYTHON} names no Python that has browsergym-core; make one with python -m venv and pip"
        )
    with tempfile.TemporaryDirectory() as made:
        async with start_servers("harness.plugins.demo", log=Path(made) / "log") as port:
            urls = [f"http://t{number}.shop.localhost:{port}/" for number in range(sessions)]
            started: list[asyncio.subprocess.Process] = []
            made_there: list[Session] = []
            try:
                for first in range(min(GYM_PROCESSES, sessions)):
                    own = urls[first::GYM_PROCESSES]
                    process = await asyncio.create_subprocess_exec(
                        *(python, "-c", GYM, executable.find(), str(delay_s), *own),
                        stdin=asyncio.subprocess.PIPE,
                        stdout=asyncio.subprocess.PIPE,
                    )
                    started.append(process)
                    turn = asyncio.Lock()
                    made_there += [Gym(process, number, turn) for number in range(len(own))]
                for process in started:
                    assert process.stdout is not None
                    if await process.stdout.readline() != b"ready\n":
                        raise SystemExit("BrowserGym does not start; see above")
                yield psutil.Process().pid, made_there
            finally:
                for process in started:
                    with suppress(ProcessLookupError):
                        process.kill()
                for process in started:
                    await process.wait()


async def measured(pid: int, sessions: list[Session], *, steps: int) -> Measured:
    """What the sessions take of the process tree, once each has been reset."""
    found = Measured()
    before = memory_mb(pid)
    await all_at_once(one.reset for one in sessions)
    used = processor_s(pid)
    found.reset_s, _ = await all_at_once(one.reset for one in sessions)
    found.reset_cpu_s = (processor_s(pid) - used) / len(sessions)
    used = processor_s(pid)

    def steps_of(session: Session) -> Callable[[], Awaitable[None]]:
        async def play() -> None:
            for number in range(steps):
                begun = time.perf_counter()
                await session.step(number)
                found.step_s.append(time.perf_counter() - begun)

        return play

    _, found.wall_s = await all_at_once(map(steps_of, sessions))
    found.step_cpu_s = (processor_s(pid) - used) / (len(sessions) * steps)
    found.memory_mb = (memory_mb(pid) - before) / len(sessions)
    return found


async def all_at_once(works: Iterable[Callable[[], Awaitable[None]]]) -> tuple[list[float], float]:
    """Seconds of each, and of all together."""
    taken: list[float] = []

    async def timed(work: Callable[[], Awaitable[None]]) -> None:
        begun = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for work in works:
            group.create_task(timed(work))
    return taken, time.perf_counter() - begun


def tree(pid: int) -> list[psutil.Process]:
    top = psutil.Process(pid)
    return [top, *top.children(recursive=True)]


def processor_s(pid: int) -> float:
    """Of a process and its descendants, those included that have ended and were waited for."""
    total = 0.0
    for one in tree(pid):
        with suppress(psutil.NoSuchProcess):
            used = one.cpu_times()
            total += used.user + used.system + used.children_user + used.children_system
    return total


def memory_mb(pid: int) -> float:
    """Proportional set size of a process and its descendants."""
    total = 0
    for one in tree(pid):
        with suppress(psutil.NoSuchProcess):
            total += one.memory_full_info().pss
    return total / 1e6


async def measure(
    *, sessions: int = 64, steps: int = 8, beside: str = "playwright", pre_observation_delay: float = 0.5
) -> Rows:
    against = bare(sessions) if beside == "playwright" else gym(sessions, pre_observation_delay)
    async with against as (pid, made):
        theirs = await measured(pid, made, steps=steps)
    async with served(sessions) as (pid, made):
        ours = await measured(pid, made, steps=steps)
    waits = "" if beside == "playwright" else f" beside BrowserGym that waits {pre_observation_delay:g} s"
    place = f"environments, {sessions} sessions{waits}"

    def compared(read: Callable[[Measured], float], unit: str) -> Row:
        return row([read(ours)], [read(theirs)], unit)

    return {
        f"{place}, processor time of a reset": compared(lambda one: one.reset_cpu_s * 1e3, "ms"),
        f"{place}, processor time of a step": compared(lambda one: one.step_cpu_s * 1e3, "ms"),
        f"{place}, wall time of a reset": compared(lambda one: statistics.median(one.reset_s) * 1e3, "ms"),
        f"{place}, wall time of a step": compared(lambda one: statistics.median(one.step_s) * 1e3, "ms"),
        f"{place}, wall time of a step, p99": compared(lambda one: highest(one.step_s) * 1e3, "ms"),
        f"{place}, steps a second in all": compared(lambda one: len(one.step_s) / one.wall_s, "steps/s"),
        f"{place}, memory of a session": compared(lambda one: one.memory_mb, "MB"),
    }


def highest(seconds: list[float]) -> float:
    """The 99th percentile; of few the highest."""
    return sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * 0.99))]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sessions", type=int, default=64)
    options.add_argument("--steps", type=int, default=8)
    options.add_argument("--beside", choices=("playwright", "browsergym"), default="playwright")
    options.add_argument("--pre-observation-delay", type=float, default=0.5, metavar="S")
    tell(asyncio.run(measure(**vars(options.parse_args()))))


if __name__ == "__main__":
    sys.exit(main())
