"""The environment server as an ASGI application: OpenEnv's routes, and the tasks."""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from harness.api import HarnessError
from harness.errors import said_by
from harness.plugins.environments.answer import Answer
from harness.plugins.environments.cube import PATH as CUBE
from harness.plugins.environments.cube import Cube
from harness.plugins.environments.nemo import NemoGym
from harness.plugins.environments.openapi import document
from harness.plugins.environments.play import Session
from harness.plugins.environments.problem import (
    CAPACITY_REACHED,
    INVALID_JSON,
    LATE,
    SESSION_ERROR,
    VALIDATION_ERROR,
    Problem,
)
from harness.plugins.environments.requests import read_fork, read_reset, read_step
from harness.plugins.environments.rpc import NamedSessions, Tools
from harness.plugins.environments.sessions import Environments
from harness.plugins.environments.sockets import SocketSession
from harness.plugins.environments.views import result, schema

MAX_BODY = 1 << 20
"""Bytes of a request, and of a message of a socket."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_POLICY_VIOLATION = 1008
_BODY_S = 30.0
_STATUS = {VALIDATION_ERROR: 422, INVALID_JSON: 400, CAPACITY_REACHED: 503, SESSION_ERROR: 503}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How this server shows itself."""

    version: str
    typed: bool
    """Whether `/schema` has one schema for each action."""
    browsergym: bool
    """Whether observations have BrowserGym's keys, too."""


