"""How long many episodes take side by side, against bare playwright running the same in as many contexts.

Run: `python -m benchmarks.throughput [--tasks 16] [--lanes 16] [--latency-ms 1000] [--turns 1]`. The model answers
after `--latency-ms`; ours asks it over HTTP, the floor sleeps for as long, knows what to wait for and records nothing.
Wall time is that of the whole process, start-up and browser included; processor time is that of the process and
everything below it (the sites and the endpoint stand beside both and are in neither). A start is shared by few episodes
here and by hundreds in a sweep, so both also play twice as many tasks: the difference is what one more episode takes,
without any start-up.
"""

import argparse
import asyncio
import itertools
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import psutil
from playwright.async_api import Browser, async_playwright, expect

from benchmarks.results import Row, Rows, parser, row, tell
from benchmarks.step_overhead import HOME, SCRIPT, VIEWPORT, Step, perform
from harness.browser.driver import executable
from harness.browser.driver.chromium_flags import SWITCHES
from harness.embedded_server import start_servers

PROJECT = Path(__file__).resolve().parent.parent
INTENT = "Shopping list number {}."
STEPS = SCRIPT[:7]
"""And the answer, the eighth."""
LOOKS_S = 0.05
WEIGHED = 10
"""At every so many looks memory is weighed too: the kernel goes through all pages of a process for it."""
Beside = Literal["model", "floor", "twice"]


class Cost(NamedTuple):
    wall_s: float
    cpu_s: float
    chromium_s: float
    """The part of `cpu_s` that Chromium's processes took."""
    memory_mb: float
    """Most at once, of the process and everything below it; what processes share is shared out among them."""


def plan_step(step: Step) -> dict[str, Any]:
    if step.do == "goto":
        return {"do": "goto", "url": HOME}
    aim = {"role": step.role, "name": step.name}
    if step.do == "click":
        return {"do": "click", **aim}
    return {"do": "type", **aim, "text": step.text, "enter": step.do == "type"}


def write_tasks(folder: Path, count: int) -> tuple[Path, Path, Path]:
    """Task file, plan file and intents."""
    evaluation = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "done"}}
    tasks = [
        {"task_id": n, "sites": ["shop"], "intent": INTENT.format(n), "start_url": "__SHOP__/", "eval": evaluation}
        for n in range(count)
    ]
    steps = [*map(plan_step, STEPS), {"do": "stop", "answer": "done"}]
    paths = folder / "tasks.json", folder / "plans.json", folder / "intents.json"
    contents = (
        tasks,
        [{"task_id": n, "steps": steps} for n in range(count)],
        {n: INTENT.format(n) for n in range(count)},
    )
    for path, content in zip(paths, contents, strict=True):
        path.write_text(json.dumps(content))
    return paths


async def watched(command: list[str]) -> Cost:
    """Run a command to its end.

    Raises:
        SystemExit: It fails.
    """
    begun = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=PROJECT
    )
    meter = Meter(process.pid)
    said, _ = await process.communicate()
    wall_s = time.perf_counter() - begun
    cpu_s, chromium_s, memory_mb = meter.stop()
    if process.returncode:
        raise SystemExit(said.decode())
    return Cost(wall_s, cpu_s, chromium_s, memory_mb)


class Meter:
    """Adds up the processor time of a tree of processes, of which many end without anybody waiting for them."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._seen: dict[tuple[int, float], float] = {}
        self._chromium: dict[tuple[int, float], float] = {}
        self._most = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[float, float, float]:
        self._over.set()
        self._thread.join()
        return sum(self._seen.values()), sum(self._chromium.values()), self._most

    def _look(self) -> None:
        for look in itertools.count():
            if self._over.wait(LOOKS_S):
                return
            memory = 0
            with suppress(psutil.Error):
                for process in (self._root, *self._root.children(recursive=True)):
                    with suppress(psutil.Error):
                        times = process.cpu_times()
                        which = process.pid, process.create_time()
                        self._seen[which] = times.user + times.system
                        if "chrom" in process.name().lower():
                            self._chromium[which] = self._seen[which]
                        if look % WEIGHED == 0:
                            held = process.memory_full_info()
                            memory += getattr(held, "pss", held.uss)  # Linux alone knows what is shared
            self._most = max(self._most, memory / 2**20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Sites and an endpoint, beside which both play."""

    folder: Path
    tasks: Path
    sites_port: int
    port: int
    """Of the endpoint."""
    lanes: int
    latency_ms: int

    async def ours(self, count: int) -> Cost:
        """The first `count` tasks, in a run of their own."""
        runs = len(list(self.folder.glob("run*")))
        return await watched(
            [
                *(sys.executable, "run.py", f"run.root={self.folder}", f"run.id=run{runs}", "run.report=false"),
                *(f"task.path={self.tasks}", "task.plans=null", f"task.limit={count}"),
                *("workers=1", f"executor.lanes={self.lanes}", "executor=inline", "run.display=none"),
                *("browser.screenshots=false", "fail_under=1.0"),
                *(f"llm.base_url=http://127.0.0.1:{self.port}/v1", f"sites.port={self.sites_port}"),
            ]
        )

    async def bare(self, count: int) -> Cost:
        url = f"http://t{{}}.shop.localhost:{self.sites_port}/"
        shape = url, str(count), str(self.lanes), str(self.latency_ms)
        return await watched([sys.executable, "-m", "benchmarks.throughput", "--floor", *shape])


