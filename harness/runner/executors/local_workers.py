"""Workers as child processes on this machine, connected by pipes."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import Popen
from typing import Protocol

from harness.files import safe_files
from harness.runner.executors.prestart import introduction
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
    assert process.stdin is not None and process.stdout is not None
    try:
        yield LocalWorker(process.pid, process.stdin, process.stdout, lambda: process.returncode is not None)
    finally:
        if process.returncode is None:  # else another process may have its id by now
            kill_tree(process.pid)
            await process.wait()


@asynccontextmanager
async def prestarted_worker(process: Popen[bytes], folder: Path, log: Path) -> AsyncIterator["LocalWorker"]:
    """Make a process that `prestart` has started a worker of the run in `folder`, as `local_worker` does."""
    loop, output = asyncio.get_running_loop(), asyncio.StreamReader(limit=BUFFERED)
    heard, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), process.stdout)
    told, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
    try:
        safe_files.open_append(log).close()  # for what is wrong with it: the worker cannot say that
        told.write(introduction(folder, log))
        yield LocalWorker(process.pid, told, output, lambda: process.poll() is not None)
    finally:
        told.close()
        heard.close()
        if process.poll() is None:
            kill_tree(process.pid)
            await asyncio.to_thread(process.wait)


class LocalWorker:
    """Implements `WorkerHandle`."""

    begun = True

    def __init__(self, pid: int, told: "_Told", output: asyncio.StreamReader, is_over: Callable[[], bool]) -> None:
        """
        Args:
            told: Its standard input.
            is_over: Whether it has ended; another process may have its id then.
        """
        self._pid, self._told, self._is_over = pid, told, is_over
        self.output = output

    def send(self, data: bytes) -> None:
        # That the process has ended shows in its output; what it is still sent is lost with it.
        if not self._told.is_closing():
            self._told.write(data)

    async def kill(self) -> None:
        if not self._is_over():
            kill_tree(self._pid)


class _Told(Protocol):
    """What `StreamWriter` and `WriteTransport` have in common."""

    def write(self, data: bytes, /) -> None: ...

    def is_closing(self) -> bool: ...
