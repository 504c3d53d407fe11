"""The process of an agent: started by the launcher, its output bounded, and ended with everything it started."""

import asyncio
import os
import shutil
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from harness.api.processes import MARK, WORKER_MARK, kill_tree
from harness.errors import ConfigError
from harness.plugins.process_agent import launcher

MOST_OUTPUT = 1 << 20
"""Bytes of standard output, and of standard error, that are kept: the last ones."""
_ENDS_WITHIN_S = 10.0
_PASSED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "PLAYWRIGHT_BROWSERS_PATH", MARK, WORKER_MARK),
    }
)
"""Variables of the run that an agent's process has, too, and those that begin with `LC_`; no key is among them."""


def find_program(command: Sequence[str], cwd: str | None, environment: Mapping[str, str]) -> str:
    """Where the program of a command is.

    Raises:
        ConfigError: Nowhere, or the folder it is to run in is missing.
    """
    if not command or not command[0]:
        raise ConfigError("agent.command is empty; give the program and its arguments, as in [python3,my_agent.py]")
    if cwd is not None and not Path(cwd).is_dir():
        raise ConfigError(f"agent.cwd={cwd} is not a folder; give the folder in which the agent is to run")
    program = command[0]
    place = str(Path(cwd or ".") / program) if "/" in program else program
    if (found := shutil.which(place, path=environment.get("PATH"))) is None:
        raise ConfigError(
            f"agent.command: there is no program {program}, or it is not executable; correct it or give its path"
        )
    return str(Path(found).absolute()) if "/" in program else found


def process_environment(further: Mapping[str, str]) -> dict[str, str]:
    """The environment of an agent's process: what it needs of ours, and `further`."""
    ours = {name: value for name, value in os.environ.items() if name in _PASSED or name.startswith("LC_")}
    return ours | dict(further)


class AgentProcess:
    """One process; `stop` must be called."""

    def __init__(self, process: asyncio.subprocess.Process, lifeline: int) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process = process
        self._lifeline: int | None = lifeline
        self._input = process.stdin
        self.stdout = _Output()
        self.stderr = _Output()
        self._reading = [
            asyncio.create_task(self.stdout.read(process.stdout)),
            asyncio.create_task(self.stderr.read(process.stderr)),
        ]

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        cwd: str | None,
        environment: Mapping[str, str],
        folder: Path,
        passed: Sequence[int] = (),
    ) -> Self:
        """Start a command whose program `find_program` has found.

        Args:
            folder: Removed when this worker is gone; while it lives, that is the caller's to do.
            passed: Descriptors that it gets.
        """
        theirs, ours = os.pipe()
        with ExitStack() as undo:
            undo.callback(os.close, ours)
            undo.callback(os.close, theirs)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", launcher.__file__, str(theirs), str(folder), *command),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=cwd,
                env=dict(environment),
                pass_fds=(theirs, *passed),
                start_new_session=True,
            )
            undo.pop_all()
        os.close(theirs)
        return cls(process, ours)

    async def tell(self, text: bytes) -> None:
        """Write to its standard input, and close it."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._input.write(text)
            await self._input.drain()
        self._input.close()

    async def ended(self) -> int:
        """Wait for its end, and for that of all it started; the exit code."""
        code = await self._process.wait()
        await asyncio.wait(self._reading)
        return code

    async def stop(self, grace_s: float = 0.0) -> int | None:
        """End it with all it started.

        Args:
            grace_s: How long it may go on before it is killed.
        Returns:
            Its exit code; None = it was killed.
        """
        if self._process.returncode is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self.ended()
        code = self._process.returncode
        self._let_go()
        try:
            async with asyncio.timeout(_ENDS_WITHIN_S):
                await self._process.wait()
        except TimeoutError:
            kill_tree(self._process.pid)
            await self._process.wait()
        await asyncio.wait(self._reading, timeout=_ENDS_WITHIN_S)
        for reading in self._reading:
            reading.cancel()
        return code

    def _let_go(self) -> None:
        if self._lifeline is not None:
            with suppress(BrokenPipeError):  # the launcher has ended
                os.write(self._lifeline, b"x")
            os.close(self._lifeline)
            self._lifeline = None


class _Output:
    """The last bytes of a stream."""

    def __init__(self) -> None:
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._left_out = 0

    async def read(self, stream: asyncio.StreamReader) -> None:
        while part := await stream.read(1 << 16):
            self._parts.append(part)
            self._size += len(part)
            while self._size - len(self._parts[0]) >= MOST_OUTPUT:
                gone = len(self._parts.popleft())
                self._size -= gone
                self._left_out += gone

    @property
    def text(self) -> str:
        """What there is so far, with a line that says what was left out."""
        said = b"".join(self._parts).decode("utf-8", "replace")
        return f"[{self._left_out:,} bytes are left out here]\n{said}" if self._left_out else said
