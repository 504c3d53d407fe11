"""Brings what one run folder holds into another of the same run: its shards, or what was played elsewhere.

Invariant: journals only ever grow, so of two of one name the shorter must be how the longer begins, and the longer is kept;
two that went on apart are a mistake somebody has to look at, and neither is touched. Artifacts are named after their
content, so merging them is copying. Safe while the source is being written to: only whole lines are taken.
"""

import os
import shutil
from collections.abc import Collection
from pathlib import Path

from harness.errors import JournalError
from harness.journal.disk import refusals, sync_folder, write_atomic
from harness.journal.index import journals_in

_BY_CONTENT = (Path("artifacts"), Path("private") / "checkpoints")


def merge(source: Path, target: Path, names: Collection[str] | None = None) -> int:
    """Copy into run folder `target` what `source` knows further.

    Args:
        source: A run folder, or nothing.
        target: A run folder that exists; whoever calls holds it.
        names: Of the journals that may be copied; None = all.

    Returns:
        How many journals were copied.

    Raises:
        JournalError: Two journals of one name went on apart.
        StorageError: The disk refuses.
    """
    wanted = (Path(entry.path) for entry in journals_in(source) if names is None or entry.name in names)
    longer = [path.name for path in wanted if _is_longer(path, target / path.name)]
    if longer:  # what journals speak of is there before they are
        for folder in _BY_CONTENT:
            _copy_files(source / folder, target / folder)
    for name in longer:
        _copy_journal(source / name, target / name)
    return len(longer)


def _is_longer(source: Path, target: Path) -> bool:
    return source.stat().st_size > (target.stat().st_size if target.exists() else 0)


def _copy_journal(source: Path, target: Path) -> None:
    with refusals(source, "read"):
        data = source.read_bytes()
        known = target.read_bytes() if target.exists() else b""
    data, known = data[: data.rfind(b"\n") + 1], known[: known.rfind(b"\n") + 1]
    if not data.startswith(known):
        raise JournalError(f"{source} and {target} went on apart; move one of them away, then run again")
    write_atomic(target, data)


def _copy_files(source: Path, target: Path) -> None:
    """All files named by their content that `target` lacks, by a link where that is possible."""
    for path in source.glob("??/*"):
        there = target / path.parent.name / path.name
        if there.exists():
            continue
        with refusals(there):
            _make_like(path.parent, there.parent)
            try:
                os.link(path, there)
            except OSError:  # another file system
                unfinished = there.with_name(f".{path.name}.tmp")
                shutil.copy(path, unfinished)
                unfinished.replace(there)
            sync_folder(there.parent)


def _make_like(source: Path, target: Path) -> None:
    """Make a folder, and those above it, with the modes of the ones it is copied from: what is private stays private."""
    if not target.exists():
        _make_like(source.parent, target.parent)
        target.mkdir(source.stat().st_mode & 0o777)
