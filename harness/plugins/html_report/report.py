"""`report/` of a run folder: pages that open from disk, with neither server nor network.

Derived: deleting it loses nothing. Only pages that are missing, or whose journal changed, are made again, so a start
that had nothing to do costs nothing here. Memory holds the rows and one journal at a time. Reads journals and
artifacts, writes below `report/` only.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness import __version__
from harness.api import CodecError, JsonObject, dumps, loads
from harness.api.files import SideFile, Within, safe_files, translate_os_errors, write_atomic
from harness.api.journals import ArtifactStore
from harness.api.records import plain
from harness.errors import JournalError
from harness.plugins.html_report.chart import charts
from harness.plugins.html_report.fork_tree import fork_tree
from harness.plugins.html_report.further_pages import pages_in_report, write_further
from harness.plugins.html_report.pages import Pages, RunView, TaskView, style, version
from harness.runs.about import RunInfo
from harness.runs.attribution import NO_ATTRIBUTIONS
from harness.runs.baselines import Baseline, baselines_of
from harness.runs.comparison import Comparison
from harness.runs.episode import Episode
from harness.runs.results import page_of, result_of
from harness.runs.run import Run
from harness.runs.task_page import TaskPageBuilder, story_of

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

    def rule(self, kind: str, name: str) -> str:
        return "#tasks"

    def step(self, page: str, number: int) -> str:
        return f"{self.task(page)}#step-{number}"

    def page(self, number: int) -> str:
        return self.run()

    def shot(self, digest: str) -> str:
        return f"{self._up}../artifacts/{digest[:2]}/{digest}"

    def selected(self, digest: str) -> str:
        return selected_text(self._artifacts, digest)


def write_report(run: Run) -> WrittenReport:
    """Bring `report/` of a run folder up to date.

    Raises:
        UnsafeFile: `report` is a link, or something else that is not a folder of the run's own.
        StorageError: The disk refuses.
    """
    folder, target = run.folder, run.folder / "report"
    safe_files.check_folder(target / "tasks", folder)
    whole, baselines = run.statistics_of_readable(), baselines_of(folder, run.results, run.scoring)
    branches = fork_tree(folder)
    facts = _facts(run, baselines) | {"judges": [plain(one) for one in whole.judges]}
    facts["notes"] = list(whole.notes)
    facts |= {"measured": [plain(one) for one in run.measured]} if run.measured else {}
    facts["branches"] = [plain(one) for one in branches]
    facts["further"] = list(pages_in_report())
    made = SideFile[JsonObject](MADE, dict).find(target) or {}
    right, there = made["pages"] if made.get("version") == facts["version"] else {}, _names_in(target / "tasks")
    stale = {name for name, fact in facts["pages"].items() if name not in there or right.get(name) != fact}
    others = {"index.html", STYLE, *(f"{name}.html" for name in facts["further"])}
    if made == facts and not stale and others <= _names_in(target):
        return WrittenReport(index=target / "index.html", pages=0)
    within = Within(folder)
    with translate_os_errors(target), safe_files.open_folder(target / "tasks", folder, make=0o777):
        pass
    for name, text in _task_pages(run, stale=stale, pages=facts["pages"]):
        write_atomic(target / "tasks" / name, text.encode(), durable=False, within=within)
    further, faults = write_further(run, target, within)
    view = RunView(
        run=run.about,
        view=whole,
        charts=charts(run.results),
        rows=run.results,
        count=len(run.results),
        damaged=facts["damaged"],
        notices=faults,
        further=further,
        baselines=baselines,
        branches=branches,
        measured=run.measured,
    )
    write_atomic(target / STYLE, style().encode(), durable=False, within=within)
    index = Pages(style_url=STYLE).run(view, DiskUrls(run.artifacts))
    write_atomic(target / "index.html", index.encode(), durable=False, within=within)
    write_atomic(target / MADE, dumps(facts), durable=False, within=within)
    return WrittenReport(index=target / "index.html", pages=len(stale))


def write_comparison(path: Path, comparisons: Sequence[Comparison]) -> None:
    """Write one page that shows all of them."""
    write_atomic(path, Pages().render("compare.html", comparisons=comparisons, events="").encode(), durable=False)


def task_view(run: RunInfo, episode: Episode, builder: TaskPageBuilder | None = None) -> TaskView | None:
    """The view of one task page; None when its journal cannot be read any more."""
    try:
        story = story_of(episode, builder)
    except JournalError:
        return None
    if story is None:
        return None
    return TaskView(
        run=run, row=result_of(episode.result, episode.scoring, run.verified, run.attributions), story=story
    )


def selected_text(artifacts: ArtifactStore, digest: str) -> str:
    """A gathered value as text."""
    try:
        value: Any = loads(artifacts.read(digest))
    except (JournalError, CodecError) as exc:
        return str(exc)
    return value if isinstance(value, str) else dumps(value).decode()


def _names_in(folder: Path) -> frozenset[str]:
    try:
        return frozenset(one.name for one in folder.iterdir())
    except FileNotFoundError:
        return frozenset()


def _facts(run: Run, baselines: Sequence[Baseline]) -> JsonObject:
    """All that the report depends on, as JSON: the same facts, the same report."""
    stamps = {page_of(one): one.stamp for one in run.readable()}
    order = [row.page for row in run.results if row.page]
    whose = {
        row.page: [row.attribution.kind, row.attribution.rule, row.attribution.step]
        for row in run.results
        if row.attribution
    }
    pages = {
        page: [*(stamps[page] or ()), before, after, *whose.get(page, ())]
        for before, page, after in zip(["", *order], order, [*order[1:], ""], strict=False)
    }
    return {
        # Of every page; each names the run, whose folder may have been renamed or copied.
        "version": f"{__version__} {version()} {run.scoring} {run.about.name}",
        "run": plain(replace(run.about, attributions=NO_ATTRIBUTIONS)),
        "baselines": [plain(one) for one in baselines],
        "pages": pages,
        "damaged": [str(damage) for damage in run.damaged],
    }


def _task_pages(run: Run, *, stale: AbstractSet[str], pages: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and text of each stale page; one journal in memory at a time."""
    builder, printer = TaskPageBuilder(run.artifacts), Pages(style_url=f"../{STYLE}")
    place = DiskUrls(run.artifacts, depth=1)
    for episode in run.readable():
        name = page_of(episode)
        if name in stale and (view := task_view(run.about, episode, builder)) is not None:
            _, _, before, after, *_ = pages[name]
            yield name, printer.task(replace(view, before=before, after=after), place)
