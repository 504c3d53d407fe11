"""Sends traces to a receiver of OTLP/HTTP, in JSON.

What the receiver asks to repeat (429, 502, 503, 504) and what did not reach it is sent again, a few times.
Source: https://opentelemetry.io/docs/specs/otlp/#otlphttp-response
"""

import http.client
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from harness.api import CodecError, loads
from harness.errors import TrackingError
from harness.plugins.tracking.exports.otel_spans import trace_requests

TRIES = 5
TIMEOUT_S = 30.0
LONGEST_WAIT_S = 30.0
_REPEATED = (429, 502, 503, 504)
_MOST_BYTES = 1_000_000
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class _NoRedirects(HTTPRedirectHandler):
    """A redirected POST becomes a GET without the traces, and the other host would get the key."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = build_opener(_NoRedirects)


def is_address(to: str | None) -> bool:
    return to is not None and "://" in to


def send_otel(folder: Path, to: str, *, first_wait_s: float = 1.0) -> int:
    """Send a run, one episode at a time; how many were sent.

    Args:
        folder: A run folder.
        to: Base address of the receiver (`http://host:4318`), or that of its traces (`…/v1/traces`).
        first_wait_s: Doubled at each repetition, unless the receiver says how long.

    Headers, as for a key, are taken from `OTEL_EXPORTER_OTLP_HEADERS` (`name=value,…`).

    Raises:
        TrackingError: The address is wrong, or the receiver cannot be reached or refuses.
    """
    url = _address(to)
    headers = {"Content-Type": "application/json", **dict(_headers())}
    sent = 0
    for body in trace_requests(folder):
        _send(Request(url, body, headers, method="POST"), first_wait_s)
        sent += 1
    return sent


def _address(to: str) -> str:
    try:
        parts = urlsplit(to)
        named = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        named = None
    if not named:
        raise TrackingError("--to is not an address of OTLP/HTTP; give one like http://localhost:4318")
    if parts.username or parts.password or parts.query:
        raise TrackingError("--to must contain no key or password; set OTEL_EXPORTER_OTLP_HEADERS to 'name=value'")
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path if path.endswith('/v1/traces') else path + '/v1/traces'}"


def _headers() -> Iterator[tuple[str, str]]:
    for pair in filter(None, map(str.strip, os.environ.get(_HEADERS, "").split(","))):
        name, _, said = pair.partition("=")
        name, value = name.strip(), unquote(said.strip())
        if not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
            raise TrackingError(f"{_HEADERS} is not a list of headers; give 'name=value,…' in printable ASCII")
        yield name, value


def _send(request: Request, wait_s: float) -> None:
    for left in range(TRIES - 1, -1, -1):
        asked = None
        try:
            with _OPENER.open(request, timeout=TIMEOUT_S) as answer:
                _check(answer.read(_MOST_BYTES), request)
                return
        except HTTPError as exc:
            with exc:
                if exc.code not in _REPEATED or not left:
                    raise TrackingError(f"{request.full_url} answered {exc.code}; the traces were not stored") from exc
                asked = exc.headers.get("Retry-After")
        except (URLError, OSError, http.client.HTTPException) as exc:
            if not left:
                reason = getattr(exc, "reason", exc)
                raise TrackingError(f"{request.full_url} cannot be reached: {reason}; start the receiver") from exc
        time.sleep(min(_seconds(asked, wait_s), LONGEST_WAIT_S))
        wait_s *= 2


def _seconds(asked: str | None, wait_s: float) -> float:
    return float(asked) if asked is not None and asked.strip().isdecimal() else wait_s


def _check(body: bytes, request: Request) -> None:
    """A receiver may accept a request and refuse some of its spans."""
    with suppress(CodecError):
        match loads(body):
            case {"partialSuccess": {"rejectedSpans": str() | int() as refused, **rest}} if str(refused) not in (
                "",
                "0",
            ):
                why = str(rest.get("errorMessage", ""))[:200]
                count = refused if str(refused).isdecimal() else f"{refused!r:.40}"
                raise TrackingError(f"{request.full_url} refused {count} spans: {why}")
