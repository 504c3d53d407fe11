"""Chat completions on the wire.

There is no clock and no random id in an answer: the same request gives the same bytes, but for what the cache counts.
"""

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any

from harness.api import JsonObject, dumps
from harness.plugins.demo.model.conversation import (
    Answer,
    Conversation,
    Ending,
    ScriptedCall,
    spoken,
    unanswered,
    unsupported,
)
from harness.plugins.demo.model.prompt_cache import CachedPrompt, Segment
from harness.plugins.demo.model.token_bytes import prompt, said_text, sampled

MODEL = "scripted"
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class ChatFormat:
    """Fits `WireFormat`."""

    def read(self, body: JsonObject, digest: str) -> Conversation | None:
        """See `WireFormat.read`."""
        messages, options, tools = body.get("messages"), body.get("stream_options"), body.get("tools") or []
        if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
            return None
        parameter = unsupported(body, ("max_tokens", "logprobs", "return_token_ids"))
        return Conversation(
            model=str(body.get("model") or MODEL),
            messages=tuple(messages),
            tools=tuple(tool["function"] for tool in tools if isinstance(tool, dict) and "function" in tool),
            segments=tuple(Segment(text=text) for text in _texts(tools, messages)),
            digest=digest,
            refused=not_supported(parameter) or unanswered(messages),
            refused_parameter=parameter,
            wants_token_ids=body.get("return_token_ids") is True,
            wants_logprobs=body.get("logprobs") is True,
            stream=bool(body.get("stream")),
            include_usage=isinstance(options, dict) and bool(options.get("include_usage")),
        )

    def whole(self, asked: Conversation, answer: Answer, cached: CachedPrompt, ending: Ending) -> JsonObject:
        """See `WireFormat.whole`."""
        message: JsonObject = {"role": "assistant", "content": answer.text if answer.text or not answer.calls else None}
        if answer.calls:
            message["tool_calls"] = [_call(asked, number, call) for number, call in enumerate(answer.calls)]
        if ending is Ending.refusal:
            message |= {"content": None, "refusal": answer.text}
        finish = "length" if ending is Ending.length else "tool_calls" if answer.calls else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish, **sampled(said_text(answer), asked)}
        usage = _usage(answer, cached)
        body = {**_frame(asked), "object": "chat.completion", "choices": [choice], "usage": usage}
        return body | prompt(asked)

    def empty(self, asked: Conversation) -> JsonObject:
        """See `WireFormat.empty`."""
        return {**_frame(asked), "object": "chat.completion", "choices": []}

    def error(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> JsonObject:
        """See `WireFormat.error`."""
        return openai_error(status, message, code=code, param=param)


def openai_error(status: int, message: str, *, code: str | None = None, param: str | None = None) -> JsonObject:
    kind = "server_error" if status >= 500 else "rate_limit_exceeded" if status == 429 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def not_supported(parameter: str | None) -> str:
    """OpenAI's sentence about a parameter."""
    return "" if parameter is None else f"Unsupported parameter: '{parameter}' is not supported with this model."


def call_id(asked: Conversation, number: int) -> str:
    return f"call_{asked.digest[:20]}_{number}"


async def events(asked: Conversation, answer: Answer, cached: CachedPrompt) -> AsyncIterator[bytes]:
    """The answer as server-sent events; calls are not streamed."""
    frame = {**_frame(asked), "object": "chat.completion.chunk"}

    def event(delta: dict[str, str], finish: str | None = None, more: Mapping[str, Any] = _NOTHING) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, **sampled(delta.get("content", ""), asked)}
        return _event({**frame, "choices": [choice], **more})

    yield event({"role": "assistant", "content": ""}, more=prompt(asked))
    for start in range(0, len(answer.text), 16):
        yield event({"content": answer.text[start : start + 16]})
    yield event({}, "stop")
    if asked.include_usage:
        yield _event({**frame, "choices": [], "usage": _usage(answer, cached)})
    yield b"data: [DONE]\n\n"


def _texts(tools: list[Any], messages: list[Any]) -> list[str]:
    """The prompt's text; what is not content costs nothing."""
    contents = [str(message.get("content", "")) for message in messages]
    called = [str(message["tool_calls"]) for message in messages if message.get("tool_calls")]
    return ([str(tools)] if tools else []) + contents + called


def _call(asked: Conversation, number: int, call: ScriptedCall) -> JsonObject:
    function = {"name": call.name, "arguments": dumps(call.arguments).decode()}
    return {"id": call_id(asked, number), "type": "function", "function": function}


def _frame(asked: Conversation) -> JsonObject:
    return {"id": f"chatcmpl-{asked.digest[:24]}", "created": 0, "model": asked.model}


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + dumps(data) + b"\n\n"


def _usage(answer: Answer, cached: CachedPrompt) -> JsonObject:
    completion = spoken(answer)
    return {
        "prompt_tokens": cached.total,
        "completion_tokens": completion,
        "total_tokens": cached.total + completion,
        "prompt_tokens_details": {"cached_tokens": cached.read},
    }
