"""CDP messages: what a client sends, read strictly; what the browser sends, looked at as little as possible. Pure."""

import re
from dataclasses import dataclass
from typing import Any

from harness.api import CodecError, JsonObject, dumps, loads
from harness.plugins.process_agent.intake import TooLarge, check_values

OWN_IDS = 1 << 30
"""Ids from here on are the relay's own."""
PARSE_ERROR, INVALID_REQUEST, SERVER_ERROR, NO_SESSION = -32700, -32600, -32000, -32001
_HEAD = re.compile(rb'\{"(?:id":(\d+)[,}]|method":"(\w+)\.)')
"""How Chromium begins an answer, and an event."""


class NotAllowed(Exception):
    """The command is not passed on; the message says why."""

    def __init__(self, why: str, *, code: int = SERVER_ERROR) -> None:
        super().__init__(why)
        self.code = code


class CommandFailed(Exception):
    """The browser did not perform a command of the relay; the message is the browser's."""


@dataclass(frozen=True, slots=True)
class Request:
    """A command of a client."""

    id: int
    method: str
    params: JsonObject
    session: str
    """"" = that of the connection itself."""


def read(raw: bytes) -> Request:
    """Read a message of a client.

    Raises:
        NotAllowed: It is not a command.
    """
    try:
        check_values(raw)
        tree = loads(raw)
    except (CodecError, TooLarge) as error:
        raise NotAllowed(str(error), code=PARSE_ERROR) from error
    match tree:
        case {"id": int(number), "method": str(method), **rest} if type(number) is int and 0 <= number < OWN_IDS:
            params, session = rest.get("params", {}), rest.get("sessionId", "")
            if isinstance(params, dict) and isinstance(session, str):
                return Request(number, method, params, session)
    raise NotAllowed(
        f"a message must be an object with an id from 0 to {OWN_IDS - 1}, a method, and params as an object",
        code=INVALID_REQUEST,
    )


def text(params: JsonObject, name: str) -> str:
    """A parameter that is a text; "" = it is not there. Raises: NotAllowed: It is something else."""
    value = params.get(name, "")
    if not isinstance(value, str):
        raise NotAllowed(f"{name} must be a text", code=INVALID_REQUEST)
    return value


def result(request: Request, value: JsonObject) -> bytes:
    message: JsonObject = {"id": request.id, "result": value}
    return dumps(message | ({"sessionId": request.session} if request.session else {}))


def failure(why: str, *, code: int, request: Request | None = None) -> bytes:
    message: JsonObject = {"error": {"code": code, "message": why}}
    if request is not None:
        message = {"id": request.id} | message | ({"sessionId": request.session} if request.session else {})
    return dumps(message)


def event(method: str, params: JsonObject) -> bytes:
    return dumps({"method": method, "params": params})


def head(raw: bytes) -> tuple[int | None, str]:
    """The id that a message of the browser answers, or the domain of an event."""
    if found := _HEAD.match(raw):
        number, domain = found.groups()
        return (int(number), "") if number is not None else (None, domain.decode())
    tree: Any = loads(raw)
    number = tree.get("id")
    return number, "" if number is not None else str(tree.get("method", "")).partition(".")[0]


def error_of(answer: JsonObject) -> str:
    """What the browser says is wrong; "" = nothing."""
    error = answer.get("error")
    return str(error.get("message", "an error")) if isinstance(error, dict) else ""
