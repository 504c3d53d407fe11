"""What questions about finished runs take: a search of 1,000 episodes, and where two runs of 812 tasks part.

Run: `python -m benchmarks.questions [--episodes 1000] [--tasks 812] [--steps 15]`. Each command is a process of its
own; the reference is one that reads the same journals and does nothing with them. Peak memory of the diff is also held
against that of a tenth of the tasks: it does not grow with them.
"""

import sys
import tempfile
from pathlib import Path

from benchmarks.results import Rows, parser, row, tell, timed
from benchmarks.spending import Spent, spent
from harness.records import CloseReason
from tests.reports.runs import Shape, assorted, fill

PROJECT = Path(__file__).resolve().parent.parent
READING = """
import sys
from pathlib import Path
from harness.journal.log import read
for folder in sys.argv[1:]:
    for journal in Path(folder).glob("*.traj.jsonl"):
        read(journal)
"""
QUERY = "action.kind=type lantern outcome!=refused"


def asked(*arguments: object) -> Spent:
    return spent([sys.executable, "-m", "harness.main", *map(str, arguments)], cwd=PROJECT)


def reading(*folders: Path) -> Spent:
    return spent([sys.executable, "-c", READING, *map(str, folders)], cwd=PROJECT)


def search(root: Path, episodes: int) -> Rows:
    folder = fill(root / "searched", assorted(episodes), screenshots=False)
    ours, bare = asked("find", folder, QUERY), reading(folder)
    return {f"questions, find in {episodes} episodes, beside reading": timed([ours.wall_s], [bare.wall_s], "s")}


def parting(root: Path, tasks: int, steps: int) -> Rows:
    names = {"whole": tasks, "part": max(1, tasks // 10)}
    folders = {
        name: [
            fill(
                root / f"{name}-{side}",
                [Shape(steps=steps - side, reason=CloseReason.STOPPED)] * size,
                screenshots=False,
            )
            for side in range(2)
        ]
        for name, size in names.items()
    }
    whole, part = (asked("diff", *folders[name]) for name in names)
    bare = reading(*folders["whole"])
    name = f"questions, diff of 2 x {tasks} tasks x {steps} steps"
    return {
        f"{name}: wall, beside reading": timed([whole.wall_s], [bare.wall_s], "s"),
        f"{name}: peak memory, beside a tenth of the tasks": row([whole.peak_mb], [part.peak_mb], "MB"),
    }


def measure(*, episodes: int = 1000, tasks: int = 812, steps: int = 15) -> Rows:
    """Of a search of so many episodes, and of two runs of so many tasks."""
    with tempfile.TemporaryDirectory() as root:
        return {**search(Path(root), episodes), **parting(Path(root), tasks, steps)}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--episodes", type=int, default=1000)
    options.add_argument("--tasks", type=int, default=812)
    options.add_argument("--steps", type=int, default=15)
    given = options.parse_args()
    tell(measure(episodes=given.episodes, tasks=given.tasks, steps=given.steps))


if __name__ == "__main__":
    sys.exit(main())