class EnvironmentServer:
    """Answers over HTTP and WebSockets."""

    def __init__(self, environments: Environments, shape: Shape) -> None:
        self._environments = environments
        self._shape = shape
        sessions = NamedSessions(environments)
        self._tools = Tools(environments, sessions)
        self._nemo = NemoGym(environments, sessions, _body)
        self._cube = Cube(environments, _body)

    def app(self, token: str | None, *, host: str) -> ASGIApp:
        """The application, to listen on `host`; `token` None = everybody who reaches it has access."""
        routes = [
            WebSocketRoute("/ws", self.socket),
            Route("/health", self.health),
            Route("/schema", self.schema),
            Route("/metadata", self.metadata),
            Route("/tasks", self.tasks),
            Route("/openapi.json", self.openapi),
            Route("/reset", self.reset, methods=["POST"]),
            Route("/step", self.step, methods=["POST"]),
            Route("/state", self.state),
            Route("/fork", self._answering(self.fork), methods=["POST"]),
            Route("/nemo/reset", self._answering(self._nemo.reset), methods=["POST"]),
            Route("/nemo/step", self._answering(self._nemo.step), methods=["POST"]),
            Route("/nemo/close", self._answering(self._nemo.close), methods=["POST"]),
            Route("/mcp", self.mcp, methods=["POST"]),
            Route("/", self._cube.benchmark, methods=["POST"]),
            Route(CUBE, self._cube.benchmark, methods=["POST"]),
            Route(f"{CUBE}/{{name}}", self._cube.task, methods=["POST"]),
            WebSocketRoute("/mcp", self.socket),
        ]
        return Guard(Starlette(routes=routes), token, is_for_others=host not in _LOOPBACK)

    async def socket(self, socket: WebSocket) -> None:
        """One session."""
        await socket.accept()
        plain = socket.url.path == "/mcp"
        browsergym = self._shape.browsergym
        await SocketSession(socket, self._environments, self._tools, browsergym=browsergym, plain=plain).serve()

    async def health(self, request: Request) -> Response:
        """Whether it serves, and how many environments are in use."""
        slots = self._environments.slots
        figures = {"active_sessions": slots.taken, "max_sessions": slots.number, "waiting_sessions": slots.waiting}
        return Answer({"status": "healthy", **figures})

    async def schema(self, request: Request) -> Response:
        """See `views.schema`."""
        shape = self._shape
        found = schema(self._environments.action_set, typed=shape.typed, browsergym=shape.browsergym)
        return Answer(found)

    async def metadata(self, request: Request) -> Response:
        """What is served."""
        run = self._environments.run
        return Answer(
            {
                "name": f"cairn/{run.folder.name}",
                "description": f"{len(run.tasks)} tasks for web agents, played in Chromium and scored from evidence",
                "version": self._shape.version,
                "action_set": run.action_set.name,
                "tasks": len(run.tasks),
            }
        )

    async def tasks(self, request: Request) -> Response:
        """A reset for each task: a whole benchmark is a list of them."""
        tasks = self._environments.run.tasks.values()
        found = [{"task": one.task_id, "sites": list(one.sites), "goal": one.intent} for one in tasks]
        return Answer({"tasks": found})

    async def openapi(self, request: Request) -> Response:
        """The routes that answer over HTTP."""
        shape = self._shape
        return Answer(document(self._environments.action_set, typed=shape.typed, browsergym=shape.browsergym))

    async def reset(self, request: Request) -> Response:
        """A reset without a session: the first page of an episode, which is given back at once."""

        async def answer(session: Session, data: object) -> dict[str, Any]:
            turn = await self._environments.reset(session, read_reset(data))
            return result(turn, browsergym=self._shape.browsergym)

        return await self._stateless(request, answer)

    async def step(self, request: Request) -> Response:
        """The first step of an episode, which is given back at once."""

        async def answer(session: Session, data: object) -> dict[str, Any]:
            if not isinstance(data, dict) or not isinstance(data.get("action"), dict):
                raise Problem(VALIDATION_ERROR, 'step: give {"action": {…}}')
            if unknown := sorted(data.keys() - {"action", "timeout_s", "request_id"}):
                raise Problem(VALIDATION_ERROR, f"step: {unknown[0][:80]!r} is unknown")
            beside = {key: data[key] for key in ("timeout_s", "request_id") if key in data}
            wanted = read_step({**data["action"], **beside}, self._environments.action_set)
            await self._environments.reset(session, read_reset({}))
            return result(await self._environments.step(session, wanted), browsergym=self._shape.browsergym)

        return await self._stateless(request, answer)

    async def fork(self, request: Request) -> Response:
        """Further episodes that begin at a step of one."""
        wanted = read_fork(await _body(request))
        found = await self._environments.fork(wanted)
        episodes = [{"episode_id": one.episode_id, "task": one.task_id, "trial": one.trial} for one in found]
        return Answer({"episode_id": wanted.episode_id, "step": wanted.step, "episodes": episodes})

    async def mcp(self, request: Request) -> Response:
        """The actions as tools, over JSON-RPC."""
        try:
            said = await _body(request)
        except Problem as problem:
            said = {"jsonrpc": "", "why": str(problem)}
        found = await self._tools.answer(said, is_gone=request.is_disconnected)
        return Response(status_code=202) if found is None else Answer(found)

    async def state(self, request: Request) -> Response:
        """That of a session which has no episode: over HTTP there is none."""
        return Answer(await self._environments.state(Session()))

    async def _stateless(
        self, request: Request, answer: Callable[[Session, object], Awaitable[dict[str, Any]]]
    ) -> Response:
        async def answered(request: Request) -> Response:
            session = Session()
            try:
                return Answer(await answer(session, await _body(request)))
            finally:
                self._environments.give_up(session, "the request has been answered")

        return await self._answering(answered)(request)

    @staticmethod
    def _answering(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """The same, with an answer of its own for what cannot be done."""

        async def answered(request: Request) -> Response:
            try:
                return await answer(request)
            except Problem as problem:
                is_late = problem.more.get("failure_class") == LATE
                status = 504 if is_late else _STATUS.get(problem.code, 500)
                return Answer({"detail": problem.data()}, status_code=status)
            except HarnessError as error:
                data = Problem.infrastructure(type(error).__name__, said_by(error)[:1000]).data()
                return Answer({"detail": data}, status_code=500)

        return answered


class Guard:
    """Keeps out who has no token, and pages of web sites that a browser on this machine has open."""

    def __init__(self, app: ASGIApp, token: str | None, *, is_for_others: bool) -> None:
        self._app = app
        self._token = token
        # Other machines ask by any name; on loopback, a strange one is that of a web page (DNS rebinding).
        self._has_any_name = is_for_others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            why = self._why_not(HTTPConnection(scope))
            if why and scope["type"] == "websocket":
                await WebSocket(scope, receive, send).close(_POLICY_VIOLATION, why)
                return
            if why:
                problem = Problem("UNAUTHORIZED", why)
                await Answer({"detail": problem.data()}, status_code=401)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _why_not(self, asked: HTTPConnection) -> str:
        if self._token is None:
            if "origin" in asked.headers:
                return "a web page asks; start the server with CAIRN_SERVE_TOKEN, and give the token"
            if self._has_any_name or _host_of(asked) in _LOOPBACK:
                return ""
            return "only 127.0.0.1 and localhost are served; start the server with CAIRN_SERVE_TOKEN, or with --host"
        scheme, _, given = asked.headers.get("authorization", "").partition(" ")
        given = given if scheme.lower() == "bearer" else asked.query_params.get("token", "")
        if hmac.compare_digest(given.encode(errors="replace"), self._token.encode()):
            return ""
        return "the token is missing or wrong; give it as Authorization: Bearer TOKEN"


def _host_of(asked: HTTPConnection) -> str:
    try:
        return urlsplit(f"//{asked.headers.get('host', '')}").hostname or ""
    except ValueError:  # as of "[", which begins an address that does not end
        return ""


async def _body(request: Request) -> object:
    """Raises: Problem: It is too large, or no JSON."""
    read = bytearray()
    try:
        async with asyncio.timeout(_BODY_S):
            async for part in request.stream():
                read += part
                if len(read) > MAX_BODY:
                    raise Problem(VALIDATION_ERROR, f"the request has more than {MAX_BODY:,} bytes")
    except (TimeoutError, ClientDisconnect) as error:
        raise Problem(INVALID_JSON, f"the body did not come to its end within {_BODY_S:g} s") from error
    try:
        return json.loads(read or b"{}")
    except (ValueError, RecursionError) as error:
        raise Problem(INVALID_JSON, f"the request is not JSON: {str(error)[:200]}") from error
