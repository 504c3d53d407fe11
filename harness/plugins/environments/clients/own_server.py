"""A server of this process's own: it ends with the process, also where that is killed."""

import atexit
import os
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache
from tempfile import mkdtemp

from harness.plugins.environments.clients.connection import URL

_READY = "environment server ready on "


def own_server(settings: tuple[str, ...]) -> str:
    """The address of `CAIRN_ENVIRONMENTS_URL`, or of a server that is started for the first who asks.

    Raises:
        RuntimeError: It does not start; says what it said.
    """
    return os.environ.get(URL) or _started(settings, os.getpid())


@cache
def _started(settings: tuple[str, ...], pid: int) -> str:
    """`pid`: of this process, since a fork of it has no server."""
    root = mkdtemp(prefix="cairn-environments-")
    command = [sys.executable, "-m", "harness.main", "serve", "--port=0", "--until-stdin-ends"]
    command += [f"run.root={root}", *settings]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )
    atexit.register(process.terminate)
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        if line.startswith(_READY):
            threading.Thread(target=_read_on, args=(process.stdout.fileno(),), daemon=True).start()
            return line.removeprefix(_READY).strip()
        said.append(line)
    raise RuntimeError(f"the environment server does not start: {''.join(said)[-2000:]}")


def _read_on(pipe: int) -> None:
    """Read what the server says later: one whose pipe is full would wait for its reader, with all its clients."""
    with suppress(OSError):
        while os.read(pipe, 1 << 16):
            pass
