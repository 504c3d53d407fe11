"""Serve an ASGI application on loopback, announce the port, and die with the parent.

The same few lines serve the sites and the scripted endpoint. The process that started us holds our standard input: when
it ends, however it ends, we read EOF and stop, so no server is ever left behind.
"""

import asyncio
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn


class _Server(uvicorn.Server):
    """A uvicorn server that says when it accepts."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    listener.setblocking(False)
    return listener


def _build(app: Any, on_ready: Callable[[], None]) -> _Server:
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="off", ws="none", timeout_graceful_shutdown=1
    )
    return _Server(config, on_ready)


@asynccontextmanager
async def serving(app: Any, *, port: int = 0) -> AsyncIterator[int]:
    """Serve `app` on 127.0.0.1 inside this loop and yield the port; for tests and for embedding."""
    ready = asyncio.Event()
    with _listen(port) as listener:
        server = _build(app, ready.set)
        async with asyncio.TaskGroup() as group:
            group.create_task(server._serve([listener]))
            try:
                await ready.wait()
                yield listener.getsockname()[1]
            finally:
                server.should_exit = True


def run(app: Any, *, name: str, port: int, watch_stdin: bool) -> None:
    """Serve `app` until a signal or, with `watch_stdin`, until standard input ends; print one line when ready."""
    with _listen(port) as listener:
        number = listener.getsockname()[1]

        def announce() -> None:
            sys.stdout.write(f"{name} ready on port {number}\n")
            sys.stdout.flush()

        server = _build(app, announce)
        if watch_stdin:
            threading.Thread(target=_stop_at_eof, args=(server,), daemon=True).start()
        asyncio.run(server.serve([listener]))


def _stop_at_eof(server: uvicorn.Server) -> None:
    """Read standard input to its end; by descriptor, because a buffered reader's lock would hold up our exit."""
    while os.read(0, 4096):
        pass
    server.should_exit = True
