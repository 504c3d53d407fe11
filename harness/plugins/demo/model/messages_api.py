"""Anthropic's Messages API on the wire: it demands a limit, and with thinking on, gives and demands signed thoughts."""

import re
from collections.abc import Iterator, Mapping, Sequence
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

MODEL = "scripted"
_WITHOUT_SAMPLING = re.compile(r"claude-(?:opus-4-[78]|[a-z]+-5)")
"""Models that refuse a temperature."""
_TOOLSET = "computer_toolset"


class MessagesFormat:
    """Fits `WireFormat`."""

    def read(self, body: JsonObject, digest: str) -> Conversation | None:
        """See `WireFormat.read`."""
        turns, tools = body.get("messages"), [tool for tool in body.get("tools") or () if isinstance(tool, dict)]
        if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
            return None
        thinks = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
        messages = [*_system(body.get("system")), *(message for turn in turns for message in _messages(turn))]
        return Conversation(
            model=str(body.get("model") or MODEL),
            messages=tuple(messages),
            tools=tuple({**tool, "parameters": tool["input_schema"]} for tool in tools if "input_schema" in tool),
            computer=next((kind for tool in tools if (kind := str(tool.get("type"))).startswith("computer_")), ""),
            segments=tuple(_segments(tools, body.get("system"), turns)),
            digest=digest,
            refused=_refused(body, turns, thinks) or unanswered(messages),
            thinks=thinks,
        )

    def whole(self, asked: Conversation, answer: Answer, cached: CachedPrompt, ending: Ending) -> JsonObject:
        """See `WireFormat.whole`."""
        content: list[JsonObject] = []
        if asked.thinks:
            content.append({"type": "thinking", "thinking": "I follow the plan.", "signature": f"sig-{asked.digest}"})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        content += [_call(asked, number, call) for number, call in enumerate(answer.calls)]
        usage = {
            "input_tokens": cached.total - cached.read - cached.written,
            "cache_read_input_tokens": cached.read,
            "cache_creation_input_tokens": cached.written,
            "output_tokens": spoken(answer),
        }
        ended = {Ending.length: "max_tokens", Ending.refusal: "refusal"}
        stop = ended.get(ending) or ("tool_use" if answer.calls else "end_turn")
        return {**_frame(asked), "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}

    def empty(self, asked: Conversation) -> JsonObject:
        """See `WireFormat.empty`."""
        return _frame(asked)

    def error(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> JsonObject:
        """See `WireFormat.error`."""
        kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
        kind = kinds.get(status) or ("overloaded_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


def _system(system: Any) -> list[JsonObject]:
    return [{"role": "system", "content": _content(system)}] if system else []


def _messages(turn: Mapping[str, Any]) -> Iterator[JsonObject]:
    """A turn as messages of chat completions: results first, then what else there is."""
    role, blocks = turn.get("role"), turn.get("content")
    if not isinstance(blocks, list):
        yield {"role": role, "content": blocks}
        return
    known = [block for block in blocks if isinstance(block, dict)]
    for block in known:
        if block.get("type") == "tool_result":
            content = _content(block.get("content") or "")
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": content}
    calls = [_as_call(block) for block in known if block.get("type") == "tool_use"]
    said = [block for block in known if block.get("type") in ("text", "image")]
    if said or calls:
        yield {"role": role, "content": _content(said), **({"tool_calls": calls} if calls else {})}


def _as_call(block: Mapping[str, Any]) -> JsonObject:
    name, arguments = block.get("name"), block.get("input")
    if block.get("toolset_name"):
        name, arguments = block["toolset_name"], {"action": name, **(arguments or {})}
    function = {"name": name, "arguments": dumps(arguments).decode()}
    return {"id": block.get("id"), "type": "function", "function": function}


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    parts = [_part(block) for block in content if isinstance(block, dict)]
    return parts[0]["text"] if len(parts) == 1 and parts[0].get("type") == "text" else parts


def _part(block: Mapping[str, Any]) -> Mapping[str, Any]:
    match block:
        case {"type": "text", "text": text}:
            return {"type": "text", "text": text}
        case {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}:
            return {"type": "image_url", "image_url": {"url": f"data:{media};base64,{data}"}}
    return block


def _segments(tools: Sequence[Any], system: Any, turns: Sequence[Mapping[str, Any]]) -> Iterator[Segment]:
    """In the order of Anthropic's cache: tools, system, messages."""
    for part in (*tools, *_listed(system), *(block for turn in turns for block in _listed(turn.get("content")))):
        marked = isinstance(part, dict) and "cache_control" in part
        bare = {key: value for key, value in part.items() if key != "cache_control"} if isinstance(part, dict) else part
        yield Segment(text=str(bare), mark=marked)


def _listed(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content] if content else []


def _refused(body: JsonObject, turns: Sequence[Mapping[str, Any]], thinks: bool) -> str:
    """Anthropic's sentence about what is wrong with a request; "" = nothing."""
    return next(_faults(body, turns), "") or (_unsigned(turns) if thinks else "")


def _faults(body: JsonObject, turns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens: Field required"
    sampling = [name for name in ("temperature", "top_p") if body.get(name) is not None]
    strict = _WITHOUT_SAMPLING.search(str(body.get("model"))) is not None
    if (parameter := sampling[0] if sampling and strict else unsupported(body)) is not None:
        yield f"`{parameter}` is not supported for this model."
    if not turns or turns[0].get("role") != "user":
        yield "messages: first message must use the 'user' role"
    if any(turn.get("role") not in ("user", "assistant") for turn in turns):
        yield "messages: roles must be 'user' or 'assistant'"
    blocks = [block for turn in turns for block in _listed(turn.get("content"))]
    if any(isinstance(block, dict) and block.get("type") == "text" and not block.get("text") for block in blocks):
        yield "messages: text content blocks must be non-empty"


def _unsigned(turns: Sequence[Mapping[str, Any]]) -> str:
    """With thinking on, a turn with calls begins with the thought that led to them, signed."""
    for turn in turns:
        kinds = [block.get("type") for block in _listed(turn.get("content")) if isinstance(block, dict)]
        if turn.get("role") == "assistant" and "tool_use" in kinds and kinds[0] != "thinking":
            return "messages: expected `thinking` or `redacted_thinking`, but found `tool_use`"
    return ""


def _call(asked: Conversation, number: int, call: ScriptedCall) -> JsonObject:
    head = {"type": "tool_use", "id": f"toolu_{asked.digest[:20]}_{number}"}
    if call.name == "computer" and asked.computer.startswith(_TOOLSET):
        arguments = dict(call.arguments)
        return {**head, "name": arguments.pop("action"), "toolset_name": "computer", "input": arguments}
    return {**head, "name": call.name, "input": call.arguments}


def _frame(asked: Conversation) -> JsonObject:
    return {"id": f"msg_{asked.digest[:24]}", "type": "message", "role": "assistant", "model": asked.model}
