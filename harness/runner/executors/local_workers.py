"""Workers as child processes on this machine, connected by pipes."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from harness.files import safe_files
from harness.runner.process_tree import kill_tree, worker_environment

BUFFERED = 1 << 20
"""Bytes a reader takes before anybody asks for them."""


@asynccontextmanager
async def local_worker(command: Sequence[str], log: Path) -> AsyncIterator["LocalWorker"]:
    """Run `command` on this machine: a worker, or a program that connects its standard input and output to a worker
    elsewhere, such as ssh. What it writes to stderr is appended to `log`.
    """
    with safe_files.open_append(log) as errors:
        # A fork of a process that has imported everything would begin sooner, but not on every platform, and not with
        # threads.
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env=worker_environment(os.environ),
            # Ctrl-C goes to a whole process group: the run hears it, and tells its workers to finish their steps.
            start_new_session=True,
            limit=BUFFERED,
        )
    try:
        yield LocalWorker(process)
    finally:
        if process.returncode is None:  # else another process may have its id by now
            kill_tree(process.pid)
            await process.wait()


class LocalWorker:
    """Implements `WorkerHandle`."""

    begun = True

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process, self._input = process, process.stdin
        self.output = process.stdout

    def send(self, data: bytes) -> None:
        # That the process has ended shows in its output; what it is still sent is lost with it.
        if not self._input.is_closing():
            self._input.write(data)

    async def kill(self) -> None:
        if self._process.returncode is None:
            kill_tree(self._process.pid)
