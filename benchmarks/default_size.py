"""What a run takes with nothing set, beside the number of lanes that is best when each is tried by hand.

Run: `python -m benchmarks.default_size [--tasks 48] [--mixes light:200 light:1000 heavy:1000 light:10000]
[--lanes 4 8 16 24]`. Each mix is pages that are light (the demo's shop) or heavy (a table of 700 rows, anew at each
step), and a model that answers after so many milliseconds. By hand there is a worker for each core, and the best
number of lanes is the one with the least wall time, start-up included. Overload is seen in a step, from the action
until the page was read: its 99th percentile stands beside that of the best.
"""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from benchmarks.pages import rows as table
from benchmarks.results import Rows, parser, row, tell
from benchmarks.throughput import STEPS, Stage, stage, watched, write_tasks

MIXES = ("light:200", "light:1000", "heavy:1000", "light:10000")
BY_HAND = (4, 8, 16, 24)
"""Lanes of a worker."""
HEAVY = table(700).encode()


class Played(NamedTuple):
    wall_s: float
    step_s: float
    """The 99th percentile, without the model."""


class Table(BaseHTTPRequestHandler):
    """The heavy page, wherever a link leads."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(HEAVY)))
        self.end_headers()
        self.wfile.write(HEAVY)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are no news."""


@contextmanager
def heavy_site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Table) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def write_heavy(folder: Path, count: int) -> tuple[Path, Path, Path]:
    """As `write_tasks`: as many steps, each of which follows a link of the table."""
    paths = write_tasks(folder, count)
    tasks = json.loads(paths[0].read_text())
    steps = [{"do": "click", "role": "link", "name": f"Item {number}"} for number in range(len(STEPS))]
    plans = [{"task_id": n, "steps": [*steps, {"do": "stop", "answer": "done"}]} for n in range(count)]
    place = {"sites": ["shopping"], "start_url": "__SHOPPING__/", "mutates": False}  # else they would lock the site
    paths[0].write_text(json.dumps([{**one, **place} for one in tasks]))
    paths[1].write_text(json.dumps(plans))
    return paths


async def play(here: Stage, name: str, tasks: int, overrides: Sequence[str]) -> Played:
    cost = await watched(
        [
            *(sys.executable, "run.py", f"run.root={here.folder}", f"run.id={name}", "run.report=false"),
            *(f"task.path={here.tasks}", "task.plans=null", f"task.limit={tasks}", "run.display=none", "llm=scripted"),
            *(
                "browser.screenshots=false",
                "fail_under=1.0",
                f"llm.base_url=http://127.0.0.1:{here.port}/v1",
                *overrides,
            ),
        ]
    )
    return Played(cost.wall_s, p99(here.folder / name))


def p99(run: Path) -> float:
    lines = (json.loads(line) for path in run.glob("*.traj.jsonl") for line in path.read_text().splitlines())
    took = sorted(line["elapsed_ms"] / 1000 for line in lines if line["kind"] == "acted")
    return float(took[min(len(took) - 1, int(len(took) * 0.99))])


async def measure(
    *, tasks: int = 48, mixes: Sequence[str] = MIXES, lanes: Sequence[int] = BY_HAND, turns: int = 1
) -> Rows:
    rows: Rows = {}
    cores = len(os.sched_getaffinity(0))
    for mix in mixes:
        pages, _, latency_ms = mix.partition(":")
        write = write_tasks if pages == "light" else write_heavy
        ours: list[Played] = []
        tried: dict[int, list[Played]] = {count: [] for count in lanes}
        with heavy_site() as site:
            async with stage(tasks, max(lanes), int(latency_ms), write) as here:
                where = (f"sites.port={here.sites_port}",)
                if pages == "heavy":
                    where = ("task=webarena", f"sites.shopping.url={site}", "sites.shopping.login=null")
                for turn in range(turns):
                    ours.append(await play(here, f"default{turn}", tasks, where))
                    for count, played in tried.items():
                        by_hand = (f"workers={cores}", f"executor.lanes={count}")
                        played.append(await play(here, f"lanes{count}-{turn}", tasks, (*where, *by_hand)))
        best = min(tried, key=lambda count: min(one.wall_s for one in tried[count]))
        name = f"default size, {tasks} tasks, {pages} pages, model {latency_ms} ms, beside {cores} x {best} lanes"
        rows[f"{name}: wall"] = row([one.wall_s for one in ours], [one.wall_s for one in tried[best]], "s")
        rows[f"{name}: step, p99"] = row([one.step_s for one in ours], [one.step_s for one in tried[best]], "s")
    return rows


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tasks", type=int, default=48)
    options.add_argument("--mixes", nargs="+", default=MIXES, metavar="PAGES:MS")
    options.add_argument("--lanes", type=int, nargs="+", default=BY_HAND)
    options.add_argument("--turns", type=int, default=1)
    tell(asyncio.run(measure(**vars(options.parse_args()))))


if __name__ == "__main__":
    main()
