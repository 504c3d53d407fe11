"""What policies and attacks cost runs that have neither: the demo's tasks, with the plug-ins there and not there.

Run: `python -m benchmarks.safety_overhead [--tasks 10] [--runs 7]`. Ours is a copy of this tree, the reference a copy
without the plug-ins that judge policies, plant attacks and load benchmarks of both. The whole command counts, with its
workers, browsers and sites: seconds of processor time. Both play in turn, and each begins every other pair.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import Rows, parser, row, tell
from benchmarks.shelf import copy_without
from benchmarks.spending import Spent, spent

PLUGINS = ("attacks", "policies", "safearena", "st_webagentbench")


def played(tree: Path, name: str, options: Sequence[str]) -> Spent:
    """Raises: SystemExit: A task failed."""
    command = ("env", f"PYTHONPATH={tree}", sys.executable, "run.py", "task=demo", *options, f"run.id={name}")
    return spent((*command, f"run.root={tree / 'results'}"), cwd=tree)


def measure(*, tasks: int = 10, runs: int = 7) -> Rows:
    with tempfile.TemporaryDirectory() as place:
        trees = copy_without((), Path(place) / "all"), copy_without(PLUGINS, Path(place) / "without")
        times: tuple[list[float], list[float]] = ([], [])
        for turn in range(runs + 1):
            for side in (0, 1) if turn % 2 else (1, 0):
                used = played(trees[side], f"turn-{turn}", (f"task.limit={tasks}",))
                if turn:  # the first compiles
                    times[side].append(used.cpu_s)
    return {f"safety overhead, processor time of {tasks} tasks without policies or attacks": row(*times, "s")}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tasks", type=int, default=10)
    options.add_argument("--runs", type=int, default=7)
    asked = options.parse_args()
    tell(measure(tasks=asked.tasks, runs=asked.runs))


if __name__ == "__main__":
    sys.exit(main())
