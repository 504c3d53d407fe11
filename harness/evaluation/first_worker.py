"""Starts the first worker process of a run as soon as its settings are known.

It imports what it needs while the rest of the harness is imported here, and the run is looked at. It does nothing
before it is told of what run it is; if no job is pending, or the run is refused, it is ended. Imports nothing itself
that takes long.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from harness.journal.store import WORKER_LOG
from harness.runner.executors.early_launch import launched_early
from harness.runner.executors.local_workers import local_worker, prestarted_worker
from harness.runner.executors.prestart import PLAYER, take
from harness.runner.process_tree import tag_environment
from harness.settings.executor import ExecutorSettings

if TYPE_CHECKING:
    from harness.api import WorkerHandle
    from harness.runner.executors.supervisor import Launch


@asynccontextmanager
async def first_worker(executor: ExecutorSettings, folder: Path) -> AsyncIterator["Launch | None"]:
    """Start it; yields a launch that hands it out first. None = the run has no worker processes of its own here."""
    # What another executor starts may be paid for, so it begins when the servers are ready.
    if executor.kind != "processes" or executor._target_ is not None:
        yield None
        return
    tag_environment(folder)  # so that the next start finds it, should this one be killed
    with _tidied(folder):
        async with launched_early(_prestarted_first(folder), 1) as launch:
            yield launch


def _prestarted_first(folder: Path) -> "Launch":
    """As `worker_processes`; the first is the one that was started before the run was known, if there is one."""
    start = worker_processes(folder)

    def launch(number: int) -> AbstractAsyncContextManager["WorkerHandle"]:
        process = take()
        return start(number) if process is None else prestarted_worker(process, folder, folder / WORKER_LOG)

    return launch


def worker_processes(folder: Path) -> "Launch":
    """Starts workers of a run as processes of this machine."""
    return lambda number: local_worker((sys.executable, *PLAYER), folder / WORKER_LOG)


@contextmanager
def _tidied(folder: Path) -> Iterator[None]:
    """A start that is refused leaves nothing behind of a worker that was never asked for."""
    log = folder / WORKER_LOG
    had_folder, had_log = folder.exists(), log.exists()
    try:
        yield
    finally:
        with suppress(OSError):
            if not had_log and log.exists() and not log.stat().st_size:
                log.unlink()
            if not had_folder:
                folder.rmdir()  # fails, and is left, if it holds anything
