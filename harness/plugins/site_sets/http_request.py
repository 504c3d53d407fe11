"""One HTTP request, whose redirects are answers: a site under test often sends a visitor to another address."""

import random
import socket
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from harness.errors import ConfigError
from harness.plugins.site_sets.set_file import Health

_MOST_BYTES = 10_000_000
_PIECE = 1 << 16
_LEAST_PORT, _MOST_PORT = 10_000, 65_535
_TRIED_PORTS = 1_000
_NOTHING: Mapping[str, str] = MappingProxyType({})


class NoAnswer(Exception):
    """No server answered in time."""


def ask(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] = _NOTHING,
    body: str | None = None,
    timeout_s: float,
) -> tuple[int, str]:
    """Status and body, at most 10 MB of it.

    Raises:
        NoAnswer: There is none.
    """
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    host = parts.hostname or ""
    at = "127.0.0.1" if host == "localhost" or host.endswith(".localhost") else host
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    until = time.monotonic() + timeout_s
    try:
        with closing(kind(at, parts.port, timeout=timeout_s)) as connection:
            connection.request(method, path, body, headers={"Host": parts.netloc, **headers})
            answer = connection.getresponse()
            return answer.status, _body(answer, until).decode("utf-8", "replace")
    except TimeoutError as error:
        raise NoAnswer(f"no answer within {timeout_s:.0f} s") from error
    except (OSError, HTTPException, ValueError) as error:
        raise NoAnswer(getattr(error, "strerror", None) or type(error).__name__) from error


def _body(answer: HTTPResponse, until: float) -> bytes:
    """What is read until a time is over, as the limit of a connection is for each piece, however small.

    Raises:
        TimeoutError: It goes on.
    """
    body = bytearray()
    while len(body) < _MOST_BYTES and (part := answer.read1(_PIECE)):
        body += part
        if time.monotonic() > until:
            raise TimeoutError
    return bytes(body[:_MOST_BYTES])


def why_unhealthy(health: Health, url: str, port: int, timeout_s: float = 10.0) -> str:
    """Why a service is not ready; "" = it is."""
    if not health.path:
        return "" if accepts(port) else f"port {port} accepts no connections"
    headers = {"Host": health.host} if health.host else {}
    try:
        status, _ = ask(url + health.path, headers=headers, timeout_s=timeout_s)
    except NoAnswer as error:
        return f"{health.path} does not answer ({error})"
    fits = status in health.status if health.status else status < 500
    return "" if fits else f"{health.path} answers with status {status}"


def accepts(port: int) -> bool:
    """Whether something on this machine accepts connections on a port."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as asking:
        asking.settimeout(2.0)
        return asking.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """One that no program of this machine has, and that no connection of another one gets while a reset stops ours."""
    for _ in range(_TRIED_PORTS):
        port = random.randrange(_LEAST_PORT, _first_passing_port())
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as listening:
            with suppress(OSError):
                listening.bind(("127.0.0.1", port))
                return port
    raise ConfigError("this machine has no free port; set `port` of the services in the set file")


def _first_passing_port() -> int:
    """The first of the ports that the system gives to outgoing connections; all where it says nothing of use."""
    with suppress(OSError, ValueError, IndexError):
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        if first > _LEAST_PORT + _TRIED_PORTS:
            return first
    return _MOST_PORT + 1
