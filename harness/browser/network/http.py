"""Plain HTTP requests outside the browser: resets, login probes, and the requests of `func:` targets.

Names under `.localhost` are this machine, as in Chromium; the system's resolver need not know them. Redirects are
followed, and 307 and 308 repeat the request. A response is data whatever its status; no response is `SiteUnavailable`.
The standard library sends them: to import httpx2 takes 75 ms of processor time, which a supervisor that only resets
sites would pay at each start.
"""

import asyncio
import re
import socket
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from io import BufferedReader, RawIOBase
from typing import Any, TypeVar
from urllib.parse import SplitResult, unquote, urljoin, urlsplit, urlunsplit

from harness.errors import SiteUnavailable

LARGEST = 10_000_000
_MOST_REDIRECTS = 10
_REPEATED = frozenset({307, 308})
"""Redirects that say that the same request is to be made elsewhere; any other asks for a GET."""
_CLOCKS_DIFFER_S = 1.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    status: int
    url: str
    """After redirects."""
    body: bytes
    cookies: tuple[str, ...] = ()
    """The `Set-Cookie` headers of the host that was asked, those of its redirects included."""

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


async def fetch(  # noqa: PLR0913 (what a request is)
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    timeout_s: float = 10.0,
    allowed: Callable[[str], bool] = lambda url: True,
) -> HttpAnswer:
    """Send one request and read the whole answer (10 MB at most: `LARGEST`).

    Args:
        timeout_s: For the whole answer, and for that of each address that a redirect leads to.
        allowed: Asked of the address and of each that a redirect leads to, before it is contacted.

    Raises:
        SiteUnavailable: There is no answer in time, it would come from an address that is not allowed, or a redirect
            would send the body to another server.
    """
    asked = _Asked(method, url, dict(headers or {}), body)
    # Only a GET is sent again: what another method changes may have been changed already.
    return await _in_time(lambda: _follow(asked, timeout_s, allowed), timeout_s if method == "GET" else 0.0)


async def is_up(url: str, *, timeout_s: float) -> bool:
    """Whether a server answers there in time, with anything but a failure of its own; redirects are answers."""
    try:
        # Without its body: the front page of a busy site may take longer than its first line.
        answer, _ = await _in_time(lambda: _send(_Asked("GET", url, {}, None), timeout_s, most=0), timeout_s)
    except SiteUnavailable:
        return False
    return answer.status < 500


async def _in_time(send: Callable[[], T], timeout_s: float) -> T:
    """What `send` gives, which is tried again when it timed out earlier than after `timeout_s`: a socket's timeout
    counts the time in which this process is frozen, perhaps with the server, and the loop's clock does not.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout_s
    while True:
        try:
            return await asyncio.to_thread(send)
        except SiteUnavailable as exc:
            if not isinstance(exc.__cause__, TimeoutError) or until - loop.time() < _CLOCKS_DIFFER_S:
                raise


@dataclass(frozen=True, slots=True)
class _Asked:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


def _follow(asked: _Asked, timeout_s: float, allowed: Callable[[str], bool]) -> HttpAnswer:
    first = urlsplit(asked.url).netloc
    cookies: tuple[str, ...] = ()
    for _ in range(_MOST_REDIRECTS):
        if not allowed(asked.url):
            raise SiteUnavailable(f"{shown(asked.url)} is outside the addresses that may be asked")
        answer, location = _send(asked, timeout_s)
        if urlsplit(asked.url).netloc == first:
            cookies += answer.cookies
        if location is None:
            return replace(answer, cookies=cookies)
        url = urljoin(asked.url, location)
        same = urlsplit(url).netloc == urlsplit(asked.url).netloc
        method, body = (asked.method, asked.body) if answer.status in _REPEATED else ("GET", None)
        # Headers and body may hold a password, which another server is not to have.
        if body and not same:
            raise SiteUnavailable(f"{shown(asked.url)} redirects what was sent to it to another server, {shown(url)}")
        asked = _Asked(method, url, asked.headers if same else {}, body)
    raise SiteUnavailable(f"{shown(asked.url)} redirects too often")


def _send(asked: _Asked, timeout_s: float, *, most: int = LARGEST) -> tuple[HttpAnswer, str | None]:
    """One exchange, with so many bytes of the body at most; the second value is where a redirect leads."""
    try:
        parts = urlsplit(asked.url)
        host = parts.hostname or ""
        made = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = made("127.0.0.1" if host.endswith(".localhost") else host, parts.port, timeout=timeout_s)
        connection.response_class = answered_before(time.monotonic() + timeout_s)
        with closing(connection):
            path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
            headers = {"Host": parts.netloc.rpartition("@")[2], **_credentials(parts), **asked.headers}
            connection.request(asked.method, path, body=asked.body, headers=headers)
            response = connection.getresponse()
            cookies = tuple(response.headers.get_all("Set-Cookie", ()))
            # Reading nothing of a body in chunks waits for the first of them.
            body = response.read(most) if most else b""
            answer = HttpAnswer(status=response.status, url=asked.url, body=body, cookies=cookies)
            return answer, response.getheader("Location") if 300 <= response.status < 400 else None
    except (OSError, HTTPException, ValueError) as exc:
        raise SiteUnavailable(f"{shown(asked.url)} does not answer ({exc}); start the site, then run again") from exc


def answered_before(until: float) -> type[HTTPResponse]:
    """An answer that has to be whole by this time of the monotonic clock."""

    class Answer(HTTPResponse):
        def __init__(self, sock: socket.socket, *args: Any, **how: Any) -> None:
            super().__init__(sock, *args, **how)
            self.fp = BufferedReader(_Received(self.fp.detach(), sock, until))

    return Answer


class _Received(RawIOBase):
    """What comes from a socket until a time is over: the socket's own limit is for each piece, however small."""

    def __init__(self, pieces: RawIOBase, sock: socket.socket, until: float) -> None:
        self._pieces = pieces
        self._sock = sock
        self._until = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if (left_s := self._until - time.monotonic()) <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left_s)
        return self._pieces.readinto(buffer)

    def close(self) -> None:
        self._pieces.close()
        super().close()


def _credentials(parts: SplitResult) -> dict[str, str]:
    """User and password of an address, as a browser sends them."""
    if parts.username is None:
        return {}
    both = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {b64encode(both.encode()).decode()}"}


def shown(url: str) -> str:
    """An address for messages: without what is before its host and after its path, either of which may be a
    secret.
    """
    bare = re.sub(r"(?<=://)[^/?#]*@", "", url, count=1)
    return re.split(r"[?#]", bare, maxsplit=1)[0]
