"""Processes that belong to a run: marked in their environment, found again and ended, however their parent died.

Everything a run starts inherits `CAIRN_RUN`, whose value names the run folder. A start that holds the folder's lock
may end whatever still carries its mark: nobody else can be alive on purpose.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import psutil

MARK = "CAIRN_RUN"


def mark(folder: Path) -> None:
    """Let every process started from now on carry this run's mark."""
    os.environ[MARK] = _name(folder)


def sweep(folder: Path) -> int:
    """End what an earlier start of this run left behind; returns how many processes that were."""
    found = survivors(folder)
    _kill(found)
    return len(found)


def survivors(folder: Path) -> list[psutil.Process]:
    """All processes but this one that carry the mark of this run; one that ended and was not waited for is none."""
    own, name = os.getpid(), _name(folder)
    return [process for process in psutil.process_iter() if process.pid != own and _carries(process, name)]


def kill_tree(pid: int) -> None:
    """End a process and all its descendants at once, also stopped ones and those in groups of their own."""
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        # Stopped first, so that it cannot start another child while its children are listed.
        with contextlib.suppress(psutil.Error):
            parent.suspend()
        _kill([*parent.children(recursive=True), parent])


def kill_children() -> None:
    """End all descendants of this process."""
    _kill(psutil.Process().children(recursive=True))


def _kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _carries(process: psutil.Process, name: str) -> bool:
    try:
        return process.environ().get(MARK) == name
    except (psutil.Error, OSError):
        return False


def _name(folder: Path) -> str:
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
