"""What a reset costs: one alone, against the same by hand (kill, `cp -a`, start), and one before each task of a run
with spare instances, against the same tasks without resets.

Run: `python -m benchmarks.site_resets [--tasks 500] [--lanes 2] [--instances 6] [--megabytes 100] [--latency-ms 1000]`.
The site is a process of a set (`harness sites`) with a database and so many megabytes of files, all of which a reset
puts back. After each single reset, `diff` compares all bytes with the snapshot. The site's own log is asked whether a
task of the run began on what another had left: one that did ends the benchmark. A ratio of 1.10 of the run is a tenth
of its time lost to resets; the row of idle lanes says in which part of the lanes' time they had no task.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

from benchmarks.results import Rows, parser, row, tell
from harness.plugins.site_sets.http_request import free_port

SINGLE = 5
"""How often one reset alone is measured."""
PROJECT = Path(__file__).resolve().parent.parent
SERVER = """
import http.server, pathlib, sqlite3, sys

port, data, log = int(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
db = sqlite3.connect(data / "orders.db", check_same_thread=False)
db.execute("CREATE TABLE IF NOT EXISTS orders (name TEXT)")
db.commit()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/start":
            with log.open("a") as file:
                file.write(f"{self.count()}\\n")
        self.answer("<form method=post action=/order><button>Order</button></form>")

    def do_POST(self):
        db.execute("INSERT INTO orders VALUES ('mug')")
        db.commit()
        (data / f"file{self.count()}").write_bytes(b"changed")
        self.answer("Ordered")

    def count(self):
        return db.execute("SELECT count(*) FROM orders").fetchone()[0]

    def answer(self, body):
        text = f"<!doctype html><title>Shop</title><h1>Orders: {self.count()}</h1>{body}".encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        return


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
FILL = """
import os, pathlib, sys

for number in range(int(sys.argv[2])):
    (pathlib.Path(sys.argv[1]) / f"file{number}").write_bytes(os.urandom(1 << 20))
"""


def write(folder: Path, *, tasks: int, megabytes: int) -> None:
    """The site, its set, the tasks and their plans."""
    (folder / "server.py").write_text(SERVER)
    (folder / "fill.py").write_text(FILL)
    (folder / "visits").touch()
    service = {
        "command": "exec {python} server.py {port} {data} visits",
        "prepare": [f"{{python}} fill.py {{data}} {megabytes}"],
        "sites": {"shop": {"canonical": "http://shop.example"}},
        "stop_s": 0,
    }
    (folder / "shop.yaml").write_text(json.dumps({"services": {"app": service}}))
    evaluation = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "1"}}
    common = {"sites": ["shop"], "start_url": "__SHOP__/start", "eval": evaluation, "mutates": True}
    steps = [{"do": "click", "role": "button", "name": "Order"}, {"do": "stop", "answer": "1"}]
    listed = [{"task_id": number, "intent": f"Order mug {number}.", **common} for number in range(tasks)]
    (folder / "tasks.json").write_text(json.dumps(listed))
    (folder / "plans.json").write_text(json.dumps([{"task_id": number, "steps": steps} for number in range(tasks)]))


def sites(folder: Path, verb: str, *words: str) -> None:
    command = [sys.executable, "-m", "harness.main", "sites", verb, "shop.yaml", *words]
    subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)


@contextmanager
def up(folder: Path, instances: int) -> Iterator[None]:
    sites(folder, "up", "--scale", str(instances))
    try:
        yield
    finally:
        sites(folder, "down", "--all")


def reset_alone(folder: Path, *, prepared: bool) -> float:
    """Seconds of the whole command for an instance that was changed, after which it is compared."""
    state = folder / "sites" / "shop"
    unit, url = state / "services" / "app@0", json.loads((state / "sites.json").read_bytes())["shop"]["url"]
    with urlopen(Request(f"{url}/order", method="POST", data=b"")):
        pass
    sites(folder, "tidy")
    if not prepared:
        shutil.rmtree(unit / "spare")
    begun = time.monotonic()
    sites(folder, "reset", "shop@0")
    took = time.monotonic() - begun
    subprocess.run(["diff", "-r", "--no-dereference", state / "snapshots/seed/app", unit / "data"], check=True)
    return took


