"""How fast an episode of 30 steps is taken up again at step 29, against how long it took with a model of one second.

Run: `python -m benchmarks.resume_speed [--steps 30] [--latency-ms 1000] [--strategy replay]`. Plays the episode on the
shop, cuts its journal after step 28 as a kill would, and gives the same command again. How long the way back took is
what the journal says; the endpoint's own count of requests says whether only the two decisions that were left were
asked for.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.results import Rows, parser, tell, timed
from harness.browser.network.http import fetch
from harness.codec import loads
from harness.embedded_server import start_servers

PROJECT = Path(__file__).resolve().parent.parent
INTENT = "Look through the shop, then stop."
WORDS = ("lamp", "mug", "flask", "desk", "pot", "chest", "stand", "pendant", "clock", "oil")
TASK = {
    "task_id": 0,
    "sites": ["shop"],
    "intent": INTENT,
    "start_url": "__SHOP__/",
    "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "done"}},
}


def steps(count: int) -> list[dict[str, Any]]:
    """Searches, and a product now and then; the last step is the answer."""
    going = [
        {
            "do": "goto",
            "url": f"http://shop.localhost/search?q={WORDS[number % len(WORDS)]}&page={number // len(WORDS) + 1}",
        }
        for number in range(count - 1)
    ]
    return [*going, {"do": "stop", "answer": "done"}]


def lines(journal: Path) -> list[dict[str, Any]]:
    return [loads(line) for line in journal.read_bytes().splitlines()]


def cut(journal: Path, step: int) -> None:
    """Leave everything up to the outcome of `step`."""
    kept = []
    for line in journal.read_bytes().splitlines(keepends=True):
        kept.append(line)
        record = loads(line)
        if record["kind"] == "acted" and record["step"] == step:
            break
    journal.write_bytes(b"".join(kept))


async def measure(*, steps: int = 30, latency_ms: int = 1000, strategy: str = "replay") -> Rows:
    """Rows of one way back: `replay`, `checkpoint` or another of `resume`."""
    with tempfile.TemporaryDirectory() as folder:
        return await play(Path(folder), steps, latency_ms, strategy)


async def play(folder: Path, count: int, latency_ms: int, strategy: str) -> Rows:
    (folder / "task.json").write_text(json.dumps([TASK]))
    (folder / "plan.json").write_text(json.dumps([{"task_id": 0, "steps": steps(count)}]))
    (folder / "intents.json").write_text(json.dumps({"0": INTENT}))
    asked = ("--intents", str(folder / "intents.json"), "--plans", str(folder / "plan.json"))
    latency = ("--latency-ms", str(latency_ms))
    async with (
        start_servers("harness.plugins.demo", log=folder / "log") as sites_port,
        start_servers("harness.plugins.demo.model.model_server", *asked, *latency, log=folder / "log") as port,
    ):
        command = [
            *(sys.executable, str(PROJECT / "run.py"), f"run.root={folder}", "run.id=run", "run.report=false"),
            *(f"task.path={folder / 'task.json'}", "task.plans=null", "workers=1", "run.display=none"),
            *(f"llm.base_url=http://127.0.0.1:{port}/v1", f"sites.port={sites_port}"),
            *(f"limits.max_steps={count + 1}", f"resume={strategy}"),
        ]
        await start(command)
        journal = folder / "run" / "0.traj.jsonl"
        last = count - 2
        recorded = [line for line in lines(journal) if line["kind"] in ("decided", "acted") and line["step"] <= last]
        recorded_s = sum(line["elapsed_ms"] for line in recorded) / 1000
        cut(journal, last)
        before = len(loads((await fetch(f"http://127.0.0.1:{port}/__requests__")).body))
        wall_s = await start(command)
        requests = len(loads((await fetch(f"http://127.0.0.1:{port}/__requests__")).body)) - before
    resumed = next(line for line in lines(journal) if line["kind"] == "resumed")
    if requests != 2 or resumed["strategy"] != strategy:
        raise SystemExit(f"{requests} model requests for the 2 decisions that were left, by {resumed['strategy']}")
    name = f"resume speed, {last} steps by {strategy}, beside as recorded at {latency_ms} ms a decision"
    return {
        f"{name}: the way back": timed([resumed["elapsed_ms"] / 1000], [recorded_s], "s"),
        f"{name}: the whole second start": timed([wall_s], [recorded_s], "s"),
    }


async def start(command: list[str]) -> float:
    """Wall time of one start."""
    begun = time.perf_counter()
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return time.perf_counter() - begun


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--steps", type=int, default=30)
    options.add_argument("--latency-ms", type=int, default=1000)
    options.add_argument("--strategy", default="replay", help="of resume: replay or checkpoint")
    asked = options.parse_args()
    tell(asyncio.run(measure(steps=asked.steps, latency_ms=asked.latency_ms, strategy=asked.strategy)))


if __name__ == "__main__":
    sys.exit(main())
