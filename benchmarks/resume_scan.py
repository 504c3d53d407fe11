"""How long a start takes to know that nothing is owed, on a run folder full of finished tasks.

Run: `python benchmarks/resume_scan.py [--tasks 10000] [--steps 30] [--items 150] [--folder DIR]`. Makes a run folder of that
size (2.4 GB by default, removed afterwards) and scans it in fresh processes: with its index, and after deleting it. What is
printed is the whole process, imports included, its peak memory and its CPU time (which says what a machine that is not
busy with other things would need); and how long reading one journal takes.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from journal_append import episode

from harness.actions.space import Stop
from harness.codec import encode, seal
from harness.journal.index import INDEX_NAME
from harness.journal.log import read
from harness.records import Closed, CloseReason, Decided, Evidence, Opened, Record, Scored, Status, Verdict

SCANNING = """
import resource, sys, time
from pathlib import Path
from harness.journal.store import RunFolder
with RunFolder.open(Path(sys.argv[1])) as run:
    started = time.perf_counter()
    outcomes = run.scan().outcomes
    scanned = time.perf_counter() - started
owed = sum("webarena" not in outcome.scores for outcome in outcomes.values())
used = resource.getrusage(resource.RUSAGE_SELF)
peak, cpu = used.ru_maxrss / 1024, used.ru_utime + used.ru_stime
print(f"{len(outcomes)} tasks, {owed} owed; scan {scanned:.2f} s; peak memory {peak:.0f} MB; CPU {cpu:.2f} s", end="")
"""


def finished(steps: int, items: int) -> list[Record]:
    """The records of one finished episode."""
    records = list(episode(steps - 1, items))
    stop = next(record for record in reversed(records) if isinstance(record, Decided))
    verdict = Verdict(evaluator="url_match", status=Status.OK, value=1.0, why="")
    evidence = Evidence(url="http://shop.localhost/", title="Shop", html=None)
    return [
        *records,
        replace(stop, step=steps, action=Stop(answer="done")),
        Closed(reason=CloseReason.STOPPED, detail="", answer="done", evidence=evidence, at=3.0),
        Scored(dialect="webarena", evaluator_version="1", status=Status.OK, value=1.0, verdicts=(verdict,), at=4.0),
    ]


def fill(folder: Path, tasks: int, records: list[Record]) -> None:
    """Write finished journals, as bytes: encoding each of them anew would take minutes."""
    first, *rest = records
    assert isinstance(first, Opened)
    bodies = [encode(record).body for record in rest]
    for number in range(tasks):
        opened = replace(first, task=replace(first.task, task_id=str(number)))
        lines, crc = [], 0
        for body in (encode(opened).body, *bodies):
            line, crc = seal(body, crc)
            lines.append(line)
        (folder / f"{number}.traj.jsonl").write_bytes(b"".join(lines))


def report(name: str, folder: Path) -> None:
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", SCANNING, folder], capture_output=True, text=True, check=True)
    print(f"{name:14} {done.stdout}; process {time.perf_counter() - started:.2f} s")  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--items", type=int, default=150, help="lines of each page, about 55 bytes each")
    parser.add_argument("--folder", type=Path, default=None, help="where to write (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        fill(folder, options.tasks, finished(options.steps, options.items))
        one = folder / "0.traj.jsonl"
        read(one)
        started = time.perf_counter()
        read(one)
        took = (time.perf_counter() - started) * 1e3
        print(f"one journal    {one.stat().st_size / 1024:.0f} KB, {options.steps} steps: read in {took:.1f} ms")  # noqa: T201
        report("without index", folder)
        report("with index", folder)
        report("with index", folder)
        (folder / INDEX_NAME).unlink()
        report("index deleted", folder)


if __name__ == "__main__":
    main()
