"""The whole report as one file, screenshots included, for example to attach to a CI job.

Written page by page, so that memory holds one task at a time; in the browser a page is inert until it is opened.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.errors import JournalError
from harness.journal.disk import translate_os_errors
from harness.journal.index import scan
from harness.journal.store import ArtifactStore
from harness.reports.baselines import baselines_of
from harness.reports.fork_tree import fork_tree
from harness.reports.html_report import selected_text, story_of
from harness.reports.overview import overview
from harness.reports.pages import Pages, RunView
from harness.reports.rows import page_name, rows_of, run_info
from harness.reports.task_page import TaskPageBuilder


class InlineUrls:
    """Addresses inside one file."""

    def __init__(self, artifacts: ArtifactStore) -> None:
        self._artifacts = artifacts

    def home(self) -> str:
        return "#"

    def run(self) -> str:
        return "#"

    def task(self, page: str) -> str:
        return f"#{page}"

    def cause(self, name: str) -> str:
        return "#tasks"

    def page(self, number: int) -> str:
        return "#"

    def shot(self, digest: str) -> str:
        """The picture itself."""
        try:
            return f"data:image/png;base64,{b64encode(self._artifacts.read(digest)).decode()}"
        except JournalError:
            return "data:,"

    def selected(self, digest: str) -> str:
        return selected_text(self._artifacts, digest)


def write_single_file(folder: Path, target: Path, *, dialect: str | None = None, notices: Sequence[str] = ()) -> None:
    """Write all pages of `folder` into `target`.

    Args:
        folder: The run folder.
        target: The file.
        dialect: Scoring to show; None = the one the run was scored in.
        notices: What a reader has to know of what is in the folder, a sentence each; those of one journal name it.

    Raises:
        StorageError: The disk refuses.
    """
    found, known = scan(folder), run_info(folder, dialect)
    artifacts = ArtifactStore(folder / "artifacts")
    pages, telling, place = Pages(in_one_file=True), TaskPageBuilder(artifacts), InlineUrls(artifacts)
    rows = rows_of(found.entries, known)
    order = [row.page for row in rows if row.page]
    around = {page: (before, after) for before, page, after in zip(["", *order], order, [*order[1:], ""], strict=False)}
    view = RunView(
        run=known,
        view=overview(rows, folder, known.benchmarks),
        rows=rows,
        count=len(rows),
        damaged=[str(damage) for damage in found.damaged] if not notices else (),
        notices=notices,
        baselines=baselines_of(folder, rows, known.dialect),
        branches=fork_tree(folder),
    )
    head, foot = pages.around(view, place)
    with translate_os_errors(target), target.open("w", encoding="utf-8") as file:
        file.write(head)
        for entry in found.entries:
            if (one := story_of(folder, known, entry, telling)) is not None:
                before, after = around[page_name(entry.name)]
                own = [notice for notice in notices if entry.name in re.split(r"[:,]? ", notice)]
                file.write(pages.leaf(replace(one, before=before, after=after, notices=own), place))
        file.write(foot)
