"""A site and an endpoint that know all secrets of a run, and show them wherever a page or a model can."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from harness.loopback_server import serving
from tests.hostile.canaries.canary import Canary, shown

SCRIPT = """
localStorage.setItem("note", secrets[0] || "");
document.title = secrets.join(" ");
for (const one of secrets) console.log(one);
fetch("/data").then((answer) => answer.json());
fetch("/echo", {method: "POST", headers: {"content-type": "application/json", "x-api-key": secrets[0] || ""},
  body: JSON.stringify({deep: JSON.stringify({deeper: secrets})})});
fetch("/echo", {method: "POST", body: new URLSearchParams(secrets.map((one) => ["q", one]))});
history.replaceState(null, "", "?seen=" + encodeURIComponent(secrets[0] || ""));
"""


@dataclass
class World:
    """Two servers in a thread of their own."""

    known: list[Canary] = field(default_factory=list)
    """Shown by every page, and quoted by the model."""
    cookie: str = "none"
    """Session of the site."""
    extra: str = ""
    """Further HTML of every page."""
    guarded: bool = False
    """Whether the front page asks for a user and a password."""
    password: str = ""
    """What the login form wants in its last field."""
    sites_port: int = 0
    endpoint_port: int = 0
    headers: list[dict[str, str]] = field(default_factory=list)
    """Of every request to the endpoint."""
    asked: list[str] = field(default_factory=list)
    """Method and path of every request to the site."""
    site_headers: list[dict[str, str]] = field(default_factory=list)
    refusals: int = 1
    """Questions that the endpoint refuses at first, quoting all it was sent."""
    _turns: int = 0

    def begin(self, known: Sequence[Canary], **settings: Any) -> None:
        """For the next run."""
        self.known, self._turns = list(known), 0
        self.cookie, self.extra, self.password, self.refusals, self.guarded = "none", "", "", 1, False
        for seen in (self.headers, self.asked, self.site_headers):
            seen.clear()
        for name, value in settings.items():
            setattr(self, name, value)

    async def site(self, scope: Any, receive: Any, send: Any) -> None:
        body, headers = await _body(receive), _headers(scope)
        self.asked.append(f"{scope['method']} {scope['path']}")
        self.site_headers.append(headers)
        known = f"session={self.cookie}" in headers.get("cookie", "")
        if self.guarded and scope["path"] == "/" and "authorization" not in headers:
            return await _answer(send, b"", status=401, more=[("www-authenticate", "Basic realm=own")])
        match scope["method"], scope["path"]:
            case _, "/reset" | "/counter":
                await _answer(send, b"7", "text/plain")
            case "POST", "/login":
                right = parse_qs(body.decode()).get("secret", [""])[0] == self.password
                cookie = ("set-cookie", f"session={self.cookie}; HttpOnly")
                await _answer(send, b"", status=303, more=[("location", "/"), *([cookie] if right else [])])
            case _, "/login":
                form = (
                    "<form method=post><input id=login><input name=secret id=field type=password><button>Log"
                    " in</button></form>"
                )
                await _answer(send, form.encode())
            case _, "/account":
                await _answer(send, b"member" if known else b"guest")
            case _, "/data":
                data = {"deep": json.dumps({"deeper": [one.value for one in self.known]}), "you": dict(headers)}
                await _answer(send, json.dumps(data).encode(), "application/json")
            case _, "/echo":
                await _answer(send, json.dumps({"body": body.decode()}).encode(), "application/json")
            case _:
                await self._page(send)

    async def _page(self, send: Any) -> None:
        values = json.dumps([one.value for one in self.known]).replace("<", "\\u003c")
        page = "".join([f"<h1>Secrets</h1>{self.extra}", *(shown(one.value) for one in self.known)])
        await _answer(send, f"{page}<script>const secrets = {values};{SCRIPT}</script>".encode())

    async def endpoint(self, scope: Any, receive: Any, send: Any) -> None:
        body, headers = await _body(receive), _headers(scope)
        self.headers.append(headers)
        if self.refusals:
            self.refusals -= 1
            said = {"error": {"message": f"no: {json.dumps(headers)} {self._quoted}", "type": "rate"}}
            return await _answer(
                send, json.dumps(said).encode(), "application/json", status=429, more=[("retry-after", "0")]
            )
        self._turns += 1
        judging = b"grade the work" in body
        action = "```goto [http://own.test/page?again=1]```" if self._turns == 1 else f"```stop [{self._plain}]```"
        text = f"I was shown {self._quoted}. " + (
            "\ncorrect" if judging else f"In summary, the next action I will perform is {action}"
        )
        reply = {
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop", "index": 0}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        }  # fmt: skip
        await _answer(send, json.dumps(reply).encode(), "application/json")

    @property
    def _quoted(self) -> str:
        return " ".join(one.value for one in self.known)

    @property
    def _plain(self) -> str:
        return " ".join(one.value for one in self.known if one.value.isalnum())


@contextmanager
def world() -> Iterator[World]:
    """Both servers, until the context is left."""
    made, ready, over = World(), threading.Event(), threading.Event()

    async def site(scope: Any, receive: Any, send: Any) -> None:
        await made.site(scope, receive, send)

    async def endpoint(scope: Any, receive: Any, send: Any) -> None:
        await made.endpoint(scope, receive, send)

    async def serve() -> None:
        async with serving(site) as made.sites_port, serving(endpoint) as made.endpoint_port:
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield made
    finally:
        over.set()
        thread.join(10)


async def _answer(
    send: Callable[[Any], Any],
    body: bytes,
    kind: str = "text/html; charset=utf-8",
    *,
    status: int = 200,
    more: Sequence[tuple[str, str]] = (),
) -> None:
    headers = [(name.encode(), value.encode()) for name, value in (("content-type", kind), *more)]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _body(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        part = await receive()
        body, more = body + part.get("body", b""), part.get("more_body", False)
    return body


def _headers(scope: Any) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
