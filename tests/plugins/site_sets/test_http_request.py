"""Requests to services and control planes end in time, whatever these send."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from harness.plugins.site_sets.http_request import NoAnswer, ask, why_unhealthy
from harness.plugins.site_sets.set_file import Health

pytestmark = pytest.mark.integration
_PIECES = 500
"""More than come within the time."""


@contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler, Event], None]) -> Iterator[str]:
    """Address of a server that answers so, until the event is set."""
    is_over = Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            with suppress(OSError):
                answer(self, is_over)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        is_over.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("where", ["body", "chunks", "header"])
def test_an_answer_that_comes_byte_by_byte_ends_in_time(where: str) -> None:
    sent = list[int]()

    def answer(to: BaseHTTPRequestHandler, is_over: Event) -> None:
        to.send_response(200)
        if where != "header":
            to.send_header(*(("transfer-encoding", "chunked") if where == "chunks" else ("connection", "close")))
            to.end_headers()
        else:
            to.flush_headers()
            to.wfile.write(b"slow: ")
        for number in range(_PIECES):
            if is_over.wait(0.02):
                break
            sent.append(number)
            to.wfile.write(b"1\r\nx\r\n" if where == "chunks" else b"x")

    with serving(answer) as url:
        with pytest.raises(NoAnswer, match="no answer within"):
            ask(f"{url}/events", timeout_s=0.5)
        assert len(sent) < _PIECES


def test_a_service_is_healthy_when_its_status_comes_in_time_however_late_its_page() -> None:
    def answer(to: BaseHTTPRequestHandler, is_over: Event) -> None:
        to.send_response(200)
        to.send_header("content-length", "1")
        to.end_headers()
        is_over.wait()

    with serving(answer) as url:
        assert why_unhealthy(Health(path="/"), url, 0, timeout_s=2.0) == ""
