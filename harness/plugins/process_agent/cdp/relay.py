"""A CDP endpoint on loopback that reaches the browser context of one episode, and nothing else of the browser.

    GET /TOKEN/json/version, /json/list     as Chromium answers them; a client connects by http://127.0.0.1:PORT/TOKEN
    WS  /TOKEN/devtools/browser             the browser, as far as the episode reaches
    WS  /TOKEN/devtools/page/ID             one of its pages

The token is in the address, because clients of CDP send no headers. A client that sends an `Origin` is a page, and is
refused. So is what is beyond the bounds of `client` and `intake`.
"""

import asyncio
import hmac
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import WebSocketException
from websockets.http11 import Request, Response

from harness.api import JsonObject, dumps
from harness.plugins.process_agent.cdp.boundary import DrivenBrowser
from harness.plugins.process_agent.cdp.client import Client, bounded
from harness.plugins.process_agent.cdp.connection import Connection
from harness.plugins.process_agent.cdp.targets import TabNumbers
from harness.plugins.process_agent.cdp.upstream import Upstream
from harness.plugins.process_agent.cdp.wire import CommandFailed
from harness.plugins.process_agent.intake import MOST_BYTES

MOST_CLIENTS = 32
"""At the same time: each has a separate connection to the browser."""
_BROWSER, _PAGE = "/devtools/browser", "/devtools/page/"
_CLOSES_WITHIN_S = 1.0
_QUIET = logging.getLogger("harness.plugins.process_agent.cdp.websockets")
_QUIET.setLevel(logging.CRITICAL)
"""Disconnects and malformed messages are expected, so they are not logged."""


