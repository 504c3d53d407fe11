"""An endpoint of a model that answers as a test says, over real HTTP, and keeps what it was sent."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple


class Said(NamedTuple):
    body: bytes
    status: int = 200
    content_type: str = "application/json"


class Sent(NamedTuple):
    path: str
    body: bytes
    key: str = ""
    """The header `authorization`."""

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)  # type: ignore[no-any-return]


class StubEndpoint:
    """Where it is, and what it was sent, in order."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.sent: list[Sent] = []


@contextmanager
def stub_endpoint(answer: Callable[[Sent], Said], *, port: int = 0) -> Iterator[StubEndpoint]:
    """Serve `answer` in threads of their own."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            sent = Sent(self.path, body, self.headers.get("authorization", ""))
            stub.sent.append(sent)
            said = answer(sent)
            self.send_response(said.status)
            self.send_header("content-type", said.content_type)
            self.send_header("content-length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        stub = StubEndpoint(server.server_address[1])
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield stub
        finally:
            server.shutdown()


def said(message: dict[str, Any], finish: str = "stop", **further: Any) -> Said:
    """A chat completion with this message."""
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": finish}
    return Said(json.dumps({"model": "stub", "choices": [choice], **further}).encode())


def calls(*named: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """The part of a message that calls functions."""
    functions = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in named]
    return {
        "tool_calls": [
            {"id": f"call_{number}", "type": "function", "function": one} for number, one in enumerate(functions)
        ]
    }
