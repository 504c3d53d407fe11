"""What more instances of a site bring tasks that change it: four against one, as many lanes in both.

Run: `python -m benchmarks.instances [--instances 4] [--tasks 16] [--latency-ms 2000] [--turns 1]`. Every task puts two
things into a cart and says that it changes the shop, so one instance plays one at a time. The model answers after
`--latency-ms`, so it is the model that is waited for. Wall time is that of the whole command, start-up and browser
included; the sites' own logs of writes are then asked whether everything was done, evenly spread, and never two at once
on one instance.
"""

import asyncio
import json
import sys
import tempfile
import time
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.results import Rows, parser, row, tell
from harness.browser.network.http import fetch
from harness.embedded_server import start_servers

PROJECT = Path(__file__).resolve().parent.parent
INTENT = "Shopping list number {}."
THINGS = ("DES-501", "GAR-411")


def plan(number: int) -> list[dict[str, Any]]:
    """The page's address says whose write is whose."""
    steps: list[dict[str, Any]] = []
    for sku in THINGS:
        steps += [{"do": "goto", "url": f"__SHOP__/product/{sku}?list={number}"}]
        steps += [{"do": "click", "role": "button", "name": "Add to cart"}]
    return [*steps, {"do": "stop", "answer": "done"}]


def write_tasks(folder: Path, count: int) -> None:
    evaluation = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "done"}}
    common = {"sites": ["shop"], "start_url": "__SHOP__/", "eval": evaluation, "mutates": True}
    tasks = [{"task_id": number, "intent": INTENT.format(number), **common} for number in range(count)]
    plans = [{"task_id": number, "steps": plan(number)} for number in range(count)]
    (folder / "tasks.json").write_text(json.dumps(tasks))
    (folder / "plans.json").write_text(json.dumps(plans))


async def play(folder: Path, name: str, urls: list[str], *, lanes: int, latency_ms: int) -> float:
    """Seconds one run takes on these instances."""
    begun = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "run.py", f"run.root={folder}", f"run.id={name}", "run.report=false", "run.display=none"),
        *(f"task.path={folder / 'tasks.json'}", f"task.plans={folder / 'plans.json'}", f"llm.latency_ms={latency_ms}"),
        *("sites.embedded=false", f"+sites.shop.instances=[{','.join(urls)}]", "browser.screenshots=false"),
        *("workers=1", f"executor.lanes={lanes}", "fail_under=1.0"),
        cwd=PROJECT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(said.decode())
    return time.perf_counter() - begun


async def check(urls: list[str], tasks: int) -> None:
    """Whether the sites saw every write, evenly, and a cart begun on one instance filled before the next one was
    begun.
    """
    for url in urls:
        written = [entry["path"].split("/")[2] for entry in json.loads((await fetch(f"{url}/__writes__")).body)]
        carts = [list(block) for _, block in groupby(range(len(written)), key=lambda number: number // len(THINGS))]
        if len(written) != tasks * len(THINGS) // len(urls):
            raise SystemExit(f"{url} was written to {len(written)} times, which is no fair share")
        if any([written[number] for number in cart] != list(THINGS) for cart in carts):
            raise SystemExit(f"two tasks were on {url} at once: {written}")


async def measure(*, instances: int = 4, tasks: int = 16, latency_ms: int = 2000, turns: int = 1) -> Rows:
    """One row: all instances, and one of them as the reference; the best ratio is 1 / `instances`."""
    many: list[float] = []
    one: list[float] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_tasks(folder, tasks)
        async with start_servers("harness.plugins.demo", log=folder / "log") as port:
            for turn in range(turns):
                urls = [f"http://t{turn * 100 + number}.shop.localhost:{port}" for number in range(instances + 1)]
                many.append(await play(folder, f"many{turn}", urls[1:], lanes=instances, latency_ms=latency_ms))
                one.append(await play(folder, f"one{turn}", urls[:1], lanes=instances, latency_ms=latency_ms))
                await check(urls[1:], tasks)
                await check(urls[:1], tasks)
    return {f"instances, {instances} of a site against one, {tasks} tasks that change it": row(many, one, "s")}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--instances", type=int, default=4)
    options.add_argument("--tasks", type=int, default=16)
    options.add_argument("--latency-ms", type=int, default=2000)
    options.add_argument("--turns", type=int, default=1)
    asked = options.parse_args()
    sizes = {"instances": asked.instances, "tasks": asked.tasks, "latency_ms": asked.latency_ms}
    tell(asyncio.run(measure(**sizes, turns=asked.turns)))


if __name__ == "__main__":
    sys.exit(main())
