"""How the report and the viewer bear size.

Run: `python -m benchmarks.report_scale [--tasks 812] [--steps 30] [--many 10000]`. A synthetic run of a whole benchmark
gets its report, in a process of its own; reading its journals alone is the reference, which whoever wants to report on
them cannot avoid. Then a viewer is started on ten thousand short tasks: what it takes to answer at once, beside what
the same pages take when it has looked at every task. At last a Chromium opens the first page of both and filters it,
beside the same of a hundred tasks.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import sync_playwright

from benchmarks.results import Rows, parser, row, tell, timed
from benchmarks.spending import Spent, spent
from harness.browser.driver import executable
from harness.plugins.html_report.chart import charts
from harness.plugins.html_report.pages import Pages, RunView, style
from harness.plugins.html_report.report import STYLE, DiskUrls
from harness.records import CloseReason
from harness.runs import Run
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
FILTERED = """async (word) => {
  const field = document.querySelector("input[name=q]");
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(0);
  }));
  await painted();
  const begun = performance.now();
  field.value = word;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await painted();
  return (performance.now() - begun) / 1000;
}"""
"""Seconds until a list that is filtered in the browser is painted."""
WORDS = ("m", "maya", "cheapest lantern", "")
FEW = 100
PAIRS = 5
PAINTED = """async () => {
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
  while (!painted()) await new Promise(requestAnimationFrame);
  return painted().startTime / 1000;
}"""
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
    sizes = {"many": many, "few": FEW}
    folders = {
        size: fill(root / "results" / name, assorted(size, steps=1), screenshots=False) for name, size in sizes.items()
    }
    at_once = seen(root / "results", is_warm=False)
    warm = seen(root / "results", is_warm=True)
    return {
        f"report scale, viewer of {many} tasks, {path}: at once, beside warm": timed([at_once[path]], [warm[path]])
        for path in PATHS
    } | painted(root / "results", folders, many)


def painted(results: Path, folders: dict[int, Path], many: int) -> Rows:
    """First paint and filter of both pages in a browser, in pairs."""
    found: dict[str, dict[int, list[float]]] = {}

    def keep(what: str, size: int, *taken: float) -> None:
        found.setdefault(what, {}).setdefault(size, []).extend(taken)

    pages = {size: first_page(folder) for size, folder in folders.items()}
    with (
        sync_playwright() as playwright,
        viewing(results, is_warm=True) as base,
        playwright.chromium.launch(executable_path=executable.find()) as browser,
    ):
        for _ in range(PAIRS):
            for size, page_of_report in pages.items():
                with browser.new_page() as page:
                    page.goto(page_of_report.as_uri())
                    keep("report, first paint", size, page.evaluate(PAINTED))
                    keep("report, filter", size, *(page.evaluate(FILTERED, word) for word in WORDS))
                    address = f"{base}/run/{folders[size].name}"
                    page.goto(address)
                    keep("viewer, first paint", size, page.evaluate(PAINTED))
                    page.goto(f"{address}?q=Maya&status=failed")
                    keep("viewer, filter", size, page.evaluate(PAINTED))
    return {
        f"report scale, in a browser, {many} tasks, {what}: beside {FEW} tasks": timed(of[many], of[FEW])
        for what, of in found.items()
    }


def first_page(folder: Path) -> Path:
    """That of the report, without the pages of its tasks."""
    run, target = Run(folder), folder / "report"
    target.mkdir()
    rows = run.results
    view = RunView(run=run.about, view=run.statistics(), charts=charts(rows), rows=rows, count=len(rows))
    (target / STYLE).write_text(style())
    index = target / "index.html"
    index.write_text(Pages(style_url=STYLE).run(view, DiskUrls(run.artifacts)))
    return index


@contextmanager
def viewing(root: Path, *, is_warm: bool) -> Iterator[str]:
    """The address of a viewer; of one that has looked at every task, if it is to be warm."""
    command = [sys.executable, "-m", "harness.main", "view", str(root), "--no-token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        base = server.stdout.readline().strip()
        try:
            while is_warm and "have not been read yet" in httpx.get(f"{base}/run/many", timeout=60).text:
                pass
            yield base
        finally:
            server.terminate()


def seen(root: Path, *, is_warm: bool) -> dict[str, float]:
    """Path to seconds until it is answered, by a viewer of its own."""
    with viewing(root, is_warm=is_warm) as base, httpx.Client(base_url=base, timeout=60) as client:
        return {path: answer_s(client, path) for path in PATHS}


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
