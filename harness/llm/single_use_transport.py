"""Sends each request on a separate connection, without a pool: what a pool is for is not wanted here.

`http_client` says why no connection is kept. A pool that keeps none takes twice as much processor time for a request
(0.85 ms, and 0.44 ms here, measured in pairs) as opening a connection and reading the answer with h11, which the pool
uses, too. Beside a step that is little; beside what the gateway adds to a request of an agent's process it is not.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from ssl import SSLContext

import h11
from httpx2 import (
    AsyncBaseTransport,
    AsyncByteStream,
    ConnectError,
    LocalProtocolError,
    ReadError,
    RemoteProtocolError,
    Request,
    Response,
    create_ssl_context,
)

MOST_HEADERS = 100 << 10
"""Bytes of the head of an answer."""
_PART = 1 << 16


class SingleUseTransport(AsyncBaseTransport):
    """HTTP/1.1, directly to the server."""

    async def handle_async_request(self, request: Request) -> Response:
        """Send it; the connection is closed with the stream of the answer.

        Raises:
            ConnectError: There is no connection.
            ReadError, RemoteProtocolError: It broke, or what came is not an answer.
            LocalProtocolError: It is not a request.
        """
        url = request.url
        secure = url.scheme == "https"
        try:
            reader, writer = await asyncio.open_connection(
                url.host, url.port or (443 if secure else 80), ssl=self._context if secure else None
            )
        except (OSError, UnicodeError) as error:
            # A host name that cannot be written in ASCII is a UnicodeError.
            raise ConnectError(str(error)) from error
        with ExitStack() as undo:
            undo.callback(writer.close)
            connection = _Connection(reader, writer)
            await connection.send(request)
            response = await connection.answer()
            undo.pop_all()
        return response

    @cached_property
    def _context(self) -> SSLContext:
        """Made when it is needed, as that takes tens of milliseconds."""
        context = create_ssl_context()
        # h11 reads nothing newer.
        context.set_alpn_protocols(["http/1.1"])
        return context


class _Connection(AsyncByteStream):
    """The body of its answer as a stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEADERS)

    async def send(self, request: Request) -> None:
        with _translated():
            head = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
            parts = [self._state.send(head)]
            assert isinstance(request.stream, AsyncByteStream)
            parts += [self._state.send(h11.Data(data=part)) async for part in request.stream]
            parts.append(self._state.send(h11.EndOfMessage()))
        self._writer.write(b"".join(part for part in parts if part))
        with suppress(ConnectionError):  # it may have been answered before it was read
            await self._writer.drain()

    async def answer(self) -> Response:
        while not isinstance(event := await self._event(), h11.Response):
            pass  # 100 Continue and the like
        extensions = {"http_version": b"HTTP/" + event.http_version, "reason_phrase": event.reason}
        return Response(event.status_code, headers=event.headers.raw_items(), stream=self, extensions=extensions)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not isinstance(event := await self._event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)

    async def aclose(self) -> None:
        self._writer.close()

    async def _event(self) -> h11.Event:
        with _translated():
            while (event := self._state.next_event()) is h11.NEED_DATA:
                data = await self._reader.read(_PART)
                if not data and self._state.their_state is h11.SEND_RESPONSE:
                    raise RemoteProtocolError("the server closed the connection without an answer")
                self._state.receive_data(data)
        if not isinstance(event, h11.Event):  # another protocol was agreed on, which was not asked for
            raise RemoteProtocolError("the server does not go on with HTTP")
        return event


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except h11.LocalProtocolError as error:
        raise LocalProtocolError(str(error)) from error
    except h11.RemoteProtocolError as error:
        raise RemoteProtocolError(str(error)) from error
    except OSError as error:
        raise ReadError(str(error)) from error