class Relay:
    """The relay of one episode; it is served while `serving_relay` is open."""

    def __init__(self, driven: DrivenBrowser, *, token: str) -> None:
        self._driven = driven
        self._token = token
        self._numbers = TabNumbers(driven.browser.targets)
        self._clients = 0
        self.port = 0
        """At 127.0.0.1; 0 = it is not served yet."""

    @property
    def http(self) -> str:
        """Address that clients are given."""
        return f"http://127.0.0.1:{self.port}/{self._token}"

    def bind(self, server: Server) -> None:
        """It is served here."""
        self.port = next(iter(server.sockets)).getsockname()[1]

    async def greet(self, client: ServerConnection, request: Request) -> Response | None:
        """Answer what is not a WebSocket; None = let it in."""
        token, _, path = request.path.removeprefix("/").partition("/")
        path = path.partition("?")[0].rstrip("/")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode()):
            self._driven.refuse("a connection without the token of the episode")
            return _answer(HTTPStatus.FORBIDDEN, {"error": "this is not the address of the episode; use CAIRN_CDP_URL"})
        if request.headers.get("Origin") is not None:
            self._driven.refuse(f"a connection from {request.headers['Origin'][:200]}")
            return _answer(HTTPStatus.FORBIDDEN, {"error": "pages cannot connect"})
        if f"/{path}" == _BROWSER or f"/{path}".startswith((f"{_BROWSER}/", _PAGE)):
            return self._admit()
        return await self._plain(path)

    def _admit(self) -> Response | None:
        """None = one client more may come in."""
        if self._clients < MOST_CLIENTS:
            return None
        self._driven.refuse(f"more than {MOST_CLIENTS} clients at the same time")
        said = f"there are {MOST_CLIENTS} clients already; close one of them"
        return _answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": said})

    async def _plain(self, path: str) -> Response:
        """The answer to a plain request."""
        try:
            match path:
                case "json/version":
                    return _answer(HTTPStatus.OK, await self._version())
                case "json" | "json/list":
                    return _answer(HTTPStatus.OK, await self._list())
        except CommandFailed as error:
            return _answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)})
        return _answer(HTTPStatus.NOT_FOUND, {"error": f"there is no /{path[:200]}"})

    async def serve(self, client: ServerConnection) -> None:
        """One client, until it is gone."""
        assert isinstance(client, Client)
        self._clients += 1
        try:
            await self._serve(client)
        finally:
            self._clients -= 1

    async def _serve(self, client: Client) -> None:
        page = self._page_of(client)
        try:
            if page and page not in {info["targetId"] for info in await self._targets()}:
                self._driven.refuse("a connection to a page of another episode")
                return await client.close(1008, "there is no such page")
            with closing(await self._driven.browser.connect(page)) as browser:
                # A page that is closed hangs up like a browser that is gone, and nothing is lost.
                upstream = Upstream(browser, _nothing if page else self._driven.lose)
                await Connection(client, upstream, self._driven, self._numbers, page=page).run()
        except ConnectionAbortedError as error:
            await client.close(1008, str(error))
        except (OSError, WebSocketException, CommandFailed) as error:
            await client.close(1011, f"the browser is gone: {type(error).__name__}")

    async def _version(self) -> JsonObject:
        about = await self._ask("Browser.getVersion", {})
        return {
            "Browser": about.get("product", ""),
            "Protocol-Version": about.get("protocolVersion", ""),
            "User-Agent": about.get("userAgent", ""),
            "V8-Version": about.get("jsVersion", ""),
            "WebKit-Version": about.get("revision", ""),
            "webSocketDebuggerUrl": f"{self._websocket}{_BROWSER}",
        }

    async def _list(self) -> list[JsonObject]:
        return [
            {
                "id": info["targetId"],
                "type": info["type"],
                "title": info["title"],
                "url": info["url"],
                "description": "",
                "webSocketDebuggerUrl": f"{self._websocket}{_PAGE}{info['targetId']}",
            }
            for info in await self._targets()
        ]

    async def _targets(self) -> list[JsonObject]:
        """The pages of the episode."""
        found = (await self._ask("Target.getTargets", {}))["targetInfos"]
        ours = self._driven.browser.context
        pages = [info for info in found if info.get("browserContextId") == ours and info["type"] == "page"]
        return sorted(pages, key=lambda info: self._numbers.number(info["targetId"]))

    async def _ask(self, method: str, params: JsonObject) -> JsonObject:
        """A question to the browser, in a separate connection.

        Raises:
            CommandFailed: The browser is gone.
        """
        try:
            with closing(await self._driven.browser.connect()) as browser:
                upstream = Upstream(browser, self._driven.lose)
                listening = asyncio.create_task(upstream.listen(_Deaf()))
                try:
                    return await upstream.call(method, params)
                finally:
                    listening.cancel()
        except ConnectionError as error:
            self._driven.lose()
            raise CommandFailed("the browser is gone") from error

    @property
    def _websocket(self) -> str:
        return f"ws://127.0.0.1:{self.port}/{self._token}"

    def _page_of(self, client: ServerConnection) -> str:
        """The target that a client connects to; "" = the browser."""
        assert client.request is not None
        path = client.request.path.partition("?")[0].rstrip("/")
        return path.partition(_PAGE)[2]


def _nothing() -> None:
    """What a connection to a page has to do when that page is closed."""


class _Deaf:
    """A listener that wants to hear nothing."""

    async def pass_on(self, raw: bytes) -> None:
        pass

    async def hear(self, event: JsonObject, raw: bytes) -> None:
        pass


@asynccontextmanager
async def serving_relay(
    driven: DrivenBrowser, *, token: str, listener: socket.socket | None = None
) -> AsyncIterator[Relay]:
    """Serve clients until the context ends; they are cut off then.

    Args:
        driven: The browser.
        token: Lets clients in.
        listener: Listens already; None = one is made at a free port of 127.0.0.1.
    """
    relay = Relay(driven, token=token)
    server = await serve(
        relay.serve,
        host="127.0.0.1" if listener is None else None,
        port=0 if listener is None else None,
        sock=listener,
        process_request=relay.greet,
        create_connection=bounded(driven.intake, driven.refuse),
        max_size=MOST_BYTES,
        compression=None,
        ping_interval=None,
        server_header=None,
        close_timeout=_CLOSES_WITHIN_S,
        logger=_QUIET,
    )
    try:
        relay.bind(server)
        yield relay
    finally:
        server.close()
        await server.wait_closed()


def _answer(status: HTTPStatus, body: Any) -> Response:
    content = dumps(body)
    headers = Headers(
        [
            ("Content-Type", "application/json; charset=UTF-8"),
            ("Content-Length", str(len(content))),
            ("Connection", "close"),
        ]
    )
    return Response(status.value, status.phrase, headers, content)
