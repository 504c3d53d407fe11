"""The file names of journals and artifacts, and the check that a journal has the name of its own."""

import os
import re
from pathlib import Path

from harness.errors import JournalError, NoArtifact

JOURNAL_SUFFIX = ".traj.jsonl"
"""How the file name of each journal ends."""
# A leading dot would hide the file, or name a folder. File systems allow 255 bytes: trial and ending take the rest.
_TASK_ID = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}")
# Else trial 0 of a task `x.trial-1` and trial 1 of a task `x` would be one file.
_TRIAL_ENDING = re.compile(r"\.trial-\d+$")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def can_name(task_id: str) -> bool:
    """Whether a task id can be part of a file name, and of nothing else's."""
    return _TASK_ID.fullmatch(task_id) is not None and _TRIAL_ENDING.search(task_id) is None


def name_of(task_id: str, trial: int) -> str:
    """File name of the journal of a task and trial."""
    return f"{task_id}.trial-{trial}{JOURNAL_SUFFIX}" if trial else f"{task_id}{JOURNAL_SUFFIX}"


def check_name(path: Path, task_id: str, trial: int) -> None:
    """Raises: JournalError: The journal at `path`, of this task and trial, was copied or renamed."""
    own, is_ours = name_of(task_id, trial), can_name(task_id) and trial >= 0
    if own != path.name:
        named = own if is_ours else repr(own[:200])
        raise JournalError(f"{path} is a copy of {named}, or was renamed: move it away, or give it its own name again")
    if not is_ours:
        raise JournalError(f"{path} is not a valid journal name; move it away, then run again")


def check_digest(digest: str) -> None:
    """Raises: NoArtifact: No artifact can have this name."""
    if not _DIGEST.fullmatch(digest):
        raise NoArtifact(f"{digest!r} is not the name of an artifact")


def journals_in(folder: Path) -> list[os.DirEntry[str]]:
    """The journals of a run folder, by file name."""
    try:
        with os.scandir(folder) as found:
            return sorted(
                (entry for entry in found if entry.name.endswith(JOURNAL_SUFFIX)), key=lambda entry: entry.name
            )
    except FileNotFoundError:
        return []


def is_run_folder(path: Path) -> bool:
    """Whether it is a folder that holds a journal or the settings of a run."""
    return path.is_dir() and ((path / "run.json").exists() or any(path.glob(f"*{JOURNAL_SUFFIX}")))
