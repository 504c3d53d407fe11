"""Asks whether a web server is at an address, before anything depends on it: a connection, and the first line of an
answer, directly or through the proxy of this machine.

Nothing more is read: whether the site works is seen by those who use it.
"""

import asyncio
import errno
import re
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from harness.browser.network.outbound import Stream
from harness.browser.network.system_proxy import SystemProxies, connected, tunnelled

CONNECTS_S = 10.0
ANSWERS_S = 10.0
GRACE_S = 4.0
"""How long a port that accepts no connection is tried again: its server may just be starting."""
_PAUSE_S = 0.5
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})\b")
_BY_PROXY = frozenset({502, 503, 504})
"""What a proxy answers for a host that it does not reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What is at an address."""

    dead: str = ""
    """Why no web server can be reached there; "" = one can."""
    status: int | None = None
    """Status of its answer; None = it is dead or did not answer in time."""


class _Dead(Exception):
    """No web server can be reached; the message says why."""


async def probe(url: str, proxies: SystemProxies) -> Probed:
    """Look what is at an http or https address; takes 10 s to connect and 10 s for an answer at most."""
    if why := _why_no_address(url):
        return Probed(dead=why)
    loop = asyncio.get_running_loop()
    # Short, as a wrong address had cost three attempts of each task, with half a minute of waiting each.
    until = loop.time() + GRACE_S
    while True:
        try:
            return Probed(status=await _probed(url, proxies))
        except _Dead as dead:
            if loop.time() > until:
                return Probed(dead=str(dead))
        await asyncio.sleep(_PAUSE_S)


def _why_no_address(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # of its port
        is_one = False
    return "" if is_one else "this is not an address with http:// or https:// and a host"


async def _probed(url: str, proxies: SystemProxies) -> int | None:
    """The status of the answer, None = there is none in time. Raises: _Dead."""
    parts = urlsplit(url)
    proxy = proxies.for_host(parts.scheme, parts.hostname or "")
    by_proxy = f" through the proxy {proxy.hostname}" if proxy else ""
    try:
        async with asyncio.timeout(CONNECTS_S):
            stream, target = await _connected(parts, proxy)
    except TimeoutError as error:
        raise _Dead(f"no connection within {CONNECTS_S:g} s{by_proxy}") from error
    except (OSError, UnicodeError) as error:
        raise _Dead(_words(error) + by_proxy) from error
    try:
        async with asyncio.timeout(ANSWERS_S):
            status = await _status(stream, parts, target)
    except TimeoutError:
        return None
    except ValueError as error:
        raise _Dead("what listens there is no web server") from error
    except OSError as error:
        raise _Dead(f"the connection breaks off ({_words(error)})") from error
    finally:
        stream[1].close()
    if proxy is not None and status in _BY_PROXY:
        raise _Dead(f"status {status}{by_proxy}")
    return status


async def _connected(parts: SplitResult, proxy: SplitResult | None) -> tuple[Stream, str]:
    """A connection to the site, and what is to be asked for on it."""
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if proxy is not None and proxy.scheme != "socks5" and parts.scheme == "http":
        return await connected(proxy), f"http://{_authority(parts)}{path}"
    secure = _unverified() if parts.scheme == "https" else None
    if proxy is not None:
        reader, writer = await tunnelled(proxy, host, port)
        if secure is not None:
            await writer.start_tls(secure, server_hostname=host)
        return (reader, writer), path
    name, refused = host if secure is not None else None, OSError()
    for address in ("127.0.0.1", "::1") if host.endswith(".localhost") else (host,):
        try:
            return await asyncio.open_connection(address, port, ssl=secure, server_hostname=name), path
        except OSError as error:
            refused = error if isinstance(error, ssl.SSLError) or not refused.args else refused
    raise refused


def _unverified() -> ssl.SSLContext:
    """Which certificates are good is the browser's to say."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def _status(stream: Stream, parts: SplitResult, target: str) -> int:
    """Raises: ValueError: The answer is not HTTP. OSError: There is none."""
    reader, writer = stream
    head = f"GET {target} HTTP/1.1\r\nHost: {_authority(parts)}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    writer.write(head.encode("latin-1", "replace"))
    with suppress(ConnectionError):  # it may have answered all the same
        await writer.drain()
    line = await reader.readline()
    if not line:
        raise ConnectionResetError("no answer")
    if (found := _STATUS.match(line)) is None:
        raise ValueError(f"{line[:40]!r} does not begin an answer of HTTP")
    return int(found[1])


def _authority(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _words(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"no TLS connection ({error.reason or error})"
    if isinstance(error, UnicodeError | socket.gaierror):
        return "there is no host of this name"
    if isinstance(error, ConnectionRefusedError) or f"[Errno {errno.ECONNREFUSED}]" in str(error):  # of all addresses
        return "connection refused"
    return getattr(error, "strerror", None) or str(error)
