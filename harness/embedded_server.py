"""Starts an embedded server as a child process that exits when its parent dies, however that happens.

A server is a module that is run as `python -m MODULE --port N`. It prints one line that ends with its port when it
accepts connections. One that serves sites is also given `--state DIR`, and answers `POST /__reset__` on the host of
each lane; `harness.loopback_server` does most of it.

The child reads from a pipe on its stdin and exits when it closes. It has a session of its own, so that Ctrl-C in the
terminal reaches only the parent, and begins with the signals ignored that ask for an end. A server that crashes is
started again on the same port.
"""

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from harness.errors import ConfigError, UsageError
from harness.files import safe_files
from harness.interpreter import module_arguments

KEY_VARIABLE = "CAIRN_SITES_KEY"
"""What the embedded sites want to hear before they are reset; in the environment, as others see a process's
arguments.
"""
KEY_HEADER = "x-cairn-key"
"""In which it is said."""
DEAF = ("/bin/sh", "-c", 'trap "" INT TERM HUP; exec "$@"', "sh")
"""Starts a program that ignores these signals: Slurm and systemd send them to every process of a run, which still
finishes its steps.
"""
START_TIMEOUT_S = 30.0
RESTARTS = 5
"""A server that dies more often than that within `RESTARTS_WITHIN_S` is broken, not unlucky."""
RESTARTS_WITHIN_S = 60.0


@asynccontextmanager
async def start_servers(
    module: str,
    *arguments: str,
    log: Path,
    name: str = "",
    tell: Callable[[str], None] | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[int]:
    """Run `python -m module --port 0 arguments` and yield the loopback port it is ready on.

    Args:
        module: A module that prints one line ending in its port when it accepts connections.
        arguments: Further command-line arguments.
        log: File its stderr is appended to.
        name: What people call it.
        tell: Hears that it is started again; None = it is not when it dies.
        variables: Added to its environment.

    Raises:
        ConfigError: It did not come up; the message names the log.
        UsageError: It keeps dying; as a group, with what the caller's own block raises.
    """
    async with launch_server(module, *arguments, log=log, variables=variables) as server:
        async with server.serving(name or module, tell) as port:
            yield port


@asynccontextmanager
async def launch_server(
    module: str, *arguments: str, log: Path, variables: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator["EmbeddedServer"]:
    """As `start_servers`, without waiting until the server is ready, so that several start at the same time."""
    server = EmbeddedServer(module, arguments, log, variables)
    try:
        await server.launch(0)
        yield server
    finally:
        await server.end()


async def _keep_up(server: "EmbeddedServer", port: int, *, name: str, tell: Callable[[str], None]) -> None:
    died: deque[float] = deque(maxlen=RESTARTS)
    while True:
        code = await server.ended()
        now = time.monotonic()
        if len(died) == RESTARTS and now - died[0] < RESTARTS_WITHIN_S:
            raise UsageError(
                f"{name} ended {RESTARTS + 1} times within {now - died[0]:.0f} s, last with code {code}; "
                f"{server.log} may say why; nothing is lost, run the same command to continue"
            )
        died.append(now)
        tell(f"{name} ended with code {code} and {'are' if name.endswith('s') else 'is'} restarted on port {port}")
        with suppress(ConfigError):  # it has ended, and is counted as the others
            await server.launch(port)
            await server.ready()


class EmbeddedServer:
    """One server, over all its processes."""

    def __init__(self, module: str, arguments: tuple[str, ...], log: Path, variables: Mapping[str, str]) -> None:
        self.log = log
        self._module = module
        self._arguments = arguments
        self._variables = variables
        self._process: asyncio.subprocess.Process | None = None

    @asynccontextmanager
    async def serving(self, name: str, tell: Callable[[str], None] | None) -> AsyncIterator[int]:
        """Wait until it is ready; yields its port. Leaving the context lets it end, which `end` waits for."""
        port = await self.ready()
        try:
            if tell is None:
                yield port
                return
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(_keep_up(self, port, name=name, tell=tell))
                yield port
                keeping.cancel()
        finally:
            self._close_input()

    async def launch(self, port: int) -> None:
        """Start a process on `port` (0 = any free one)."""
        with safe_files.open_append(self.log) as errors:
            self._process = await asyncio.create_subprocess_exec(
                *(*DEAF, sys.executable, *module_arguments(self._module), "--port", str(port), *self._arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, **self._variables},
            )

    async def ready(self) -> int:
        """Wait until its process accepts connections; the port.

        Raises:
            ConfigError: It did not come up.
        """
        process = self._process
        assert process is not None and process.stdout is not None
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                line = await process.stdout.readline()
        except TimeoutError as error:
            process.kill()
            raise ConfigError(
                f"{self._module} was not ready within {START_TIMEOUT_S:g} s; {self.log} may say why"
            ) from error
        taken = line.rpartition(b" ")[2].strip()
        if not taken.isdigit():
            raise ConfigError(f"{self._module} did not start; {self.log} says why")
        return int(taken)

    async def ended(self) -> int:
        """Wait until its process has ended; the exit code, less than 0 for a signal."""
        assert self._process is not None
        return await self._process.wait()

    async def end(self) -> None:
        if (process := self._process) is None:
            return
        self._close_input()
        try:
            async with asyncio.timeout(5):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def _close_input(self) -> None:
        """Which ends its process."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
