"""Starts a Chromium by playwright so that its DevTools pipe can be shared, see `devtools_pipe`.

Playwright is given a program that hands its descriptors over and then becomes Chromium (`pipe_handover`). They come
over a socket in a folder of this user, which is gone when the browser has started.
"""

import asyncio
import os
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from harness.browser.driver import pipe_handover
from harness.browser.driver.devtools_pipe import DevToolsPipe
from harness.errors import ConfigError

_LONGEST_ADDRESS = 100
"""Bytes in the path of a socket; the system's limit is some more."""
# Where the system has no such flag, the descriptors are kept from other programs a moment later.
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


@asynccontextmanager
async def shared_pipe(chromium: str) -> AsyncIterator[tuple[str, DevToolsPipe]]:
    """Path of a program to start in the place of this Chromium, and its pipe, which is open as soon as that answers.

    Leave the context when the browser has started, or has not.

    Raises:
        ConfigError: There is no folder for it.
    """
    folder = await asyncio.to_thread(_folder)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / "pipes"))
            listener.listen(1)
            listener.setblocking(False)
            program = await asyncio.to_thread(_program, folder, chromium)
            receiving = asyncio.create_task(_receive(listener, pipe := DevToolsPipe()))
            has_started = False
            try:
                yield str(program), pipe
                has_started = True
            finally:
                if not has_started:
                    pipe.close()
                receiving.cancel()
                await asyncio.wait([receiving])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _receive(listener: socket.socket, pipe: DevToolsPipe) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    sender, _ = await loop.sock_accept(listener)
    with sender:
        # The loop's own way of receiving would lose the descriptors that come with the bytes.
        loop.add_reader(sender, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(sender)
        _, descriptors, _, _ = socket.recv_fds(sender, 16, 4, _CLOSE_ON_EXEC)
    if len(descriptors) == 4:  # none, if the program has ended, which playwright notices
        for one in descriptors:
            os.set_inheritable(one, False)
        await pipe.begin(descriptors)


def _program(folder: Path, chromium: str) -> Path:
    # With these switches, neither variables nor packages for Python change what the program does.
    command = (sys.executable, "-I", "-S", pipe_handover.__file__, str(folder / "pipes"), chromium)
    program = folder / "chromium"
    program.write_bytes(os.fsencode(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n'))
    program.chmod(0o700)
    return program


def _folder() -> Path:
    """A new folder of this user in which files may be executed and sockets can be made."""
    # A temporary folder may forbid execution, or have a path that is too long for a socket.
    for place in (tempfile.gettempdir(), "~/.cache/cairn", "/tmp"):
        with suppress(OSError, RuntimeError):
            root = Path(place).expanduser()
            root.mkdir(parents=True, exist_ok=True)
            # Other users cannot enter it: whoever connects to the socket is taken for the browser.
            folder = Path(tempfile.mkdtemp(prefix="cairn-browser-", dir=root))
            if len(os.fsencode(folder / "pipes")) <= _LONGEST_ADDRESS and os.access(_program(folder, ""), os.X_OK):
                return folder
            shutil.rmtree(folder, ignore_errors=True)
    raise ConfigError(
        "agent.browser=cdp needs a folder whose files may be executed, with a short path; set TMPDIR to one"
    )
