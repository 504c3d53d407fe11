"""Serve an ASGI application on loopback, announce the port, and die with the parent.

The same few lines serve the sites and the scripted endpoint. The process that started us holds our standard input: when
it ends, however it ends, we read EOF and stop, so no server is ever left behind.
"""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from harness.collector import collect_rarely

_GRACE_S = 1.0
"""For answers that are being given when a server ends."""
_LOOKS_EVERY_S = 0.002


class _Server(uvicorn.Server):
    """A uvicorn server that says when it accepts, leaves signals alone when it is embedded, and ends at once.

    Uvicorn looks ten times a second whether it is to end and whether all is closed. A run waits for the end of its
    servers, and each episode of an agent's process for that of its gateway.
    """

    def __init__(self, config: uvicorn.Config, *, on_ready: Callable[[], None], embedded: bool) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._embedded = embedded
        self._stopped = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Whoever started us ignoring it will close our standard input instead.
        if self._embedded or signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
            yield
        else:
            with super().capture_signals():
                yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def main_loop(self) -> None:
        until = [asyncio.create_task(super().main_loop()), asyncio.create_task(self._stopped.wait())]
        await asyncio.wait(until, return_when=asyncio.FIRST_COMPLETED)
        for task in until:
            task.cancel()

    def stop(self) -> None:
        """Let `serve` end; to be called in its loop."""
        self._stopped.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nothing more, and finish the answers that are being given."""
        for server in self.servers:
            server.close()
        state, loop = self.server_state, asyncio.get_running_loop()
        for connection in tuple(state.connections):
            connection.shutdown()
        latest = loop.time() + _GRACE_S
        while (state.connections or state.tasks) and loop.time() < latest:  # noqa: ASYNC110 (uvicorn has no event)
            await asyncio.sleep(_LOOKS_EVERY_S)
        for task in tuple(state.tasks):
            task.cancel()


def _listen(port: int) -> socket.socket:
    # The protocol is named because asyncio switches Nagle's algorithm off only for sockets that say TCP: without it
    # every answer in two pieces waits 40 ms for the other side's delayed acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    listener.setblocking(False)
    return listener


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Clients that are served although they are not trusted."""

    most: int
    """At the same time."""
    refused: Callable[[], None] = lambda: None
    """Called for each connection beyond that."""

    def protocol(self) -> type[asyncio.Protocol]:
        """The protocol of uvicorn that bounds what it reads ahead, whatever is installed beside it."""
        clients = self

        class Bounded(H11Protocol):
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                if len(self.connections) > clients.most:
                    clients.refused()
                    self._hang_up("503 Service Unavailable", "there are too many connections; close some of them")

            def send_400_response(self, msg: str) -> None:
                # Uvicorn's fails where a body turns out to be nonsense while it is answered, or when it was.
                self._hang_up("400 Bad Request", msg)
                if self.cycle is not None:
                    self.cycle.disconnected = True
                    self.cycle.message_event.set()

            def _hang_up(self, status: str, said: str) -> None:
                if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                    head = f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {len(said) + 1}\r\n\r\n"
                    self.transport.write(f"{head}{said}\n".encode())
                self.transport.close()

        return Bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSockets:
    """WebSockets are served, too; a connection that breaks a bound is closed."""

    max_bytes: int
    """Of one message that is received."""
    ping_every_s: float
    """So that proxies keep the connection, and the system notices that a machine is gone. A client need not answer:
    while a trainer updates its weights, its event loop may stand still for minutes.
    """


def _build(
    app: Any,
    *,
    on_ready: Callable[[], None],
    embedded: bool,
    clients: Clients | None = None,
    sockets: WebSockets | None = None,
) -> _Server:
    config = uvicorn.Config(
        app,
        http="auto" if clients is None else clients.protocol(),
        log_level="warning" if clients is None else "error",  # what they do wrong is not news
        access_log=False,
        lifespan="off",
        **({"ws": "none"} if sockets is None else _of_sockets(sockets)),
        proxy_headers=False,
    )
    return _Server(config, on_ready=on_ready, embedded=embedded)


def _of_sockets(sockets: WebSockets) -> dict[str, Any]:
    return {
        "ws": "websockets-sansio",
        "ws_max_size": sockets.max_bytes,
        "ws_ping_interval": sockets.ping_every_s,
        "ws_ping_timeout": None,
    }


@asynccontextmanager
async def serving(
    app: Any,
    *,
    port: int = 0,
    listener: socket.socket | None = None,
    clients: Clients | None = None,
    sockets: WebSockets | None = None,
) -> AsyncIterator[int]:
    """Serve `app` on 127.0.0.1 inside this loop and yield the port; for tests and for embedding.

    Args:
        app: An ASGI application.
        port: 0 = a free one.
        listener: Listens already, in the place of a socket at `port`; it is closed in the end.
        clients: Bounds them; None = they are trusted.
        sockets: Serves WebSockets, too; None = it does not.
    """
    ready = asyncio.Event()
    with listener or _listen(port) as used:
        used.setblocking(False)
        server = _build(app, on_ready=ready.set, embedded=True, clients=clients, sockets=sockets)
        # Not a task group: it would wrap the errors of the caller's own block.
        task = asyncio.create_task(server.serve([used]))
        begins = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait((begins, task), return_when=asyncio.FIRST_COMPLETED)
            if not ready.is_set():
                await task
                raise RuntimeError("the server ended before it listened")
            yield used.getsockname()[1]
        finally:
            begins.cancel()
            server.stop()
            await task


def run(app: Any, *, name: str, port: int, watch_stdin: bool) -> None:
    """Serve `app` until a signal or, with `watch_stdin`, until standard input ends; print one line when ready.

    Signals end no server that was started with SIGTERM ignored, as a run does.
    """
    collect_rarely()
    asyncio.run(_run(app, name, port, watch_stdin))


async def _run(app: Any, name: str, port: int, watch_stdin: bool) -> None:
    with _listen(port) as listener:
        number = listener.getsockname()[1]

        def announce() -> None:
            sys.stdout.write(f"{name} ready on port {number}\n")
            sys.stdout.flush()

        server = _build(app, on_ready=announce, embedded=False)
        if watch_stdin:
            call_when_input_ends(server.stop)
        await server.serve([listener])


def call_when_input_ends(then: Callable[[], object]) -> None:
    """Call this in the present event loop once standard input has ended."""
    at_end = partial(asyncio.get_running_loop().call_soon_threadsafe, then)
    threading.Thread(target=_read_to_the_end, args=(at_end,), daemon=True).start()


def _read_to_the_end(then: Callable[[], object]) -> None:
    """Read standard input; by descriptor, because a buffered reader's lock would hold up our exit."""
    while os.read(0, 4096):
        pass
    with suppress(RuntimeError):  # the loop has ended meanwhile
        then()
