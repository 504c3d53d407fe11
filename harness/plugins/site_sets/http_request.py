"""One HTTP request, whose redirects are answers: a site under test often sends a visitor to another address."""

import socket
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from types import MappingProxyType
from urllib.parse import urlsplit

from harness.plugins.site_sets.set_file import Health

_MOST_BYTES = 10_000_000
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
    try:
        with closing(kind(at, parts.port, timeout=timeout_s)) as connection:
            connection.request(method, path, body, headers={"Host": parts.netloc, **headers})
            answer = connection.getresponse()
            return answer.status, answer.read(_MOST_BYTES).decode("utf-8", "replace")
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
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
