"""What a reset before each task costs a run where there are spare instances: tasks that change a site of one's own,
with a reset each, against the same tasks without resets.

Run: `python -m benchmarks.site_resets [--tasks 500] [--lanes 2] [--instances 6] [--megabytes 100] [--latency-ms 1000]`.
The site is a process of a set (`harness sites`) with a database and so many megabytes of files, all of which a reset
puts back. The site's own log is asked whether a task began on what another had left: one that did ends the benchmark. A
ratio of 1.10 is a tenth of the time lost to resets.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.results import Rows, parser, row, tell

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


@contextmanager
def up(folder: Path, instances: int) -> Iterator[None]:
    def sites(*words: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "harness.main", "sites", *words], cwd=folder, check=True, stdout=sys.stderr
        )

    sites("up", "shop.yaml", "--scale", str(instances))
    try:
        yield
    finally:
        sites("down", "shop.yaml", "--all")


async def play(folder: Path, name: str, overrides: Sequence[str]) -> float:
    """Seconds from the first record of a run to its last one, as start-up costs both alike."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(PROJECT / "run.py"), f"run.root={folder}", f"run.id={name}", "run.report=false"),
        *("task=webarena", f"task.path={folder / 'tasks.json'}", f"task.plans={folder / 'plans.json'}", "llm=scripted"),
        *(f"sites=from:{folder / 'sites' / 'shop' / 'sites.json'}", "run.display=none", "browser.screenshots=false"),
        *("workers=1", "fail_under=1.0", *overrides),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(said.decode())
    journals = list((folder / name).glob("*.traj.jsonl"))
    begun = min(float(json.loads(path.read_text().partition("\n")[0])["at"]) for path in journals)
    return max(path.stat().st_mtime for path in journals) - begun


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
    """One row: with a reset for each task, and without any as the reference."""
    common = (f"executor.lanes={lanes}", f"llm.latency_ms={latency_ms}")
    with_resets: list[float] = []
    without: list[float] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write(folder, tasks=tasks, megabytes=megabytes)
        with up(folder, instances):
            for turn in range(turns):
                with_resets.append(await play(folder, f"resets{turn}", common))
                check(folder, tasks)
                without.append(await play(folder, f"plain{turn}", (*common, "++sites.reset.when=asked")))
                (folder / "visits").write_text("")
    name = f"site resets, {tasks} tasks with one each, {megabytes} MB, {instances} instances for {lanes} lanes"
    return {name: row(with_resets, without, "s")}


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
