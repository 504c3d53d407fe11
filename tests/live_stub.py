"""Stand-ins for sites of the live web: hosts under `.localhost` on one port, whose pages a test writes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import monotonic
from typing import Any

from harness.actions import Action, Click, Goto, Scroll, Stop, Target
from harness.api import Decision, Episode, LiveObservation, Task


@dataclass(frozen=True)
class Page:
    body: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class LiveStub:
    port: int
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, host without port, path."""
    times: list[float] = field(default_factory=list)
    """Of `asked`, on `clock`."""
    clock: Callable[[], float] = monotonic

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}.localhost:{self.port}{path}"

    def pages(self, host: str) -> list[str]:
        return [path for method, at, path in self.asked if at == f"{host}.localhost" and path != "/robots.txt"]


@contextmanager
def live_stub(answer: Callable[[str, str], Page | None]) -> Iterator[LiveStub]:
    """`answer` is given host (its first label) and path; None = there is no such page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = str(self.headers["host"]).partition(":")[0]
            stub.asked.append((self.command, host, self.path))
            stub.times.append(stub.clock())
            if self.command == "POST":
                self.rfile.read(int(self.headers.get("content-length") or 0))
            page = answer(host.removesuffix(".localhost"), self.path) or Page("<h1>Not found</h1>", 404)
            body = f"<!doctype html><title>{self.path}</title>{page.body}".encode()
            if self.path == "/robots.txt":
                body = page.body.encode()
            self.send_response(page.status)
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.send_header("content-type", "text/plain" if self.path == "/robots.txt" else "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stub = LiveStub(server.server_address[1])
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield stub
        finally:
            server.shutdown()


class Script:
    """An agent that does what it is given: `goto URL`, `click ROLE NAME`, `scroll down`, `stop ANSWER`."""

    def __init__(self, model: object, steps: list[str]) -> None:
        self._steps = steps

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        number = len(episode.steps)
        verb, _, rest = (self._steps[number] if number < len(self._steps) else "stop").partition(" ")
        action: Action = Stop(answer=rest)
        if verb == "goto":
            action = Goto(url=rest)
        if verb == "scroll":
            action = Scroll(direction="up" if rest == "up" else "down")
        if verb == "click":
            role, _, name = rest.partition(" ")
            found = next(
                ((id, one) for id, one in observation.nodes.items() if (one.role, one.name) == (role, name)), None
            )
            if found is not None:
                action = Click(target=Target(id=found[0], role=role, name=name, nth=found[1].nth))
        return Decision(action=action)
