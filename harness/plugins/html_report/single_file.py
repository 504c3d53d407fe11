"""The whole report as one file, screenshots included, for example to attach to a CI job.

Written page by page, so that memory holds one task at a time; in the browser a page is inert until it is opened.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.api.files import translate_os_errors
from harness.api.journals import name_of
from harness.plugins.html_report.chart import charts
from harness.plugins.html_report.fork_tree import fork_tree
from harness.plugins.html_report.pages import Pages, RunView
from harness.plugins.html_report.report import selected_text, task_view
from harness.runs.baselines import baselines_of
from harness.runs.one_file_page import InlinePictures
from harness.runs.results import page_of
from harness.runs.run import Run
from harness.runs.task_page import TaskPageBuilder


class InlineUrls(InlinePictures):
    """Addresses inside one file."""

    def home(self) -> str:
        return "#"

    def run(self) -> str:
        return "#"

    def task(self, page: str) -> str:
        return f"#{page}"

    def cause(self, name: str) -> str:
        return "#tasks"

    def rule(self, kind: str, name: str) -> str:
        return "#tasks"

    def step(self, page: str, number: int) -> str:
        return self.task(page)

    def page(self, number: int) -> str:
        return "#"

    def selected(self, digest: str) -> str:
        return selected_text(self._artifacts, digest)


def write_single_file(run: Run, target: Path, *, notices: Sequence[str] = ()) -> None:
    """Write all pages of a run into `target`.

    Args:
        run: The run.
        target: The file.
        notices: What a reader has to know of what is in the folder, a sentence each; those of one journal name it.

    Raises:
        StorageError: The disk refuses.
    """
    pages, builder, place = Pages(in_one_file=True), TaskPageBuilder(run.artifacts), InlineUrls(run.artifacts)
    order = [row.page for row in run.results if row.page]
    around = {page: (before, after) for before, page, after in zip(["", *order], order, [*order[1:], ""], strict=False)}
    view = RunView(
        run=run.about,
        view=run.statistics_of_readable(),
        charts=charts(run.results),
        rows=run.results,
        count=len(run.results),
        damaged=[str(damage) for damage in run.damaged] if not notices else (),
        notices=notices,
        baselines=baselines_of(run.folder, run.results, run.scoring),
        branches=fork_tree(run.folder),
        measured=run.measured,
    )
    head, foot = pages.around(view, place)
    with translate_os_errors(target), target.open("w", encoding="utf-8") as file:
        file.write(head)
        for episode in run.readable():
            if (one := task_view(run.about, episode, builder)) is not None:
                before, after = around[page_of(episode)]
                journal = name_of(episode.task_id, episode.trial)
                own = [notice for notice in notices if journal in re.split(r"[:,]? ", notice)]
                file.write(pages.leaf(replace(one, before=before, after=after, notices=own), place))
        file.write(foot)
