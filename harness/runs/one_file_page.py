"""What a page in one file shows of episodes: pictures, the step that it is about, and where the report has that."""

import os
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from harness.errors import JournalError
from harness.journal.names import JOURNAL_SUFFIX, name_of
from harness.journal.store import ArtifactStore
from harness.runs.run import Run
from harness.runs.task_page import StepView, story_of


class InlinePictures:
    """Pictures as parts of the page."""

    def __init__(self, artifacts: ArtifactStore) -> None:
        self._artifacts = artifacts

    def shot(self, digest: str) -> str:
        """The picture itself; one that cannot be read is empty."""
        try:
            return f"data:image/png;base64,{b64encode(self._artifacts.read(digest)).decode()}"
        except JournalError:
            return "data:,"


def steps_seen(run: Run, task_id: str, trial: int) -> Mapping[int, StepView]:
    """What was seen and done in an episode, by the number of the step; {} = its journal was damaged since."""
    try:
        story = story_of(run.episode(task_id, trial))
    except JournalError:
        return {}
    return {moment.number: moment for moment in story.moments} if story else {}


def report_step(run: Run, task_id: str, trial: int, step: int, *, page: Path) -> str:
    """Address of a step in the report of a run, from the file `page`; "" = there is no report, as of a bundle."""
    name = name_of(task_id, trial).removesuffix(JOURNAL_SUFFIX) + ".html"
    there = run.folder / "report" / "tasks" / name
    if not there.is_file():
        return ""
    way = Path(os.path.relpath(there.resolve(), page.resolve().parent)).as_posix()
    return f"{quote(way)}#step-{step}"
