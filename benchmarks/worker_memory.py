"""Whether a worker's memory stays flat over a long episode on a large page, screenshots on.

Run: `python -m benchmarks.worker_memory [--steps 200] [--rows 2000]`. One worker process scrolls and clicks through one
large page; its resident memory is read at every step from outside. A row is the median of the last tenth of the steps
beside that of the second tenth (the first warms up); the browser's memory, which is its own business, has one of its
own.
"""

import asyncio
import json
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from starlette.responses import HTMLResponse

from benchmarks.results import Rows, parser, row, tell
from harness.loopback_server import serving
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripts import read_plans

PROJECT = Path(__file__).resolve().parent.parent
INTENT = "Look through the list, then stop."
WATCH_S = 0.05


def page(rows: int) -> HTMLResponse:
    items = "".join(
        f"<tr><td>{row}</td><td><a href='#{row}'>Item number {row}</a></td><td><button type=button>Mark"
        f" {row}</button></td></tr>"
        for row in range(rows)
    )
    return HTMLResponse(f"<title>List</title><h1>List</h1><table>{items}</table>")


def plan(steps: int) -> list[dict[str, Any]]:
    ways = [{"do": "scroll", "direction": "down"}] * 3 + [{"do": "scroll", "direction": "up"}] * 2
    return [*(ways[number % len(ways)] for number in range(steps - 1)), {"do": "stop", "answer": "done"}]


async def measure(*, steps: int = 200, rows: int = 2000) -> Rows:
    with tempfile.TemporaryDirectory() as folder:
        samples = await play(Path(folder), steps, rows)
    early = [sample for sample in samples if steps * 0.1 <= sample[0] < steps * 0.2]
    late = [sample for sample in samples if sample[0] >= steps * 0.9]
    if not early or not late:
        raise SystemExit(f"of {steps} steps, memory was seen at {[sample[0] for sample in samples]} only")
    name = f"worker memory, last of {steps} steps on {rows} rows beside the first"
    return {
        f"{name}: the worker": row([sample[1] for sample in late], [sample[1] for sample in early], "MB"),
        f"{name}: its browser": row([sample[2] for sample in late], [sample[2] for sample in early], "MB"),
    }


async def play(folder: Path, steps: int, rows: int) -> list[tuple[int, float, float]]:
    task = {
        "task_id": 0,
        "sites": ["shop"],
        "intent": INTENT,
        "start_url": "__SHOP__/",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "done"}},
    }
    (folder / "task.json").write_text(json.dumps([task]))
    (folder / "plan.json").write_text(json.dumps([{"task_id": 0, "steps": plan(steps)}]))
    plans = read_plans(folder / "plan.json", {"0": INTENT}, placeholders={})
    async with serving(page(rows)) as site, serving(endpoint_app(plans)) as endpoint:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(PROJECT / "run.py"), f"run.root={folder}", "run.id=run", "run.report=false"),
            *(f"task.path={folder / 'task.json'}", "task.plans=null", "workers=1", "run.display=none"),
            *(f"llm.base_url=http://127.0.0.1:{endpoint}/v1", "sites.embedded=false"),
            *(f"+sites.shop.url=http://127.0.0.1:{site}", "browser.screenshots=true"),
            *(f"limits.max_steps={steps + 1}", f"limits.repeated_actions={steps + 1}"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        samples = await watch(process, folder / "run" / "0.traj.jsonl")
        out, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(out.decode())
    return samples


async def watch(process: asyncio.subprocess.Process, journal: Path) -> list[tuple[int, float, float]]:
    """(step, MB of the worker, MB of its browser) each time a step was added."""
    samples: list[tuple[int, float, float]] = []
    while process.returncode is None:
        steps = acted(journal)
        if steps and (not samples or samples[-1][0] != steps):
            with suppress(psutil.Error, StopIteration):
                samples.append((steps, *memory(process.pid)))
        await asyncio.sleep(WATCH_S)
    return samples


def acted(journal: Path) -> int:
    return journal.read_bytes().count(b'"kind":"acted"') if journal.exists() else 0


def memory(pid: int) -> tuple[float, float]:
    children = psutil.Process(pid).children(recursive=True)
    worker = next(child for child in children if "harness.evaluation.worker_main" in child.cmdline())
    browser = [child for child in worker.children(recursive=True) if "chrom" in child.name()]
    return worker.memory_info().rss / 2**20, sum(child.memory_info().rss for child in browser) / 2**20


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--rows", type=int, default=2000)
    asked = options.parse_args()
    tell(asyncio.run(measure(steps=asked.steps, rows=asked.rows)))


if __name__ == "__main__":
    sys.exit(main())
