"""How long the command takes to know that no job is pending, on a run folder full of finished tasks.

Run: `python -m benchmarks.resume_scan [--tasks 10000] [--runs 5] [--folder DIR]`. One task of that many is really
played, by the command; its journal is then copied for the others, with their task in its first line and every line
sealed anew, so that the same command takes them for its own. It is given again: first without an index of the journals,
then with the index but without a conclusion of the run, and then with both, which is how a second start finds them. The
whole process counts, its imports included (a report it is not asked for). Importing the libraries alone is the
reference. A start that finds a pending job is no row but an error.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.results import Rows, parser, row, tell, timed
from benchmarks.spending import Spent, spent
from benchmarks.throughput import INTENT, PROJECT, write_tasks
from harness.codec import decode, encode, loads, seal, unseal
from harness.episode.job import task_digest
from harness.evaluation.summary_cache import NAME
from harness.journal.index import INDEX_NAME
from harness.records import Opened

IMPORTS = (sys.executable, "-c", "import hydra, openai, playwright.async_api, orjson")
"""What any harness of this kind loads before it can do anything."""


class Finished:
    """A run folder in which all tasks are finished, and the command that made it.

    Args:
        root: Where everything goes; empty.
        tasks: How many.
        settings: Further ones of the command.
    """

    def __init__(self, root: Path, tasks: int, *settings: str) -> None:
        self._tasks = tasks
        self.folder = root / "run"
        task_file, plans, _ = write_tasks(root, tasks)
        self._command = [
            *(sys.executable, "run.py", f"run.root={root}", "run.id=run", "run.display=none", "workers=1"),
            *(
                f"task.path={task_file}",
                f"task.plans={plans}",
                "browser.screenshots=false",
                "fail_under=1.0",
                *settings,
            ),
        ]
        self.play_one("run")
        self._copy()

    def play_one(self, name: str) -> Spent:
        """Play the first task, in a run folder of this name."""
        return spent([*self._command, "task.limit=1", f"run.id={name}"], cwd=PROJECT)

    def _copy(self) -> None:
        """The journal of the first task for each of the others."""
        first, *rest = _bodies((self.folder / "0.traj.jsonl").read_bytes())
        opened = decode(first)
        assert isinstance(opened, Opened)
        for number in range(1, self._tasks):
            task = replace(opened.task, task_id=str(number), intent=INTENT.format(number))
            mine = encode(replace(opened, task=task, task_digest=task_digest(task))).body
            lines, crc = [], 0
            for body in (mine, *rest):
                line, crc = seal(body, crc)
                lines.append(line)
            (self.folder / f"{number}.traj.jsonl").write_bytes(b"".join(lines))

    def start(self) -> Spent:
        """Give the command again.

        Raises:
            SystemExit: It failed, or not everything was finished.
        """
        found = spent(self._command, cwd=PROJECT)
        summary = loads((self.folder / "summary.json").read_bytes())
        done = summary["invocation"]
        asked = {name: done[name] for name in ("episodes_run", "model_requests", "browser_starts")}
        if any(asked.values()) or summary["passed"] != self._tasks:
            raise SystemExit(f"of {self._tasks} tasks {summary['passed']} were finished; the start needed {asked}")
        return found

    def start_without(self, name: str) -> Spent:
        """The same without that file of the run folder."""
        (self.folder / name).unlink()
        return self.start()


def _bodies(journal: bytes) -> Iterator[bytes]:
    crc = 0
    for line in journal.split(b"\n")[:-1]:
        body, crc = unseal(line, crc)
        yield body


def beside_imports(name: str, starts: list[Spent], runs: int) -> Rows:
    floor = [spent(IMPORTS, cwd=PROJECT) for _ in range(runs)]
    return {
        f"{name}: wall, beside imports alone": timed(
            [one.wall_s for one in starts], [one.wall_s for one in floor], "s"
        ),
        f"{name}: processor time, beside imports alone": timed(
            [one.cpu_s for one in starts], [one.cpu_s for one in floor], "s"
        ),
        f"{name}: peak memory, beside imports alone": row(
            [one.peak_mb for one in starts], [one.peak_mb for one in floor], "MB"
        ),
    }


def measure(*, tasks: int = 10_000, runs: int = 5, folder: Path | None = None) -> Rows:
    with tempfile.TemporaryDirectory(dir=folder) as made:
        finished = Finished(Path(made), tasks, "run.report=false")
        (finished.folder / INDEX_NAME).unlink()
        anew = finished.start()
        indexed = [finished.start_without(NAME) for _ in range(runs)]
        again = [finished.start() for _ in range(runs)]
    name = f"resume scan, {tasks} finished tasks"
    return {
        **beside_imports(name, again, runs),
        f"{name}: wall without a conclusion, beside with it": timed(
            [one.wall_s for one in indexed], [one.wall_s for one in again], "s"
        ),
        f"{name}: wall without an index, beside with it": timed([anew.wall_s], [one.wall_s for one in indexed], "s"),
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tasks", type=int, default=10_000)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--folder", type=Path, default=None, help="where to write (default: a temporary folder)")
    asked = options.parse_args()
    tell(measure(tasks=asked.tasks, runs=asked.runs, folder=asked.folder))


if __name__ == "__main__":
    sys.exit(main())
