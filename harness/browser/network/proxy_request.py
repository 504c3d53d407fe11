"""What Chromium asks of a proxy: by SOCKS 5 (RFC 1928), or by HTTP (RFC 9110, RFC 9112)."""

import socket
import struct
from dataclasses import dataclass
from urllib.parse import urlsplit

from harness.browser.network.outbound import Stream

_VERSION, _NO_PASSWORD, _CONNECT = 5, 0, 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_DONE, _FAILED, _NOT_ALLOWED = 0, 1, 2
_PORTS = {"http": 80, "ws": 80}
_OF_A_CONNECTION = (b"connection", b"proxy-connection", b"keep-alive")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRequest:
    """A host that is to be connected to."""

    host: str
    port: int
    scheme: str = "https"
    """Of what is asked for, where that is said; what is asked for by CONNECT may be anything."""
    accepted: bytes = b""
    """The answer when the connection is there."""
    refused: bytes = b""
    failed: bytes = b""
    head: bytes = b""
    """A plain HTTP request, which the other side is to be sent; b"" = what follows is passed on as it is."""
    head_for_proxy: bytes = b""
    """The same, if the other side is a proxy as well."""
    body: int | None = None
    """Bytes that follow, and no others; None = any number."""


async def asked_by_socks(page: Stream) -> ProxyRequest:
    """Raises: OSError, EOFError, ValueError: It is nothing that Chromium asks."""
    reader, writer = page
    version, methods = await reader.readexactly(2)
    if version != _VERSION:
        raise ValueError("this is not SOCKS 5")
    await reader.readexactly(methods)
    writer.write(bytes((_VERSION, _NO_PASSWORD)))
    _, command, _, kind = await reader.readexactly(4)
    if command != _CONNECT:
        raise ValueError("only connections are made")
    if kind == _NAME:
        (size,) = await reader.readexactly(1)
        host = (await reader.readexactly(size)).decode("ascii")
    else:
        family, size = (socket.AF_INET6, 16) if kind == _IPV6 else (socket.AF_INET, 4)
        host = socket.inet_ntop(family, await reader.readexactly(size))
    (port,) = struct.unpack("!H", await reader.readexactly(2))
    accepted, refused, failed = (
        bytes((_VERSION, code, 0, _IPV4)) + bytes(6) for code in (_DONE, _NOT_ALLOWED, _FAILED)
    )
    return ProxyRequest(host=_bare(host), port=port, accepted=accepted, refused=refused, failed=failed)


async def asked_by_http(page: Stream) -> ProxyRequest:
    """Raises: OSError, EOFError, ValueError, LimitOverrunError: It is nothing that Chromium asks."""
    head = await page[0].readuntil(b"\r\n\r\n")
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    method, target, version = first.split(b" ")
    if method == b"CONNECT":
        parts = urlsplit(f"//{target.decode('ascii')}")
        return ProxyRequest(
            host=_bare(parts.hostname or ""),
            port=parts.port or 443,
            accepted=b"HTTP/1.1 200 OK\r\n\r\n",
            refused=b"HTTP/1.1 403 Forbidden\r\n\r\n",
            failed=b"HTTP/1.1 502 Bad Gateway\r\n\r\n",
        )
    parts = urlsplit(target.decode("ascii"))
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("this is not an address of the web")
    fields = [line.partition(b":") for line in lines]
    kept = [line for line, (name, _, _) in zip(lines, fields, strict=True) if name.lower() not in _OF_A_CONNECTION]
    sizes = [int(value) for name, _, value in fields if name.lower() == b"content-length"]
    # One request for each connection: the next one may be for another host, and nothing is said of it here.
    rest = b"\r\n".join([*kept, b"Connection: close", b"", b""])
    path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
    return ProxyRequest(
        host=_bare(parts.hostname),
        port=parts.port or _PORTS[parts.scheme],
        scheme="http",
        head=b" ".join((method, path.encode(), version)) + b"\r\n" + rest,
        head_for_proxy=first + b"\r\n" + rest,
        body=sizes[0] if sizes else 0,
    )


def _bare(host: str) -> str:
    return host.lower().rstrip(".")
