"""JSON-RPC 2.0 over the same sessions: the actions as tools of MCP, with OpenEnv's own session calls."""

import asyncio
import base64
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from harness.api import HarnessError, description_of, parameters_of
from harness.errors import said_by
from harness.plugins.environments.agent import actions_of
from harness.plugins.environments.play import Session
from harness.plugins.environments.problem import SESSION_ERROR, VALIDATION_ERROR, Problem
from harness.plugins.environments.requests import Reset, StepRequest, read_call, read_reset
from harness.plugins.environments.sessions import Environments
from harness.plugins.environments.turn import Turn
from harness.plugins.environments.views import result

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, SERVER_ERROR = -32700, -32600, -32601, -32602, -32000
_PROTOCOL = "2025-06-18"
_ABOUT = {"protocolVersion": _PROTOCOL, "capabilities": {"tools": {}}}
_NOTIFICATION = "notifications/"
Method = Callable[[Mapping[str, Any]], Awaitable[Any]]


class NotFound(Exception):
    """There is no method of this name."""


@dataclass(eq=False)
class _Named:
    session: Session
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One request at a time."""


class NamedSessions:
    """Sessions without a socket: each request names its own."""

    def __init__(self, environments: Environments) -> None:
        self._environments = environments
        self._sessions: dict[str, _Named] = {}

    async def begin(self, wanted: Reset, is_gone: Callable[[], Awaitable[bool]] | None) -> tuple[str, Turn]:
        """A session with its first page.

        Args:
            wanted: Its episode.
            is_gone: Whether the client has left, so that nobody will know the name; None = this is cancelled then.
        Raises:
            Problem: There is none.
        """
        name = uuid.uuid4().hex
        session = Session(ends=lambda problem: self._forget(name))
        with ExitStack() as undone:  # a socket that is lost cancels the request
            undone.callback(self._environments.give_up, session, "its client is gone")
            turn = await self._environments.reset(session, wanted)
            undone.pop_all()
        over = [other for other, one in self._sessions.items() if one.session.play is None or one.session.play.over]
        for other in over[: -self._environments.slots.number]:  # the newest may still ask for their rewards
            self._forget(other)
        self._sessions[name] = _Named(session)
        if is_gone is not None and await is_gone():
            self.close(name)
        return name, turn

    async def step(self, name: object, request: StepRequest) -> Turn:
        """Perform an action in a session. Raises: Problem: It is not performed."""
        named = self._named(name)
        async with named.turn:
            return await self._environments.step(named.session, request)

    def close(self, name: object) -> bool:
        """Give a session back; False = there is none of this name."""
        if not isinstance(name, str) or name not in self._sessions:
            return False
        self._environments.give_up(self._sessions[name].session, "the client closed the session")
        self._forget(name)
        return True

    def _named(self, name: object) -> _Named:
        if not isinstance(name, str):
            raise Problem(VALIDATION_ERROR, "the session is missing; begin one first")
        if name not in self._sessions:
            raise Problem(SESSION_ERROR, "there is no such session; it was closed, or its episode was given back")
        return self._sessions[name]

    def _forget(self, name: str) -> None:
        self._sessions.pop(name, None)


async def answered(request: object, methods: Callable[[str], Method]) -> dict[str, Any]:
    """The response to one request; whatever is wrong is an error in it.

    Args:
        request: As decoded from JSON: anything at all.
        methods: Name to method. Raises NotFound.
    """
    number = request.get("id") if isinstance(request, dict) else None
    number = number if isinstance(number, str | int) and not isinstance(number, bool) else None
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0" or not isinstance(request.get("method"), str):
        return _error(number, INVALID_REQUEST, 'a request is an object with "jsonrpc": "2.0" and "method"')
    params = {} if request.get("params") is None else request["params"]
    if not isinstance(params, dict):
        return _error(number, INVALID_PARAMS, "params must be an object")
    try:
        return {"jsonrpc": "2.0", "id": number, "result": await methods(request["method"])(params)}
    except NotFound:
        return _error(number, METHOD_NOT_FOUND, f"there is no method {request['method'][:80]!r}")
    except Problem as problem:
        code = INVALID_PARAMS if problem.code == VALIDATION_ERROR else SERVER_ERROR
        return _error(number, code, str(problem), problem.data())
    except HarnessError as error:
        told = Problem.infrastructure(type(error).__name__, said_by(error)[:1000])
        return _error(number, SERVER_ERROR, str(told), told.data())


def not_json(problem: Problem) -> dict[str, Any]:
    """The response to a body that cannot be read."""
    return _error(None, PARSE_ERROR, str(problem))


def _error(number: object, code: int, message: str, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": number, "error": error}


class Tools:
    """The methods of MCP and of OpenEnv's sessions."""

    def __init__(self, environments: Environments, sessions: NamedSessions) -> None:
        self._environments = environments
        self._sessions = sessions

    async def answer(
        self, request: object, own: Session | None = None, is_gone: Callable[[], Awaitable[bool]] | None = None
    ) -> dict[str, Any] | None:
        """The response; None = it is a notification, which gets none.

        Args:
        request: As decoded from JSON.
        own: The session of the socket it came over, for calls that name no other; None = it came over HTTP.
        is_gone: See `NamedSessions.begin`.
        """

        if isinstance(request, dict) and "id" not in request and str(request.get("method")).startswith(_NOTIFICATION):
            return None

        def found(name: str) -> Method:
            if name == "openenv/session/create":
                return lambda params: self._create(params, is_gone)
            return self._method(name, own)

        return await answered(request, found)

    def _method(self, name: str, own: Session | None) -> Method:
        match name:
            case "initialize":
                return self._initialize
            case "ping":
                return self._ping
            case "tools/list":
                return self._list
            case "tools/call":
                return lambda params: self._call(params, own)
            case "openenv/session/close":
                return self._close
        raise NotFound

    async def _initialize(self, params: Mapping[str, Any]) -> Any:
        return _ABOUT | {"serverInfo": {"name": f"cairn/{self._environments.run.folder.name}", "version": "1"}}

    async def _ping(self, params: Mapping[str, Any]) -> Any:
        return {}

    async def _list(self, params: Mapping[str, Any]) -> Any:
        return {"tools": tools(self._environments)}

    async def _call(self, params: Mapping[str, Any], own: Session | None) -> Any:
        if unknown := sorted(params.keys() - {"name", "arguments", "session_id", "request_id", "_meta"}):
            raise Problem(VALIDATION_ERROR, f"tools/call: {str(unknown[0])[:80]!r} is unknown")
        arguments = params.get("arguments", {})
        if not isinstance(arguments, dict):
            raise Problem(VALIDATION_ERROR, "tools/call: arguments must be an object")
        called, request_id = params.get("name"), params.get("request_id")
        request = read_call(called, arguments, self._environments.action_set, request_id)
        session = params.get("session_id")
        if own is not None and session is None:
            return content(await self._environments.step(own, request))
        return content(await self._sessions.step(session, request))

    async def _create(self, params: Mapping[str, Any], is_gone: Callable[[], Awaitable[bool]] | None) -> Any:
        name, turn = await self._sessions.begin(read_reset(dict(params)), is_gone)
        return {"session_id": name, **result(turn)}

    async def _close(self, params: Mapping[str, Any]) -> Any:
        name = params.get("session_id")
        if not self._sessions.close(name):
            raise Problem(VALIDATION_ERROR, "there is no such session, or it is closed already")
        return {"session_id": name, "closed": True}


def tools(environments: Environments) -> list[dict[str, Any]]:
    """The actions as MCP's tools; [] = this action set is written as text only."""
    return [
        {"name": action.kind, "description": description_of(action), "inputSchema": parameters_of(action)}
        for action in actions_of(environments.action_set)
    ]


def content(turn: Turn) -> dict[str, Any]:
    """A turn as MCP's result of a tool."""
    seen: list[dict[str, Any]] = [{"type": "text", "text": turn.page.text}]
    if turn.told:
        seen.insert(0, {"type": "text", "text": turn.told})
    if turn.image is not None:
        seen.append({"type": "image", "mimeType": "image/png", "data": base64.b64encode(turn.image).decode()})
    return {"content": seen, "isError": bool(turn.refused), "structuredContent": result(turn)}
