"""What journals are called, so that each is found under the name of its own task and trial and no other."""

import os
import re
from pathlib import Path

from harness.errors import JournalError

JOURNAL_SUFFIX = ".traj.jsonl"
_NAME = re.compile(r"(?!\.)[A-Za-z0-9._-]+")
"""Of journals; whatever else ends as they do is none of ours."""


def name_of(task_id: str, trial: int) -> str:
    """File name of the journal of a task and trial."""
    return f"{task_id}.trial-{trial}{JOURNAL_SUFFIX}" if trial else f"{task_id}{JOURNAL_SUFFIX}"


def check_name(path: Path, task_id: str, trial: int) -> None:
    """Raises: JournalError: The journal at `path`, of this task and trial, was copied or renamed."""
    is_ours = _NAME.fullmatch(own := name_of(task_id, trial)) is not None
    if own != path.name:
        named = own if is_ours else repr(own[:200])
        raise JournalError(f"{path} is a copy of {named}, or was renamed: move it away, or give it its own name again")
    if not is_ours:
        raise JournalError(f"{path} has a name that no journal of ours has; move it away, then run again")


def journals_in(folder: Path) -> list[os.DirEntry[str]]:
    """The journals of a run folder, by file name."""
    try:
        with os.scandir(folder) as found:
            return sorted(
                (entry for entry in found if entry.name.endswith(JOURNAL_SUFFIX)), key=lambda entry: entry.name
            )
    except FileNotFoundError:
        return []
