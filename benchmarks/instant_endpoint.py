"""An endpoint that answers at once, in a process of its own: chat completions, Responses and Messages, streamed or not.

Run: `python -m benchmarks.instant_endpoint`. It prints its port, and ends with its standard input. It reads no more of
a request than its length, its path and whether it asks for a stream, so that what it takes itself is small.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

MODEL = "instant"
_USAGE = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
_COUNTED = {"input_tokens": 10, "output_tokens": 3}


def _events(events: Iterable[Any], last: str = "") -> bytes:
    return ("".join(f"{_named(one)}data: {json.dumps(one)}\n\n" for one in events) + last).encode()


def _named(event: Any) -> str:
    return f"event: {event['type']}\n" if "type" in event else ""


def _chat() -> tuple[Any, bytes]:
    identity = {"id": "c1", "created": 0, "model": MODEL}
    message = {"role": "assistant", "content": "so it is"}
    whole = {**identity, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": _USAGE}
    parts = [
        {**identity, "choices": [{"index": 0, "delta": {"content": part}, "finish_reason": None}]}
        for part in ("so ", "it ", "is")
    ]
    end = {**identity, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": _USAGE}
    return whole, _events([*parts, end], "data: [DONE]\n\n")


def _response() -> tuple[Any, bytes]:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so it is"}]}
    whole = {"id": "r1", "status": "completed", "model": MODEL, "output": [said], "usage": _COUNTED}
    parts = [{"type": "response.output_text.delta", "delta": part} for part in ("so ", "it ", "is")]
    return whole, _events([*parts, {"type": "response.completed", "response": whole}])


def _message() -> tuple[Any, bytes]:
    begun = {"id": "m1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": _COUNTED}
    ended = {"stop_reason": "end_turn"}
    whole = {**begun, "content": [{"type": "text", "text": "so it is"}], **ended}
    parts = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
        for part in ("so ", "it ", "is")
    ]
    last = [{"type": "message_delta", "delta": ended, "usage": _COUNTED}, {"type": "message_stop"}]
    return whole, _events([{"type": "message_start", "message": begun}, *parts, *last])


def _http(body: bytes, kind: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s" % (kind, len(body), body)


_ANSWERS = {
    path: (_http(json.dumps(whole).encode(), b"application/json"), _http(events, b"text/event-stream"))
    for path, (whole, events) in {
        b"/v1/chat/completions": _chat(),
        b"/v1/responses": _response(),
        b"/v1/messages": _message(),
    }.items()
}


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            size = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            body = await reader.readexactly(size)
            path = head.split(b" ", 2)[1]
            writer.write(_ANSWERS[path][b'"stream": true' in body])
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, limit=1 << 20)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)


@asynccontextmanager
async def instant_endpoint() -> AsyncIterator[str]:
    """Its address; it is a process of its own."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, stdin=pipe, stdout=pipe)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        process.stdin.close()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(_serve())
