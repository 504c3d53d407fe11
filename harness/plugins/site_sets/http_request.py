"""One HTTP request, whose redirects are answers: a site under test often sends a visitor to another address."""

import random
import socket
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from harness.api.site_requests import answered_before
from harness.errors import ConfigError
from harness.plugins.site_sets.set_file import Health

_MOST_BYTES = 10_000_000
_LEAST_PORT, _MOST_PORT = 10_000, 65_535
_TRIED_PORTS = 1_000
_NOTHING: Mapping[str, str] = MappingProxyType({})


class NoAnswer(Exception):
    """No server answered in time."""


def ask(  # noqa: PLR0913 (what a request has)
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] = _NOTHING,
    body: str | None = None,
    timeout_s: float,
    reads_body: bool = True,
) -> tuple[int, str]:
    """Status and body, at most 10 MB of it.

    Raises:
        NoAnswer: There is none, or not all of it in time.
    """
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    host = parts.hostname or ""
    at = "127.0.0.1" if host == "localhost" or host.endswith(".localhost") else host
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    try:
        with closing(kind(at, parts.port, timeout=timeout_s)) as connection:
            connection.response_class = answered_before(time.monotonic() + timeout_s)
            connection.request(method, path, body, headers={"Host": parts.netloc, **headers})
            answer = connection.getresponse()
            return answer.status, answer.read(_MOST_BYTES).decode("utf-8", "replace") if reads_body else ""
    except TimeoutError as error:
        raise NoAnswer(f"no answer within {timeout_s:.0f} s") from error
    except (OSError, HTTPException, ValueError) as error:
        raise NoAnswer(getattr(error, "strerror", None) or type(error).__name__) from error


def why_unhealthy(health: Health, url: str, port: int, timeout_s: float = 10.0) -> str:
    """Why a service is not ready; "" = it is."""
    if not health.path:
        return "" if accepts(port) else f"port {port} accepts no connections"
    headers = {"Host": health.host} if health.host else {}
    try:
        # Without its body: the front page of a busy site may take longer than its first line.
        status, _ = ask(url + health.path, headers=headers, timeout_s=timeout_s, reads_body=False)
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
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("utf-8").split()[0])
        if first > _LEAST_PORT + _TRIED_PORTS:
            return first
    return _MOST_PORT + 1
