"""Chat completions as HTTP answers, whole, streamed, or broken on purpose.

There is no clock and no random id in an answer: the same request gives the same bytes. Token counts are a quarter of
the characters, rounded up.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from harness.codec import dumps, loads
from harness.demo.model.fault_injection import Fault

MODEL = "scripted"
REASONING = ("gpt-5", "o1", "o3", "o4")
"""Models whose names begin so are as strict as OpenAI's."""
UNPARSEABLE = "I would rather not write an action this time."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """The part of a request's body that an answer depends on."""

    model: str
    messages: tuple[Mapping[str, Any], ...]
    stream: bool
    include_usage: bool
    digest: str
    """sha256 of the body; names the answer."""
    unsupported: str | None
    """A parameter that models of this name refuse; None = there is none."""


def read_chat_request(raw: bytes, digest: str) -> ChatRequest | None:
    """None when the body is not a chat request."""
    try:
        body = loads(raw)
    except ValueError:
        return None
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return None
    options = body.get("stream_options")
    return ChatRequest(
        model=str(body.get("model") or MODEL),
        messages=tuple(messages),
        stream=bool(body.get("stream")),
        include_usage=isinstance(options, dict) and bool(options.get("include_usage")),
        digest=digest,
        unsupported=_unsupported(body),
    )


def _unsupported(body: Mapping[str, Any]) -> str | None:
    """OpenAI's reasoning models take no temperature but 1, no top_p, and call their limit otherwise."""
    if not str(body.get("model")).startswith(REASONING):
        return None
    strange = {name for name in ("max_tokens", "top_p") if body.get(name) is not None}
    if body.get("temperature") not in (None, 1, 1.0):
        strange.add("temperature")
    return min(strange, default=None)


def complete(request: ChatRequest, text: str) -> Response:
    """The answer, as one JSON object or as server-sent events."""
    if request.stream:
        return StreamingResponse(_events(request, text), media_type="text/event-stream")
    return JSONResponse(_whole(request, text))


def refuse(
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """An error in OpenAI's shape."""
    kind = "server_error" if status >= 500 else "rate_limit_exceeded" if status == 429 else "invalid_request_error"
    error = {"message": message, "type": kind, "param": param, "code": code}
    return JSONResponse({"error": error}, status_code=status, headers=headers)


def spoil(request: ChatRequest, text: str, fault: Fault) -> Response:
    """The answer with a fault in it; `slow` has done its harm before."""
    if fault.status is not None:
        headers = {"retry-after": f"{fault.retry_after:g}"} if fault.retry_after is not None else None
        return refuse(fault.status, f"injected fault {fault.do}", headers=headers)
    content = dumps(_whole(request, text))
    match fault.do:
        case "hang":
            return _Hang()
        case "cut":
            return _Cut(content, media_type="application/json")
        case "malformed":
            return Response(content[: len(content) // 2], media_type="application/json")
        case "empty":
            return JSONResponse(_whole(request, text) | {"choices": []})
        case _:
            return complete(request, UNPARSEABLE if fault.do == "unparseable" else text)


def _frame(request: ChatRequest) -> dict[str, Any]:
    return {"id": f"chatcmpl-{request.digest[:24]}", "created": 0, "model": request.model}


def _whole(request: ChatRequest, text: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = _usage(request.messages, text)
    return {**_frame(request), "object": "chat.completion", "choices": [choice], "usage": usage}


async def _events(request: ChatRequest, text: str) -> AsyncIterator[bytes]:
    frame = {**_frame(request), "object": "chat.completion.chunk"}

    def event(delta: dict[str, str], finish: str | None = None) -> bytes:
        return _event({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield event({"role": "assistant", "content": ""})
    for start in range(0, len(text), 16):
        yield event({"content": text[start : start + 16]})
    yield event({}, "stop")
    if request.include_usage:
        yield _event({**frame, "choices": [], "usage": _usage(request.messages, text)})
    yield b"data: [DONE]\n\n"


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + dumps(data) + b"\n\n"


def _usage(messages: Sequence[Mapping[str, Any]], text: str) -> dict[str, int]:
    prompt = sum(_tokens(str(message.get("content", ""))) for message in messages)
    completion = _tokens(text)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _tokens(text: str) -> int:
    return -(-len(text) // 4)


class _Hang(Response):
    """Never answers; ends when the client goes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


class _Cut(Response):
    """Promises a whole body, sends half of it and leaves: the server then drops the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        half = bytes(self.body[: len(self.body) // 2])
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": half, "more_body": True})
