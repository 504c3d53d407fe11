"""What handing out tasks takes, where an episode costs next to nothing: the bound of large sweeps.

Run: `python -m benchmarks.supervisor [--tasks 10000]`. The full command plays tasks with `agent=null` in two workers,
which are those of any run but for `harness.testing.ScriptedPages` in the place of their browser: they open, write,
fsync and score each episode. The process that hands the tasks out stands beside them, from the first worker's start
until the last one's end, without the report. Then the same run is killed when half of its tasks are done, and goes on.
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self

import psutil

from benchmarks.results import Rows, parser, row, tell
from benchmarks.throughput import PROJECT
from harness.records import Task
from harness.testing import ScriptedPages

OURS = "benchmarks.supervisor"
WORKERS = 2
LOOKS_S = 0.02


class ScriptedBrowser:
    """A `ChromiumPool` without a browser."""

    starts = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    def begin(self, lane: int) -> None:
        """Nothing has to start."""

    @asynccontextmanager
    async def open(
        self, task: Task, lane: int, instances: Mapping[str, str] | None = None, *, alone: bool = False
    ) -> AsyncIterator[ScriptedPages]:
        """See `EnvironmentFactory.open`."""
        yield ScriptedPages("RootWebArea 'Page'")


class Sweep(NamedTuple):
    """What a run took while it had workers."""

    wall_s: float
    supervisor_s: float
    """Processor time."""
    workers_s: float
    """Of all of them."""
    supervisor_mb: float
    """Resident at most."""


def work() -> int:
    """A worker process."""
    from harness.evaluation import worker_main, worker_pool

    setattr(worker_pool, "chromium", lambda *_, **__: ScriptedBrowser())  # noqa: B010 (it is of another type)
    return worker_main.main()


def play(arguments: list[str]) -> int:
    """The command, with such workers."""
    from harness.cli import run
    from harness.evaluation import first_worker

    setattr(first_worker, "PLAYER", ("-m", OURS, "--work"))  # noqa: B010 (a constant)
    return run(arguments, begun=time.monotonic())


def write_tasks(folder: Path, count: int) -> None:
    evaluation = {"eval_types": ["string_match"], "reference_answers": {"exact_match": ""}}
    tasks = [
        {"task_id": n, "sites": [], "intent": f"Do {n}.", "start_url": "http://localhost:9/", "eval": evaluation}
        for n in range(count)
    ]
    (folder / "tasks.json").write_text(json.dumps(tasks))


@contextmanager
def started(folder: Path, name: str) -> Iterator[psutil.Popen]:
    """A run of the tasks; one that is not over is killed.

    Raises:
        SystemExit: It failed.
    """
    settings = ("agent=null", "judge=none", "sites.embedded=false", f"task.path={folder / 'tasks.json'}")
    where = (f"run.root={folder}", f"run.id={name}", f"workers={WORKERS}")
    command = [sys.executable, "-m", OURS, "--play", *settings, *where]
    with (folder / f"{name}.out").open("ab") as out:
        with psutil.Popen(command, cwd=PROJECT, stdout=out, stderr=subprocess.STDOUT) as process:
            yield process
            with suppress(psutil.NoSuchProcess):
                process.kill()
    if process.returncode not in (0, -signal.SIGKILL):
        raise SystemExit((folder / f"{name}.out").read_text()[-2000:])


def watched(process: psutil.Popen, is_enough: Callable[[], bool] = lambda: False) -> Sweep:
    """Look at a run from its first worker until it has none any more, or until it is enough."""
    times: dict[int, float] = {}
    begun = since = last = most = 0.0
    while process.poll() is None and not is_enough():
        with suppress(psutil.Error):
            own, memory = sum(process.cpu_times()[:2]), process.memory_info().rss / 2**20
            workers = [child for child in process.children() if "--work" in child.cmdline()]
            times |= {child.pid: sum(child.cpu_times()[:2]) for child in workers}
            if workers and not begun:
                begun, since = time.perf_counter(), own
            if begun and not workers:
                break
            last, most = own, max(most, memory)
        time.sleep(LOOKS_S)
    return Sweep(time.perf_counter() - begun, last - since, sum(times.values()), most)


def measure(*, tasks: int = 10_000) -> Rows:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sweeps = []
        for count in (tasks // 10, tasks):
            write_tasks(folder, count)
            with started(folder, f"of-{count}") as process:
                sweeps.append(watched(process))
                process.wait()
        few, many = sweeps
        half = folder / "killed" / f"{tasks // 2}.traj.jsonl"
        with started(folder, "killed") as process:
            first = watched(process, half.exists)
            process.kill()
        with started(folder, "killed") as process:
            rest = watched(process)
            process.wait()
    per_s = tasks / many.wall_s
    return {
        f"supervisor, {tasks} tasks, processor time of a task": row(
            [many.supervisor_s / tasks * 1000], [many.workers_s / tasks * 1000], "ms"
        ),
        f"supervisor, {tasks} tasks, tasks a second": row([per_s], [tasks // 10 / few.wall_s], "tasks/s"),
        f"supervisor, {tasks} tasks, memory": row([many.supervisor_mb], [few.supervisor_mb], "MB"),
        f"supervisor, {tasks} tasks, killed half-way": row([first.wall_s + rest.wall_s], [many.wall_s], "s"),
    }


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        sys.exit(work())
    if sys.argv[1:2] == ["--play"]:
        sys.exit(play(sys.argv[2:]))
    options = parser(__doc__)
    options.add_argument("--tasks", type=int, default=10_000)
    tell(measure(tasks=options.parse_args().tasks))


if __name__ == "__main__":
    main()
