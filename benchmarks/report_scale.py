"""How the report and the viewer bear size: python benchmarks/report_scale.py [--tasks 812 --steps 30 --many 10000]

Makes a synthetic run of a whole benchmark and reports seconds, bytes and peak memory of its report; then a run of ten
thousand short tasks, and what a viewer just started takes to answer. Generation runs in a process of its own, so that the
memory measured is its own.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.records import CloseReason
from tests.reports.runs import Shape, assorted, fill

_GENERATE = """
import resource, sys, time
from pathlib import Path
from harness.reports.report import write_report
begun = time.perf_counter()
written = write_report(Path(sys.argv[1]))
print(written.pages, time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def generate(folder: Path) -> tuple[int, float, float]:
    """Pages written, seconds, peak MiB."""
    done = subprocess.run([sys.executable, "-c", _GENERATE, str(folder)], capture_output=True, text=True, check=True)
    pages, seconds, peak = done.stdout.split()
    return int(pages), float(seconds), float(peak)


def report(root: Path, tasks: int, steps: int) -> None:
    shape = Shape(steps=steps, score=0.0, reason=CloseReason.MAX_STEPS)
    for count in (max(1, tasks // 8), tasks):
        folder = fill(root / f"run-{count}", [shape] * count)
        pages, seconds, peak = generate(folder)
        index = (folder / "report" / "index.html").stat().st_size
        say(
            f"report of {count} tasks x {steps} steps: {pages} pages in {seconds:.1f} s, index {index / 1e6:.2f} MB, peak {peak:.0f} MiB"
        )
        pages, seconds, _ = generate(folder)
        say(f"  again, nothing changed: {pages} pages in {seconds * 1000:.0f} ms")


def viewer(root: Path, many: int) -> None:
    fill(root / "results" / "many", assorted(many, steps=1), screenshots=False)
    command = [sys.executable, "-m", "harness.main", "view", str(root / "results"), "--no-token"]
    for pause in ("at once", "warm"):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            base = server.stdout.readline().strip()
            try:
                ask(base, pause, server.pid)
            finally:
                server.terminate()


def ask(base: str, pause: str, pid: int) -> None:
    with httpx.Client(base_url=base, timeout=60) as client:
        if pause == "warm":
            while "have not been looked at" in client.get("/run/many").text:
                pass
        for path in ("/run/many", "/run/many?page=50", "/run/many?q=Maya", "/run/many/task/77", "/"):
            begun = time.perf_counter()
            client.get(path).raise_for_status()
            elapsed = (time.perf_counter() - begun) * 1000
            say(f"viewer {pause}: {path} in {elapsed:.0f} ms, {psutil.Process(pid).memory_info().rss / 1e6:.0f} MB")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=812)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--many", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        if options.tasks:
            report(Path(root), options.tasks, options.steps)
        if options.many:
            viewer(Path(root), options.many)


if __name__ == "__main__":
    main()
