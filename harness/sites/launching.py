"""Starts an embedded server as a child process, and lets it end with its parent, however that dies.

The child holds the reading end of a pipe on its stdin and leaves when it closes; it gets a session of its own, so that
a Ctrl-C in the terminal reaches the harness alone.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from harness.errors import ConfigError

START_TIMEOUT_S = 30.0


@asynccontextmanager
async def launched(module: str, *arguments: str, log: Path) -> AsyncIterator[int]:
    """Run `python -m module --port 0 arguments` and yield the loopback port it is ready on.

    Args:
        module: A module that prints one line ending in its port when it accepts connections.
        arguments: Further command-line arguments.
        log: File its stderr is appended to.

    Raises:
        ConfigError: It did not come up; the message names the log.
    """
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, "--port", "0", *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    assert process.stdin is not None and process.stdout is not None
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            line = await process.stdout.readline()
        port = line.rpartition(b" ")[2].strip()
        if not port.isdigit():
            raise ConfigError(f"{module} did not start; {log} says why")
        yield int(port)
    except TimeoutError as error:
        raise ConfigError(f"{module} was not ready within {START_TIMEOUT_S:g} s; {log} may say why") from error
    finally:
        process.stdin.close()
        try:
            async with asyncio.timeout(5):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
