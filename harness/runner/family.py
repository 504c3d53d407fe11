"""Processes that belong to a run: marked in their environment, found again and ended, however their parent died.

Everything a run starts inherits `CAIRN_RUN`, whose value names the run folder. A start that holds the folder's lock
may end whatever still carries its mark: nobody else can be alive on purpose.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

MARK = "CAIRN_RUN"
WORKER_MARK = "CAIRN_WORKER"


def mark(folder: Path) -> None:
    """Let every process started from now on carry this run's mark."""
    os.environ[MARK] = _name(folder)


def marks(folder: Path, worker: int) -> dict[str, str]:
    """What to start a worker of this run with on a machine that does not inherit the mark."""
    return {MARK: _name(folder), WORKER_MARK: str(worker)}


def sweep(folder: Path) -> int:
    """End what an earlier start of this run left behind; returns how many processes that were."""
    return end_marked({MARK: _name(folder)})


def end_marked(wanted: Mapping[str, str]) -> int:
    """End every process of this machine that carries all these marks; returns how many that were."""
    found = _marked(wanted)
    _kill(found)
    return len(found)


def survivors(folder: Path) -> list[psutil.Process]:
    """All processes but this one that carry the mark of this run; one that ended and was not waited for is none."""
    return _marked({MARK: _name(folder)})


def _marked(wanted: Mapping[str, str]) -> list[psutil.Process]:
    own = os.getpid()
    return [process for process in psutil.process_iter() if process.pid != own and _carries(process, wanted)]


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


def _carries(process: psutil.Process, wanted: Mapping[str, str]) -> bool:
    try:
        return wanted.items() <= process.environ().items()
    except (psutil.Error, OSError):
        return False


def _name(folder: Path) -> str:
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
