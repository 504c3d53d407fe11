"""One port for the embedded sites of several servers.

    python -m harness.runner.site_router --servers JSON --state DIR

Starts each server as a child and connects a client to the one whose site the first request names (`Host`), byte for
byte; a browser asks only one host by a connection. A child that ends is started again on its port.
"""

import argparse
import asyncio
import os
import re
import sys
import threading
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from harness.codec import loads
from harness.embedded_server import start_servers

# t7 before the name of a site is a lane (`lane_base`): one server serves the sites of all lanes.
_HOST = re.compile(rb"\r\nhost:[ \t]*(?:t\d+\.)?([a-z0-9_-]+)\.localhost(?::\d+)?[ \t]*\r\n", re.IGNORECASE)
_MOST_OF_A_HEAD = 1 << 16
_PIECE = 1 << 16


class Router:
    """Connects clients to servers.

    Args:
        ports: Name of each site to the port of its server.
    """

    def __init__(self, ports: Mapping[str, int]) -> None:
        self._ports = {name.lower(): port for name, port in ports.items()}

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until one of its ends closes it."""
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await reader.readuntil(b"\r\n\r\n")
            named = _HOST.search(head)
            port = self._ports.get(named[1].decode().lower()) if named else None
            if port is None:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                await writer.drain()
            else:
                await self._pipe(reader, writer, head, port)
        writer.close()

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes, port: int) -> None:
        answers, requests = await asyncio.open_connection("127.0.0.1", port)
        try:
            requests.write(head)
            both = [asyncio.create_task(_copy(*ends)) for ends in ((reader, requests), (answers, writer))]
            _, other = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in other:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        finally:
            requests.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(_PIECE):
        target.write(data)
        await target.drain()


async def serve(servers: Mapping[str, list[str]], state: Path, port: int) -> None:
    """Start the servers, accept on `port`, and say so; it does not return."""
    ports: dict[str, int] = {}
    async with AsyncExitStack() as closing:
        for number, (module, sites) in enumerate(servers.items()):
            own = state / str(number)
            own.mkdir(exist_ok=True)
            taken = await closing.enter_async_context(
                start_servers(module, "--state", str(own), log=state / f"{number}.log", name=module, tell=_say)
            )
            ports |= dict.fromkeys(sites, taken)
        accepting = await asyncio.start_server(Router(ports).connect, "127.0.0.1", port, limit=_MOST_OF_A_HEAD)
        sys.stdout.write(f"sites on port {accepting.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        await accepting.serve_forever()


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m harness.runner.site_router", description="One port for several servers."
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 = any free one")
    parser.add_argument("--servers", required=True, help="JSON: module to the names of its sites")
    parser.add_argument("--state", type=Path, required=True, help="folder; each server has a folder of its own in it")
    options = parser.parse_args()

    async def until_orphaned() -> None:
        serving = asyncio.ensure_future(serve(loads(options.servers.encode()), options.state, options.port))
        loop = asyncio.get_running_loop()
        threading.Thread(target=_wait_for_the_end, args=(loop, serving), daemon=True).start()
        with suppress(asyncio.CancelledError):
            await serving

    asyncio.run(until_orphaned())


def _wait_for_the_end(loop: asyncio.AbstractEventLoop, serving: "asyncio.Future[None]") -> None:
    """The process that started this holds its standard input; when that ends, this ends with all servers."""
    # By descriptor: the lock of a buffered reader would hold up the exit.
    while os.read(0, 4096):
        pass
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(serving.cancel)


if __name__ == "__main__":
    main()
