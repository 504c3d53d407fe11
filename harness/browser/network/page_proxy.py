"""The proxy through which pages reach all that is not a site. It connects to no address that pages must not reach.

Each episode has a port of its own on loopback, where Chromium speaks SOCKS 5, or HTTP if this machine reaches others
through a proxy itself. What is refused is a network error for the page. Only processes of this user are served.

It runs in a separate thread: pages load also while the worker computes.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import Any

from harness.browser.network.allowlist import Allowlist
from harness.browser.network.outbound import PART, NotAllowed, Outbound, Stream, splice
from harness.browser.network.proxy_request import ProxyRequest, asked_by_http, asked_by_socks
from harness.browser.network.socket_owner import is_of_this_user
from harness.browser.network.system_proxy import SystemProxies, connected, tunnelled

MOST_CONNECTIONS = 256
"""Limit for one episode at the same time; Chromium opens 32 to a proxy, and as many for web sockets."""
MOST_AT_ONCE = 1000
"""Refusals of one episode, after which each takes a moment: a page that searches ports keeps nobody busy."""
_PAUSE_S = 0.1
_ASKS_WITHIN_S = 30.0


class PageProxy:
    """The proxy of one worker; nothing runs before the first episode needs it."""

    def __init__(self, proxies: SystemProxies) -> None:
        self.proxies = proxies
        self._outbound = Outbound()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    @asynccontextmanager
    async def serving(self, rules: Allowlist) -> AsyncIterator[str]:
        """Serve the pages of an episode until the context ends; gives the address of the proxy."""
        loop = self._running()
        entrance = _Entrance(self._outbound, self.proxies, rules, asyncio.get_running_loop())
        with socket.create_server(("127.0.0.1", 0), backlog=MOST_CONNECTIONS) as listener:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(entrance.open(listener), loop))
            try:
                yield f"{'http' if self.proxies else 'socks5'}://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(entrance.close(), loop))

    def close(self) -> None:
        """Serve nobody any more."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop = self._thread = None

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = Thread(target=_run, args=(self._loop,), name="pages", daemon=True)
            self._thread.start()
        return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


class _Entrance:
    """The port of one episode."""

    def __init__(
        self, outbound: Outbound, proxies: SystemProxies, rules: Allowlist, episode: asyncio.AbstractEventLoop
    ) -> None:
        """`episode`: the loop that serves it."""
        self._outbound = outbound
        self._proxies = proxies
        self._rules = rules
        self._episode = episode
        self._refusals = 0
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def open(self, listener: socket.socket) -> None:
        self._server = await asyncio.start_server(self._serve, sock=listener, limit=PART)

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._serving:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            if len(self._serving) <= MOST_CONNECTIONS and is_of_this_user(writer.get_extra_info("socket")):
                await self._pass_on((reader, writer))
        except (OSError, ValueError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            self._serving.discard(task)
            writer.close()

    async def _pass_on(self, page: Stream) -> None:
        """Raises: OSError, ValueError, EOFError, LimitOverrunError: The page, or what it asks for, hangs up."""
        async with asyncio.timeout(_ASKS_WITHIN_S):
            asked = await (asked_by_http(page) if self._proxies else asked_by_socks(page))
        try:
            theirs = await self._connected(asked)
        except NotAllowed as error:
            self._tell(self._rules.refused, asked, error)
            self._refusals += 1
            await asyncio.sleep(_PAUSE_S if self._refusals > MOST_AT_ONCE else 0.0)
            page[1].write(asked.refused)
            return
        except OSError as error:
            self._tell(self._rules.unreachable, asked, error)
            page[1].write(asked.failed)
            return
        page[1].write(asked.accepted)
        await splice(page, theirs, most=asked.body)

    def _tell(self, hear: Callable[[str, int, Any], None], asked: ProxyRequest, error: Exception) -> None:
        with suppress(RuntimeError):  # the worker has ended
            self._episode.call_soon_threadsafe(hear, asked.host, asked.port, error)

    async def _connected(self, asked: ProxyRequest) -> Stream:
        """A connection to what a page asks for, which has been asked for it already if that is said in the request.

        Raises:
            NotAllowed: Pages must not reach it.
            OSError: It cannot be reached.
        """
        proxy = self._proxies.for_host(asked.scheme, asked.host)
        if proxy is None:
            stream = await self._outbound.connect(asked.host, asked.port, self._rules.refusal)
            stream[1].write(asked.head)
            return stream
        try:
            # The proxy looks names up itself, so only what this machine knows of them can be refused.
            await self._outbound.check(asked.host, self._rules.refusal)
        except OSError:  # a name that only the proxy knows
            pass
        if asked.head and proxy.scheme != "socks5":
            stream = await connected(proxy)
            stream[1].write(asked.head_for_proxy)
            return stream
        stream = await tunnelled(proxy, asked.host, asked.port)
        stream[1].write(asked.head)
        return stream