@contextmanager
def served_by_hand(folder: Path) -> Iterator[list[float]]:
    """Gives a list; leaving adds the seconds of a reset as a person does it."""
    seed, data, port = folder / "sites/shop/snapshots/seed/app", folder / "by_hand", free_port()
    shutil.copytree(seed, data)
    command = [sys.executable, "server.py", str(port), str(data), "visits"]
    took: list[float] = []
    with subprocess.Popen(command, cwd=folder) as first:
        yield took
        begun = time.monotonic()
        first.kill()
    shutil.rmtree(data)
    subprocess.run(["cp", "-a", seed, data], check=True)
    with subprocess.Popen(command, cwd=folder) as again:
        while not _answers(port):
            time.sleep(0.03)
        took.append(time.monotonic() - begun)
        again.kill()
    shutil.rmtree(data)


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/"):
            return True
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Played:
    wall_s: float
    """From the first record of a run to its last one, as start-up costs both alike."""
    idle: float
    """Part of the lanes' time in which they had no task, in percent."""


async def play(folder: Path, name: str, lanes: int, overrides: Sequence[str]) -> Played:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(PROJECT / "run.py"), f"run.root={folder}", f"run.id={name}", "run.report=false"),
        *("task=webarena", f"task.path={folder / 'tasks.json'}", f"task.plans={folder / 'plans.json'}", "llm=scripted"),
        *(f"sites=from:{folder / 'sites' / 'shop' / 'sites.json'}", "run.display=none", "browser.screenshots=false"),
        *("workers=1", f"executor.lanes={lanes}", "fail_under=1.0", *overrides),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(said.decode())
    journals = list((folder / name).glob("*.traj.jsonl"))
    begun = [float(json.loads(path.read_text().partition("\n")[0])["at"]) for path in journals]
    ended = [path.stat().st_mtime for path in journals]
    wall_s = max(ended) - min(begun)
    return Played(wall_s, 100 * (1 - (sum(ended) - sum(begun)) / (lanes * wall_s)))


def check(folder: Path, tasks: int) -> None:
    """Whether each task found the site at its seed, by the site's own log."""
    begun = (folder / "visits").read_text().split()
    dirty = [one for one in begun if one != "0"]
    if dirty or len(begun) < tasks:
        raise SystemExit(f"{len(dirty)} of {len(begun)} starts were dirty, and {tasks} tasks were played")
    (folder / "visits").write_text("")


async def measure(  # noqa: PLR0913 (the sizes)
    *,
    tasks: int = 500,
    lanes: int = 2,
    instances: int = 6,
    megabytes: int = 100,
    latency_ms: int = 1000,
    turns: int = 1,
) -> Rows:
    """Rows of one reset, and of a run with a reset for each task."""
    latency = f"llm.latency_ms={latency_ms}"
    alone: dict[bool, list[float]] = {True: [], False: []}
    by_hand: list[float] = []
    with_resets: list[Played] = []
    without: list[Played] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write(folder, tasks=tasks, megabytes=megabytes)
        with up(folder, instances):
            for _ in range(SINGLE):
                for prepared, times in alone.items():
                    times.append(reset_alone(folder, prepared=prepared))
                with served_by_hand(folder) as took:
                    pass
                by_hand += took
            for turn in range(turns):
                with_resets.append(await play(folder, f"resets{turn}", lanes, (latency,)))
                check(folder, tasks)
                without.append(await play(folder, f"plain{turn}", lanes, (latency, "++sites.reset.when=asked")))
                (folder / "visits").write_text("")
    name = f"site resets, {tasks} tasks with one each, {megabytes} MB, {instances} instances for {lanes} lanes"
    return {
        f"site resets, one alone, {megabytes} MB, copy prepared": row(alone[True], by_hand, "s"),
        f"site resets, one alone, {megabytes} MB, no copy prepared": row(alone[False], by_hand, "s"),
        name: row([one.wall_s for one in with_resets], [one.wall_s for one in without], "s"),
        f"{name}: idle lanes": row([one.idle for one in with_resets], [one.idle for one in without], "% of time"),
    }


def main() -> None:
    options = parser(__doc__)
    for name, default in (("tasks", 500), ("lanes", 2), ("instances", 6), ("megabytes", 100), ("latency-ms", 1000)):
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--turns", type=int, default=1)
    asked = options.parse_args()
    tell(
        asyncio.run(
            measure(
                tasks=asked.tasks,
                lanes=asked.lanes,
                instances=asked.instances,
                megabytes=asked.megabytes,
                latency_ms=asked.latency_ms,
                turns=asked.turns,
            )
        )
    )


if __name__ == "__main__":
    sys.exit(main())
