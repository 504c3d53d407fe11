"""Serve an ASGI application on loopback, announce the port, and die with the parent.

The same few lines serve the sites and the scripted endpoint. The process that started us holds our standard input: when
it ends, however it ends, we read EOF and stop, so no server is ever left behind.
"""

import asyncio
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol


class _Server(uvicorn.Server):
    """A uvicorn server that says when it accepts, and leaves signals alone when it is embedded."""

    def __init__(self, config: uvicorn.Config, *, on_ready: Callable[[], None], embedded: bool) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._embedded = embedded

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if self._embedded:
            yield
        else:
            with super().capture_signals():
                yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()


def _listen(port: int) -> socket.socket:
    # The protocol is named because asyncio switches Nagle's algorithm off only for sockets that say TCP: without it
    # every answer in two pieces waits 40 ms for the other side's delayed acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    listener.setblocking(False)
    return listener


def _bounded(most: int) -> type[asyncio.Protocol]:
    """The protocol of uvicorn, which hangs up on those that are too many."""

    class Bounded(AutoHTTPProtocol):  # type: ignore[valid-type, misc]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > most:
                transport.abort()

    return Bounded


def _build(app: Any, *, on_ready: Callable[[], None], embedded: bool, most_connections: int | None = None) -> _Server:
    config = uvicorn.Config(
        app,
        http="auto" if most_connections is None else _bounded(most_connections),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    return _Server(config, on_ready=on_ready, embedded=embedded)


@asynccontextmanager
async def serving(
    app: Any, *, port: int = 0, listener: socket.socket | None = None, most_connections: int | None = None
) -> AsyncIterator[int]:
    """Serve `app` on 127.0.0.1 inside this loop and yield the port; for tests and for embedding.

    Args:
        app: An ASGI application.
        port: 0 = a free one.
        listener: Listens already, in the place of a socket at `port`; it is closed in the end.
        most_connections: At the same time; None = any number.
    """
    ready = asyncio.Event()
    with listener or _listen(port) as used:
        used.setblocking(False)
        server = _build(app, on_ready=ready.set, embedded=True, most_connections=most_connections)
        # Not a task group: it would wrap the errors of the caller's own block.
        task = asyncio.create_task(server.serve([used]))
        try:
            await ready.wait()
            yield used.getsockname()[1]
        finally:
            server.should_exit = True
            await task


def run(app: Any, *, name: str, port: int, watch_stdin: bool) -> None:
    """Serve `app` until a signal or, with `watch_stdin`, until standard input ends; print one line when ready."""
    with _listen(port) as listener:
        number = listener.getsockname()[1]

        def announce() -> None:
            sys.stdout.write(f"{name} ready on port {number}\n")
            sys.stdout.flush()

        server = _build(app, on_ready=announce, embedded=False)
        if watch_stdin:
            threading.Thread(target=_stop_at_eof, args=(server,), daemon=True).start()
        asyncio.run(server.serve([listener]))


def _stop_at_eof(server: uvicorn.Server) -> None:
    """Read standard input to its end; by descriptor, because a buffered reader's lock would hold up our exit."""
    while os.read(0, 4096):
        pass
    server.should_exit = True
