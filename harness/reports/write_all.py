"""Files written at the end of a run for CI: junit.xml, summary.md, annotations if wanted."""

import os

from harness.journal.store import RunFolder
from harness.reports.basis import basis
from harness.reports.ci import annotations, junit, markdown
from harness.reports.console import Terminal
from harness.reports.github import append_step_summary, reads_annotations
from harness.runs.about import RunInfo
from harness.runs.baselines import baselines_of
from harness.runs.run import Run


def write_reports(folder: RunFolder, known: RunInfo, run: Run, *, console: Terminal) -> None:
    """Write what CI systems read into the folder of `run`."""
    results, found = run.results, run.statistics_of_readable()
    folder.write("junit.xml", junit(known, results).encode())
    text = markdown(
        known,
        results,
        found,
        baselines_of(run.folder, results, known.dialect),
        made_with=basis(run.folder, known.dialect, found),
    )
    folder.write("summary.md", text.encode())
    if why_not := append_step_summary(text, os.environ):
        console.say(why_not)
    if reads_annotations(os.environ):
        for line in annotations(results):
            console.exactly(line)
