"""The page at which a person plays, and what it asks for.

It shows what sites have written, so everything is text in JSON, and the page's script never makes markup of it. Only
this machine may look, with the token of the printed address; decisions also need a key that only the page contains.
"""

import re
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from harness.api import CodecError, loads
from harness.api.request_guard import RequestGuard, is_key, key_of_forms
from harness.plugins.human.desk import Desk, Said, Turn
from harness.plugins.human.inputs import action_of

_FOLDER = Path(__file__).parent / "page"
_FORMS = re.compile(r"/(act|let)\Z")
_MOST_BYTES = 64_000
_MOST_NOTE = 4000
_LOOKS_EVERY_S = 1.0
"""A page that is closed is noticed within this time."""
_ANSWERS_WITHIN = 20
"""So many of those."""
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self' blob: data:; script-src 'self'; style-src 'self'; connect-src 'self';"
        " form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class HumanPage:
    """Answers requests about one desk. In its event loop: nothing here reads files or waits for a disk but at first."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._key = key_of_forms()
        self._page = (_FOLDER / "play.html").read_text("utf-8").replace("KEY_OF_FORMS", self._key)
        self._files = {name: (_FOLDER / name).read_text("utf-8") for name in ("play.js", "play.css")}

    def app(self, token: str) -> ASGIApp:
        """The application."""
        routes = [
            Route("/", self.page),
            Route("/play.js", self.script),
            Route("/play.css", self.style),
            Route("/state", self.state),
            Route("/shot/{turn}", self.shot),
            Route("/live", self.live),
            Route("/picture/{turn}/{number}", self.picture),
            Route("/act", self.act, methods=["POST"]),
            Route("/let", self.let, methods=["POST"]),
        ]
        return RequestGuard(Starlette(routes=routes), token, forms=_FORMS, printed_by="the run")

    async def page(self, request: Request) -> Response:
        """The page itself."""
        return HTMLResponse(self._page, headers=_HEADERS)

    async def script(self, request: Request) -> Response:
        """Its script."""
        return Response(self._files["play.js"], media_type="text/javascript", headers=_HEADERS)

    async def style(self, request: Request) -> Response:
        """Its style."""
        return Response(self._files["play.css"], media_type="text/css", headers=_HEADERS)

    async def state(self, request: Request) -> Response:
        """What is to be shown, as soon as it is another version than the page has seen, or after a while."""
        given = request.query_params
        seen = int(given["seen"]) if re.fullmatch(r"\d{1,12}", given.get("seen", "")) else -1
        place = self._desk.chosen(given.get("place", ""))
        with self._desk.looked_at(place):
            for _ in range(_ANSWERS_WITHIN):
                await self._desk.news(seen, _LOOKS_EVERY_S)
                if self._desk.version != seen or await request.is_disconnected():
                    break
            return _json(self._desk.state(self._desk.chosen(given.get("place", ""))))

    async def shot(self, request: Request) -> Response:
        """The picture of a step."""
        turn = self._desk.turn(request.path_params["turn"])
        if turn is None or turn.view.image is None:
            return _no(404, "there is no such picture any more")
        return Response(turn.view.image, media_type="image/png", headers=_HEADERS)

    async def live(self, request: Request) -> Response:
        """The browser as it is, pushed as server-sent events for as long as the episode is played and the page open."""

        async def events() -> AsyncIterator[str]:
            async for image in self._desk.pictures(request.query_params.get("place", "")):
                yield ":\n\n" if image is None else f"data: {b64encode(image).decode()}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream", headers=_HEADERS)

    async def picture(self, request: Request) -> Response:
        """A picture of the objective."""
        turn, number = self._desk.turn(request.path_params["turn"]), request.path_params["number"]
        images = () if turn is None else turn.view.task_images
        if not re.fullmatch(r"\d{1,4}", number) or int(number) >= len(images):
            return _no(404, "there is no such picture")
        image = images[int(number)]
        kind = "image/png" if image.startswith(b"\x89PNG\r\n\x1a\n") else "image/jpeg"
        return Response(image, media_type=kind, headers=_HEADERS)

    async def act(self, request: Request) -> Response:
        """Take a decision."""
        said = await self._said(request)
        if isinstance(said, Response):
            return said
        turn = self._desk.turn(str(said.get("turn", "")))
        if turn is None:
            return _no(409, "this step is not waiting any more; look at the page again")
        try:
            decided = self._decided(said, turn)
        except ValueError as error:
            return _no(400, str(error))
        turn.said.set_result(decided)
        return _json({"taken": True})

    async def let(self, request: Request) -> Response:
        """Begin an episode, pause it, or go on with it."""
        said = await self._said(request)
        if isinstance(said, Response):
            return said
        if not self._desk.let(str(said.get("place", "")), said.get("goes") is True):
            return _no(409, "this task is not being played any more")
        return _json({"taken": True})

    def _decided(self, said: dict[str, Any], turn: Turn) -> Said:
        note, gave_up = said.get("note", ""), said.get("gave_up") is True
        if not isinstance(note, str) or len(note) > _MOST_NOTE:
            raise ValueError(f"a note is a text of at most {_MOST_NOTE:,} characters")
        wanted = {"type": "stop", "answer": ""} if gave_up else said.get("action")
        action = action_of(wanted, self._desk.screen, may_ask=turn.task.user is not None)
        return Said(action=action, note=note, gave_up=gave_up)

    async def _said(self, request: Request) -> dict[str, Any] | Response:
        parts, length = list[bytes](), 0
        async for part in request.stream():
            length += len(part)
            if length > _MOST_BYTES:
                return _no(413, f"this is longer than {_MOST_BYTES:,} bytes")
            parts.append(part)
        try:
            said = loads(b"".join(parts))
        except CodecError:
            return _no(400, "this is not JSON")
        if not isinstance(said, dict):
            return _no(400, "this is not a JSON object")
        if not is_key(str(said.get("key", "")), self._key):
            return _no(403, "this did not come from the page; open the address that the run printed")
        return said


def _json(said: dict[str, Any]) -> Response:
    return JSONResponse(said, headers=_HEADERS)


def _no(status: int, why: str) -> Response:
    return JSONResponse({"why": why}, status, headers=_HEADERS)
