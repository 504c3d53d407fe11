"""The end of an episode without its pages: what scoring again needs, small enough to hold for all episodes of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.journal.log import read
from harness.journal.names import check_name
from harness.records import Closed, Episode, Opened, Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalState:
    """The last attempt of a journal."""

    opened: Opened
    closed: Closed | None = None
    """None = still pending."""
    scores: Mapping[str, Scored] = field(default_factory=dict)
    """Scores by dialect."""


def read_final_state(path: Path) -> FinalState | None:
    """How the last attempt of the journal at `path` ended; None when there is none.

    Raises:
        JournalCorrupt: A terminated line is damaged or out of order.
        JournalError: It was made by a newer version, is another task's or trial's, or no regular file.
        StorageError: The file cannot be read.
    """
    # Folded as by every other reader: a search for the first bytes of a line missed records in another spelling.
    return final_state(path, read(path))


def final_state(path: Path, episode: Episode) -> FinalState | None:
    """The final state of an episode that was read.

    Raises:
        JournalError: It is another task's or trial's.
    """
    if (opened := episode.opened) is None:
        return None
    # A copy of a journal under another name would be scored as an episode of its own.
    check_name(path, opened.task.task_id, opened.trial)
    return FinalState(opened=opened, closed=episode.closed, scores=episode.scores)
