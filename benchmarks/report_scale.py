"""How the report and the viewer bear size.

Run: `python -m benchmarks.report_scale [--tasks 812] [--steps 30] [--many 10000]`. A synthetic run of a whole benchmark
gets its report, in a process of its own; reading its journals alone is the reference, which whoever wants to report on
them cannot avoid. Then a viewer is started on ten thousand short tasks: what it takes to answer at once, beside what
the same pages take when it has looked at every task.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from benchmarks.results import Rows, parser, row, tell, timed
from benchmarks.spending import Spent, spent
from harness.records import CloseReason
from tests.reports.runs import Shape, assorted, fill

PROJECT = Path(__file__).resolve().parent.parent
REPORTING = """
import sys
from pathlib import Path
from harness.plugins.html_report.report import write_report
from harness.runs import Run
write_report(Run(Path(sys.argv[1])))
"""
READING = """
import sys
from pathlib import Path
from harness.journal.log import read
for journal in Path(sys.argv[1]).glob("*.traj.jsonl"):
    read(journal)
"""
PATHS = ("/run/many", "/run/many?page=2", "/run/many?q=Maya", "/run/many/task/7", "/")


def on(folder: Path, program: str) -> Spent:
    return spent([sys.executable, "-c", program, str(folder)], cwd=PROJECT)


def report(root: Path, tasks: int, steps: int) -> Rows:
    shape = Shape(steps=steps, score=0.0, reason=CloseReason.MAX_STEPS)
    folder = fill(root / "run", [shape] * tasks)
    first, reading, again = on(folder, REPORTING), on(folder, READING), on(folder, REPORTING)
    name = f"report scale, {tasks} tasks x {steps} steps"
    return {
        f"{name}: wall, beside reading the journals": timed([first.wall_s], [reading.wall_s], "s"),
        f"{name}: peak memory, beside reading the journals": row([first.peak_mb], [reading.peak_mb], "MB"),
        f"{name}: wall when nothing changed, beside the first": timed([again.wall_s], [first.wall_s], "s"),
    }


def viewer(root: Path, many: int) -> Rows:
    fill(root / "results" / "many", assorted(many, steps=1), screenshots=False)
    at_once = seen(root / "results", is_warm=False)
    warm = seen(root / "results", is_warm=True)
    return {
        f"report scale, viewer of {many} tasks, {path}: at once, beside warm": timed([at_once[path]], [warm[path]])
        for path in PATHS
    }


def seen(root: Path, *, is_warm: bool) -> dict[str, float]:
    """Path to seconds until it is answered, by a viewer of its own."""
    command = [sys.executable, "-m", "harness.main", "view", str(root), "--no-token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        base = server.stdout.readline().strip()
        try:
            with httpx.Client(base_url=base, timeout=60) as client:
                while is_warm and "have not been looked at" in client.get("/run/many").text:
                    pass
                return {path: answer_s(client, path) for path in PATHS}
        finally:
            server.terminate()


def answer_s(client: httpx.Client, path: str) -> float:
    begun = time.perf_counter()
    client.get(path).raise_for_status()
    return time.perf_counter() - begun


def measure(*, tasks: int = 812, steps: int = 30, many: int = 10_000) -> Rows:
    """Of a report of so many tasks and of a viewer of `many`; 0 leaves either out."""
    with tempfile.TemporaryDirectory() as root:
        return {
            **(report(Path(root), tasks, steps) if tasks else {}),
            **(viewer(Path(root), many) if many else {}),
        }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tasks", type=int, default=812)
    options.add_argument("--steps", type=int, default=30)
    options.add_argument("--many", type=int, default=10_000)
    asked = options.parse_args()
    tell(measure(tasks=asked.tasks, steps=asked.steps, many=asked.many))


if __name__ == "__main__":
    sys.exit(main())
