"""`report/` of a run folder: pages that open from disk, with neither server nor network.

Derived: deleting it loses nothing. Only pages whose journal changed are made again, so a start that had nothing to do
costs nothing here. Memory holds the rows and one journal at a time. Reads journals and artifacts, writes below
`report/` only.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness import __version__, safe_files
from harness.codec import CodecError, JsonObject, dumps, loads, plain
from harness.errors import JournalError
from harness.journal.disk import Within, translate_os_errors, write_atomic
from harness.journal.index import IndexEntry, Scan, scan
from harness.journal.log import attempts
from harness.journal.store import ArtifactStore
from harness.reports.baselines import Baseline, baselines_of
from harness.reports.fork_tree import fork_tree
from harness.reports.overview import overview
from harness.reports.pages import Pages, RunView, TaskView, style, version
from harness.reports.rows import Row, RunInfo, page_name, row_of, rows_of, run_info
from harness.reports.task_page import TaskPageBuilder
from harness.runs.run import side_file

MADE = ".made.json"
"""What each page was made from."""
STYLE = "report.css"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReport:
    """What a call of `write_report` did."""

    index: Path
    pages: int
    """Written now; the others were still right."""


class DiskUrls:
    """Addresses between the files of `report/`, from a page `depth` folders below it."""

    def __init__(self, artifacts: ArtifactStore, depth: int = 0) -> None:
        self._artifacts = artifacts
        self._up = "../" * depth

    def home(self) -> str:
        return self.run()

    def run(self) -> str:
        return f"{self._up}index.html"

    def task(self, page: str) -> str:
        return quote(page) if self._up else f"tasks/{quote(page)}"

    def cause(self, name: str) -> str:
        return "#tasks"

    def page(self, number: int) -> str:
        return self.run()

    def shot(self, digest: str) -> str:
        return f"{self._up}../artifacts/{digest[:2]}/{digest}"

    def selected(self, digest: str) -> str:
        return selected_text(self._artifacts, digest)


def write_report(folder: Path, *, dialect: str | None = None, found: Scan | None = None) -> WrittenReport:
    """Bring `open_folder`/report up to date.

    Args:
        folder: The run folder.
        dialect: Scoring to show; None = the one the run was scored in.
        found: What its journals say, when that is known already.

    Raises:
        UnsafeFile: `report` is a link, or something else that is no folder of the run's own.
        StorageError: The disk refuses.
    """
    target = folder / "report"
    safe_files.check_folder(target / "tasks", folder)
    found = found or scan(folder)
    known = run_info(folder, dialect)
    rows = rows_of(found.entries, known)
    baselines = baselines_of(folder, rows, known.dialect)
    whole = overview(rows, folder, known.benchmarks)
    branches = fork_tree(folder)
    facts = _facts(found, known, rows, baselines) | {"judges": [plain(one) for one in whole.judges]}
    facts["notes"] = list(whole.notes)
    facts["branches"] = [plain(one) for one in branches]
    made = side_file(target / MADE)
    if made == facts and (target / "index.html").exists():
        return WrittenReport(index=target / "index.html", pages=0)
    within = Within(folder)
    with translate_os_errors(target), safe_files.open_folder(target / "tasks", folder, make=0o777):
        pass
    right = made["pages"] if made.get("version") == facts["version"] else {}
    stale = {name for name, fact in facts["pages"].items() if right.get(name) != fact}
    for name, text in _task_pages(folder, known, found, stale=stale, pages=facts["pages"]):
        write_atomic(target / "tasks" / name, text.encode(), durable=False, within=within)
    view = RunView(
        run=known,
        view=whole,
        rows=rows,
        count=len(rows),
        damaged=facts["damaged"],
        baselines=baselines,
        branches=branches,
    )
    write_atomic(target / STYLE, style().encode(), durable=False, within=within)
    index = Pages(style_url=STYLE).run(view, DiskUrls(ArtifactStore(folder / "artifacts")))
    write_atomic(target / "index.html", index.encode(), durable=False, within=within)
    write_atomic(target / MADE, dumps(facts), durable=False, within=within)
    return WrittenReport(index=target / "index.html", pages=len(stale))


def story_of(
    folder: Path, known: RunInfo, entry: IndexEntry, builder: TaskPageBuilder | None = None
) -> TaskView | None:
    """The view of one task page; None when its journal cannot be read any more."""
    try:
        episodes = attempts(folder / entry.name)
    except JournalError:
        return None
    if not episodes:
        return None
    builder = builder or TaskPageBuilder(ArtifactStore(folder / "artifacts"))
    return TaskView(run=known, row=row_of(entry, known), story=builder.story(episodes, known.dialect))


def selected_text(artifacts: ArtifactStore, digest: str) -> str:
    """A gathered value as text."""
    try:
        value: Any = loads(artifacts.read(digest))
    except (JournalError, CodecError) as exc:
        return str(exc)
    return value if isinstance(value, str) else dumps(value).decode()


def _facts(found: Scan, known: RunInfo, rows: Sequence[Row], baselines: Sequence[Baseline]) -> JsonObject:
    """All that the report depends on, as JSON: the same facts, the same report."""
    stamps = {page_name(entry.name): [entry.size, entry.mtime_ns] for entry in found.entries}
    order = [row.page for row in rows if row.page]
    pages = {
        page: [*stamps[page], before, after]
        for before, page, after in zip(["", *order], order, [*order[1:], ""], strict=False)
    }
    return {
        "version": f"{__version__} {version()} {known.dialect}",
        "run": plain(known),
        "baselines": [plain(one) for one in baselines],
        "pages": pages,
        "damaged": [str(damage) for damage in found.damaged],
    }


def _task_pages(
    folder: Path, known: RunInfo, found: Scan, *, stale: AbstractSet[str], pages: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Name and text of each stale page; one journal in memory at a time."""
    artifacts = ArtifactStore(folder / "artifacts")
    builder, printer, place = TaskPageBuilder(artifacts), Pages(style_url=f"../{STYLE}"), DiskUrls(artifacts, depth=1)
    for entry in found.entries:
        name = page_name(entry.name)
        if name in stale and (view := story_of(folder, known, entry, builder)) is not None:
            _, _, before, after = pages[name]
            yield name, printer.task(replace(view, before=before, after=after), place)
