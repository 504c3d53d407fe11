"""Requests to services and control planes end in time, whatever these send."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from harness.plugins.site_sets.http_request import NoAnswer, ask

pytestmark = pytest.mark.integration
_PIECES = 500
"""More than come within the time."""


@pytest.mark.parametrize("chunked", [False, True])
def test_an_answer_that_comes_byte_by_byte_ends_in_time(chunked: bool) -> None:
    is_over, sent = Event(), list[int]()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header(*(("transfer-encoding", "chunked") if chunked else ("connection", "close")))
            self.end_headers()
            for number in range(_PIECES):
                if is_over.wait(0.02):
                    break
                sent.append(number)
                self.wfile.write(b"1\r\nx\r\n" if chunked else b"x")

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with pytest.raises(NoAnswer, match="no answer within"):
            ask(f"http://127.0.0.1:{server.server_port}/events", timeout_s=0.5)
        assert len(sent) < _PIECES
    finally:
        is_over.set()
        server.shutdown()
        thread.join()
        server.server_close()
