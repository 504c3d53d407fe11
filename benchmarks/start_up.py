"""How long the command takes when everything is done: a run of the size of the demo, its report included.

Run: `python -m benchmarks.start_up [--tasks 40] [--runs 10]`. The whole process counts, from its start to its end,
beside one that only imports the libraries; `benchmarks.resume_scan` says how the run folder is made.
"""

import sys
import tempfile
from pathlib import Path

from benchmarks.results import Rows, parser, tell
from benchmarks.resume_scan import Finished, beside_imports


def measure(*, tasks: int = 40, runs: int = 10) -> Rows:
    with tempfile.TemporaryDirectory() as folder:
        finished = Finished(Path(folder), tasks)
        finished.start()  # leaves the report
        starts = [finished.start() for _ in range(runs)]
    return beside_imports(f"start up, {tasks} finished tasks", starts, runs)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tasks", type=int, default=40)
    options.add_argument("--runs", type=int, default=10)
    asked = options.parse_args()
    tell(measure(tasks=asked.tasks, runs=asked.runs))


if __name__ == "__main__":
    sys.exit(main())
