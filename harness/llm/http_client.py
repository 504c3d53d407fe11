"""The HTTP client under all requests to models, which no answer can hurt.

An answer is bounded while it is read and while it is decompressed, so that a small one cannot become gigabytes. No
redirect is followed: what it leads to would be asked uncounted, and given the prompt, whatever host it is. Each
request has a separate connection: on one that is kept, a second answer to the last question would be read as the
first to the next.
"""

import zlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.request import getproxies

from httpx2 import AsyncByteStream, Limits, Response
from openai import DefaultAsyncHttpxClient

from harness.llm.endpoint_errors import ReplyRefused
from harness.llm.single_use_transport import SingleUseTransport

# Far above any reply, and not enough to exhaust the memory.
MOST_BYTES = 32 << 20
_AT_ONCE = 1000
_ENCODINGS = {"gzip", "x-gzip", "deflate"}


def bounded_client(most_bytes: int = MOST_BYTES, *, name: str = "llm") -> Any:
    """A client for many endpoints: making one costs tens of milliseconds, which each lane need not spend.

    Args:
        most_bytes: Of one answer, decompressed.
        name: Of the group of settings that says so, for messages.
    """

    async def bound(response: Response) -> None:
        # Taken out, or the client would decompress it first, without a bound.
        encoding = response.headers.pop("content-encoding", "identity").strip().lower()
        assert isinstance(response.stream, AsyncByteStream)
        response.stream = _Bounded(response.stream, encoding, most_bytes, name)

    return DefaultAsyncHttpxClient(
        timeout=None,
        follow_redirects=False,
        headers={"accept-encoding": "gzip, deflate", "connection": "close"},
        limits=Limits(max_connections=_AT_ONCE, max_keepalive_connections=0),
        # A hook is called for every answer, those with an error status included.
        event_hooks={"response": [bound]},
        # Only the client's own pool knows the proxies that the environment names.
        transport=None if getproxies() else SingleUseTransport(),
    )


class _Bounded(AsyncByteStream):
    """A body as it was before it was compressed, up to so many bytes."""

    def __init__(self, stream: AsyncByteStream, encoding: str, most_bytes: int, name: str) -> None:
        self._stream = stream
        self._encoding = encoding
        self._most_bytes = most_bytes
        self._name = name

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._encoding not in {*_ENCODINGS, "identity"}:
            raise ReplyRefused(f"has a content encoding that was not requested ({self._encoding[:40]})")
        # 32: zlib sees for itself whether it is gzip's form or its own.
        unpacking = zlib.decompressobj(32 + zlib.MAX_WBITS) if self._encoding in _ENCODINGS else None
        left = self._most_bytes
        async for part in self._stream:
            try:
                # One byte more than is left, or a longer answer would look like one that fits.
                data = part if unpacking is None else unpacking.decompress(part, left + 1)
            except zlib.error as exc:
                raise ReplyRefused(f"cannot be decompressed ({exc})") from exc
            left -= len(data)
            if left < 0:
                raise ReplyRefused(
                    f"is longer than {self._most_bytes / (1 << 20):g} MB ({self._name}.max_answer_mb) and was cut off"
                )
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()