@asynccontextmanager
async def stage(
    tasks: int, lanes: int, latency_ms: int, write: Callable[[Path, int], tuple[Path, Path, Path]] = write_tasks
) -> AsyncIterator[Stage]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        task_file, plans, intents = write(folder, tasks)
        asked = ("--intents", str(intents), "--plans", str(plans), "--latency-ms", str(latency_ms))
        async with (
            start_servers("harness.plugins.demo", log=folder / "log") as sites_port,
            start_servers("harness.plugins.demo.model.model_server", *asked, log=folder / "log") as port,
        ):
            yield Stage(
                folder=folder, tasks=task_file, sites_port=sites_port, port=port, lanes=lanes, latency_ms=latency_ms
            )


async def measure(
    *, tasks: int = 16, lanes: int = 16, latency_ms: int = 1000, turns: int = 1, beside: Beside = "floor"
) -> Rows:
    """Play side by side.

    Args:
        beside: The model's own time, the floor, or the floor `twice`: with twice as many tasks as well.
    """
    counts = (tasks, 2 * tasks) if beside == "twice" else (tasks,)
    mine: dict[int, list[Cost]] = {count: [] for count in counts}
    bare: dict[int, list[Cost]] = {count: [] for count in counts}
    async with stage(max(counts), lanes, latency_ms) as here:
        for _ in range(turns):
            for count in counts:
                mine[count].append(await here.ours(count))
                if beside != "model":
                    bare[count].append(await here.bare(count))
    name = f"throughput, {tasks} tasks x {len(STEPS) + 1} steps, {lanes} lanes"
    if beside == "model":
        ideal = [Cost(-(-tasks // lanes) * (len(STEPS) + 1) * latency_ms / 1000, 0.0, 0.0, 0.0)] * turns
        return {f"{name}, beside the model's own time": compared("wall_s", mine[tasks], ideal, "s")}
    rows = {
        f"{name}: wall": compared("wall_s", mine[tasks], bare[tasks], "s"),
        f"{name}: processor time": compared("cpu_s", mine[tasks], bare[tasks], "s"),
        f"{name}: processor time of Python and the driver, beside Chromium's": row(
            [cost.cpu_s - cost.chromium_s for cost in mine[tasks]], [cost.chromium_s for cost in mine[tasks]], "s"
        ),
        f"{name}: memory": compared("memory_mb", mine[tasks], bare[tasks], "MB"),
    }
    if beside == "twice":
        rows[f"{name}: processor time of one more episode"] = row(*(each_more(one, tasks) for one in (mine, bare)), "s")
    return rows


def each_more(costs: dict[int, list[Cost]], tasks: int) -> list[float]:
    """Processor time of an episode beyond the first `tasks`: what twice as many take more, shared out among them."""
    return [(both.cpu_s - first.cpu_s) / tasks for first, both in zip(costs[tasks], costs[2 * tasks], strict=True)]


def compared(which: str, mine: list[Cost], reference: list[Cost], unit: str) -> Row:
    return row([getattr(cost, which) for cost in mine], [getattr(cost, which) for cost in reference], unit)


async def run_floor(url: str, tasks: int, lanes: int, latency_s: float) -> None:
    """Bare playwright: one browser, one context per episode, `lanes` at once."""
    free = asyncio.Semaphore(lanes)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable.find(), args=list(SWITCHES), chromium_sandbox=os.geteuid() != 0
        )

        async def one(number: int) -> None:
            async with free:
                await episode(browser, url.format(number), latency_s)

        async with asyncio.TaskGroup() as group:
            for number in range(tasks):
                group.create_task(one(number))
        await browser.close()


async def episode(browser: Browser, home: str, latency_s: float) -> None:
    context = await browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    context.set_default_timeout(60_000)
    page = await context.new_page()
    await page.goto(home)
    for step in STEPS:
        await asyncio.sleep(latency_s)  # the model
        await perform(page, step, home)
        shown = page.get_by_role(step.shows[0], name=step.shows[1], exact=True).first  # type: ignore[arg-type]
        await expect(shown).to_be_visible(timeout=60_000)
    await asyncio.sleep(latency_s)
    await context.close()


def main() -> None:
    shape = parser(__doc__)
    shape.add_argument("--tasks", type=int, default=16)
    shape.add_argument("--lanes", type=int, default=16)
    shape.add_argument("--latency-ms", type=int, default=1000)
    shape.add_argument("--turns", type=int, default=1)
    shape.add_argument("--floor", nargs=4, metavar=("URL", "TASKS", "LANES", "LATENCY_MS"), help=argparse.SUPPRESS)
    options = shape.parse_args()
    if options.floor:
        url, tasks, lanes, latency_ms = options.floor
        return asyncio.run(run_floor(url, int(tasks), int(lanes), int(latency_ms) / 1000))
    asked = {"tasks": options.tasks, "lanes": options.lanes, "latency_ms": options.latency_ms}
    tell(asyncio.run(measure(**asked, turns=options.turns, beside="twice")))


if __name__ == "__main__":
    main()
