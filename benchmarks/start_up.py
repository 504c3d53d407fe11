"""What commands cost before and after their work: help, a reader of a run, a finished run, and a run of one task.

Run: `python -m benchmarks.start_up [--tasks 40] [--runs 10]`. The whole process counts, from its start to its end,
beside one that only imports the libraries; `benchmarks.resume_scan` says how the run folder is made.
"""

import sys
import tempfile
from pathlib import Path

from benchmarks.results import Rows, parser, tell
from benchmarks.resume_scan import Finished, beside_imports
from benchmarks.spending import Spent, spent
from benchmarks.throughput import PROJECT

HELP = (sys.executable, "run.py", "--help")


def measure(*, tasks: int = 40, runs: int = 10) -> Rows:
    with tempfile.TemporaryDirectory() as folder:
        finished = Finished(Path(folder), tasks)
        finished.start()  # leaves the report
        show = (sys.executable, "-m", "harness.main", "show", str(finished.folder), "0")
        measured: dict[str, list[Spent]] = {
            f"start up, {tasks} finished tasks": [finished.start() for _ in range(runs)],
            "start up, run.py --help": [spent(HELP, cwd=PROJECT) for _ in range(runs)],
            "start up, harness show": [spent(show, cwd=PROJECT) for _ in range(runs)],
            "start up, a run of one task": [finished.play_one(f"one-{number}") for number in range(runs)],
        }
    rows: Rows = {}
    for name, starts in measured.items():
        rows |= beside_imports(name, starts, runs)
    return rows


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tasks", type=int, default=40)
    options.add_argument("--runs", type=int, default=10)
    asked = options.parse_args()
    tell(measure(tasks=asked.tasks, runs=asked.runs))


if __name__ == "__main__":
    sys.exit(main())
