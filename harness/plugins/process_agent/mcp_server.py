"""The actions as tools of an MCP server: the part of the protocol that a client of tools needs, over streamable HTTP.

Each message is one POST, and there is no session: `initialize`, `ping`, `tools/list` and `tools/call`. A call is
answered as a stream of events, which is kept open with comments, so that a slow page does not look like a dead server.

Source: https://modelcontextprotocol.io/specification/2025-06-18/basic/transports.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from harness import __version__
from harness.api import CodecError, JsonObject, dumps, loads
from harness.plugins.process_agent.browser_boundary import BrowserBoundary
from harness.plugins.process_agent.events import Inbox, SessionOver
from harness.plugins.process_agent.intake import Share

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_STREAM = "text/event-stream"
_ALIVE_S = 5.0
_INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32600, -32601, -32602


class McpServer:
    """The MCP server of one episode."""

    def __init__(self, browser: BrowserBoundary, inbox: Inbox) -> None:
        self._browser = browser
        self._inbox = inbox

    async def answer(self, body: bytes, accepts: str, share: Share) -> Response:
        """Answer one message.

        Args:
            body: The message.
            accepts: Kinds of answers that the client takes.
            share: What the message counts as.
        Raises:
            CodecError: It is not JSON.
        """
        message = loads(body)
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return JSONResponse(_error(None, _INVALID_REQUEST, "one JSON-RPC request is expected"), status_code=400)
        if "id" not in message:  # a notification
            return Response(status_code=202)
        if type(message["id"]) not in (int, str):  # it is sent back
            return JSONResponse(_error(None, _INVALID_REQUEST, "an id is a number or a text"), status_code=400)
        if message["method"] != "tools/call":
            return JSONResponse(self._said(message))
        call = asyncio.create_task(self._called(message))
        kept = share.handed_over()  # the client may hang up, and the call goes on
        call.add_done_callback(lambda _: kept.give(kept.held))
        if _STREAM not in accepts:
            return JSONResponse(await call)
        return StreamingResponse(_events(call), media_type=_STREAM, headers={"cache-control": "no-cache"})

    def _said(self, message: JsonObject) -> JsonObject:
        match message["method"]:
            case "initialize":
                wanted = _params(message).get("protocolVersion")
                return _result(
                    message,
                    {
                        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
                        "capabilities": {"tools": {"listChanged": False}},
                        "serverInfo": {"name": "cairn", "version": __version__},
                    },
                )
            case "ping":
                return _result(message, {})
            case "tools/list":
                tools = [
                    {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
                    for tool in self._browser.tools
                ]
                return _result(message, {"tools": tools})
        return _error(message["id"], _NO_METHOD, f"there is no method {str(message['method'])[:80]!r}")

    async def _called(self, message: JsonObject) -> JsonObject:
        params = _params(message)
        name, arguments = params.get("name"), params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return _error(message["id"], _INVALID_PARAMS, "a call needs a name, and its arguments as an object")
        try:
            result = await self._inbox.work(self._browser.call(name, arguments))
        except SessionOver as error:
            return _result(message, {"content": [{"type": "text", "text": str(error)}], "isError": True})
        except CodecError as error:
            return _error(message["id"], _INVALID_PARAMS, str(error))
        return _result(message, result.as_mcp())


async def _events(call: "asyncio.Task[JsonObject]") -> AsyncIterator[bytes]:
    while not call.done():
        await asyncio.wait([call], timeout=_ALIVE_S)
        if not call.done():
            yield b": working\n\n"
    yield b"event: message\ndata: " + dumps(call.result()) + b"\n\n"


def _params(message: JsonObject) -> JsonObject:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _result(message: JsonObject, result: Any) -> JsonObject:
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _error(number: Any, code: int, said: str) -> JsonObject:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": said}}
