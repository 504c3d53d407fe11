"""What starts worker processes."""

from asyncio import StreamReader
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol, runtime_checkable


class WorkerHandle(Protocol):
    """One life of one worker process."""

    @property
    def begun(self) -> bool:
        """Whether it has been given a place to run; on a busy cluster it has to wait for one."""
        ...

    def send(self, data: bytes) -> None:
        """Write to its standard input, in order; lost when the process is gone."""
        ...

    @property
    def output(self) -> StreamReader:
        """Its standard output, which ends when it has ended."""
        ...

    async def kill(self) -> None:
        """End it with everything it started."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Starts worker processes; what they are given to do, and when one is replaced, is the supervisor's.

        class OverSsh:
            def __init__(self, hosts: list[str]) -> None:
                self._hosts = hosts

            def start(self, command, number, log):
                host = self._hosts[number % len(self._hosts)]
                return local_worker(["ssh", host, shlex.join(["python", *command[1:]])], log)

    (`local_worker` is in `harness.api.processes`.) The constructor is given `executor.arguments` by name.
    """

    def start(self, command: Sequence[str], number: int, log: Path, /) -> AbstractAsyncContextManager[WorkerHandle]:
        """Start `command` as the worker of this number; leaving the context has ended the process.

        Its standard input and output are the worker's only connection; standard error belongs in `log`.
        """
        ...
