"""How fast an episode of 30 steps is taken up again at step 29, against how long it took with a model of one second.

Run: `python benchmarks/resume_speed.py [--steps 30] [--latency-ms 1000] [--override resume=checkpoint]`. Plays the episode on
the shop, cuts its journal after step 28 as a kill would, and gives the same command again. What is printed comes from the
journal and from the endpoint's own count of requests.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness.browser.fetching import fetch
from harness.codec import loads
from harness.sites.launching import launched

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


async def measure(folder: Path, options: argparse.Namespace) -> None:
    (folder / "task.json").write_text(json.dumps([TASK]))
    (folder / "plan.json").write_text(json.dumps([{"task_id": 0, "steps": steps(options.steps)}]))
    (folder / "intents.json").write_text(json.dumps({"0": INTENT}))
    asked = ("--intents", str(folder / "intents.json"), "--plans", str(folder / "plan.json"))
    latency = ("--latency-ms", str(options.latency_ms))
    async with (
        launched("harness.sites", log=folder / "log") as sites_port,
        launched("harness.sites.endpoint", *asked, *latency, log=folder / "log") as port,
    ):
        command = [
            *(sys.executable, str(PROJECT / "run.py"), f"run.root={folder}", "run.id=run", "run.report=false"),
            *(f"task.path={folder / 'task.json'}", "task.plans=null", "workers=1", "run.display=none"),
            *(f"llm.base_url=http://127.0.0.1:{port}/v1", f"sites.port={sites_port}"),
            *(f"limits.max_steps={options.steps + 1}", *options.override),
        ]
        await start(command)
        journal = folder / "run" / "0.traj.jsonl"
        last = options.steps - 2
        recorded = [line for line in lines(journal) if line["kind"] in ("decided", "acted") and line["step"] <= last]
        took_ms = sum(line["elapsed_ms"] for line in recorded)
        cut(journal, last)
        before = len(loads((await fetch(f"http://127.0.0.1:{port}/__requests__")).body))
        wall_s = await start(command)
        requests = len(loads((await fetch(f"http://127.0.0.1:{port}/__requests__")).body)) - before
    resumed = next(line for line in lines(journal) if line["kind"] == "resumed")
    tell(took_ms / 1000, resumed, last=last, requests=requests, wall_s=wall_s)


async def start(command: list[str]) -> float:
    """Wall time of one start."""
    begun = time.perf_counter()
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return time.perf_counter() - begun


def tell(recorded_s: float, resumed: dict[str, Any], *, last: int, requests: int, wall_s: float) -> None:
    restored_s = resumed["elapsed_ms"] / 1000
    print(  # noqa: T201
        f"{last} steps recorded in {recorded_s:.1f} s, led back to by {resumed['strategy']} in {restored_s:.2f} s: "
        f"{recorded_s / restored_s:.1f} x as fast; {requests} model requests for the 2 decisions that were left; "
        f"least similarity {min(resumed['similarity']):g}; the whole second start took {wall_s:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a resume at the last but one step.")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--latency-ms", type=int, default=1000)
    parser.add_argument("--override", action="append", default=[], help="further setting of the run, KEY=VALUE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), options))


if __name__ == "__main__":
    main()
