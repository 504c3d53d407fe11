"""OpenEnv's WebSocket: one socket is one session is one environment."""

import asyncio
import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from harness.api import HarnessError
from harness.errors import said_by
from harness.plugins.environments.play import Session
from harness.plugins.environments.problem import (
    INVALID_JSON,
    UNKNOWN_TYPE,
    VALIDATION_ERROR,
    Problem,
)
from harness.plugins.environments.requests import read_reset, read_step
from harness.plugins.environments.rpc import Tools
from harness.plugins.environments.sessions import Environments
from harness.plugins.environments.turn import Turn
from harness.plugins.environments.views import result

logger = logging.getLogger(__name__)

_AHEAD = 8
"""Frames that are read before the ones before are answered; more wait in the network."""
_SEND_S = 30.0
"""A client that takes longer to read an answer is gone."""
GOING_AWAY, NORMAL, INTERNAL_ERROR = 1001, 1000, 1011


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone(Exception):
    """The session has ended."""

    code: int = NORMAL


class SocketSession:
    """Answers the frames of one socket, one after the other."""

    def __init__(
        self, socket: WebSocket, environments: Environments, tools: Tools, *, browsergym: bool, plain: bool
    ) -> None:
        """
        Args:
            socket: Accepted already.
            environments: Those of the server.
            tools: Answers frames of MCP.
            browsergym: Whether observations have BrowserGym's keys, too.
            plain: Whether frames are JSON-RPC themselves (`WS /mcp`).
        """
        self._socket = socket
        self._environments = environments
        self._tools = tools
        self._browsergym = browsergym
        self._plain = plain
        self._ended: asyncio.Future[Problem] = asyncio.get_running_loop().create_future()
        self._session = Session(ends=self._end)
        self._frames: asyncio.Queue[str | bytes | None] = asyncio.Queue(_AHEAD)

    async def serve(self) -> None:
        """Until either side ends the session."""
        reading = asyncio.create_task(self._read())
        working = asyncio.create_task(self._work())
        try:
            await asyncio.wait((reading, working, self._ended), return_when=asyncio.FIRST_COMPLETED)
            if self._ended.done():
                await self._say("error", self._ended.result().data())
                await self._close(GOING_AWAY)
        finally:
            for task in (reading, working):
                task.cancel()
            ends = await asyncio.gather(reading, working, return_exceptions=True)
            self._environments.lost(self._session)
            for error in ends:
                if isinstance(error, Exception):
                    logger.error("a session has ended with an internal error", exc_info=error)
                    await self._say_fault(error)
                    await self._close(INTERNAL_ERROR)

    async def _say_fault(self, error: Exception) -> None:
        """So that a client masks the sample and does not wait for its answer."""
        if not self._plain:
            with suppress(Gone):
                problem = Problem.infrastructure(type(error).__name__, said_by(error)[:1000])
                await self._say("error", problem.data())

    def _end(self, problem: Problem) -> None:
        if not self._ended.done():
            self._ended.set_result(problem)

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            await self._frames.put(message.get("text") or message.get("bytes") or b"")

    async def _work(self) -> None:
        with suppress(Gone):
            while True:
                kind, data = "error", dict[str, Any]()
                frame = await self._frames.get()
                if self._plain:
                    if (said := await self._tools.answer(_read_json(frame), self._session)) is not None:
                        await self._send(said)
                    continue
                try:
                    kind, data = await self._answered(frame)
                except Problem as problem:
                    data = problem.data()
                except HarnessError as error:
                    data = Problem.infrastructure(type(error).__name__, said_by(error)[:1000]).data()
                except OSError as error:
                    data = Problem.infrastructure("StorageError", str(error.strerror)).data()
                await self._say(kind, data)

    async def _answered(self, frame: str | bytes | None) -> tuple[str, dict[str, Any]]:
        kind, data = _read_frame(frame)
        match kind:
            case "reset":
                return "observation", self._shown(await self._environments.reset(self._session, read_reset(data)))
            case "step":
                request = read_step(data, self._environments.action_set)
                return "observation", self._shown(await self._environments.step(self._session, request))
            case "state":
                return "state", await self._environments.state(self._session)
            case "mcp":
                return "mcp", await self._tools.answer(data, self._session) or {}  # each frame has its answer
            case "close":
                self._environments.give_up(self._session, "the client closed the session")
                await self._close(NORMAL)
                raise Gone
            case _:
                raise Problem(
                    UNKNOWN_TYPE, f"there is no message of type {str(kind)[:80]!r}; use reset, step, state, mcp, close"
                )

    def _shown(self, turn: Turn) -> dict[str, Any]:
        return result(turn, browsergym=self._browsergym)

    async def _say(self, kind: str, data: dict[str, Any]) -> None:
        await self._send({"type": kind, "data": data})

    async def _send(self, answer: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(_SEND_S):
                await self._socket.send_text(json.dumps(answer))
        except (TimeoutError, WebSocketDisconnect, RuntimeError, OSError) as error:
            raise Gone from error

    async def _close(self, code: int) -> None:
        with suppress(RuntimeError, WebSocketDisconnect, OSError):
            await self._socket.close(code)


def _read_json(frame: str | bytes | None) -> object:
    """None = it is not JSON."""
    try:
        return json.loads(frame or b"")
    except (ValueError, RecursionError):
        return None


def _read_frame(frame: str | bytes | None) -> tuple[object, object]:
    try:
        message = json.loads(frame or b"")
    except (ValueError, RecursionError) as error:
        raise Problem(INVALID_JSON, f"the message is not JSON: {str(error)[:200]}") from error
    if not isinstance(message, dict) or "type" not in message:
        raise Problem(VALIDATION_ERROR, 'a message is an object with "type" and "data"')
    return message["type"], message.get("data", {})
