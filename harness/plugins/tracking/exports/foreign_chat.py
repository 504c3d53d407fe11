"""Requests and answers of an agent's own process in the shape of chat completions, whichever interface it spoke.

Reasoning has no place in that shape and is left out. A part that has none either (a document, an item that the provider
keeps) stays as it is, so that whoever checks the result refuses it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.api import CodecError, JsonObject, RetryableError, dumps, loads
from harness.api.endpoints import events_in, frame_of, mappings, provider_of, read_any, tools_of, was_streamed

_THOUGHT = ("reasoning", "thinking", "redacted_thinking")
_KEPT = ("previous_response_id", "conversation", "prompt")
"""Of the Responses API: what names messages that the provider keeps."""
_ENDS: Mapping[str, str] = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls"}


class Unreadable(ValueError):
    """It is not a request or answer of that interface."""


class KeptElsewhere(Unreadable):
    """Part of what the model saw is kept by the provider, so that nobody else knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignAnswer:
    text: str
    calls: tuple[JsonObject, ...]
    finish_reason: str
    """`stop` or `tool_calls`, or why it was cut short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its answer, without what only the interface that was spoken knows."""

    messages: Sequence[JsonObject]
    tools: Sequence[JsonObject]
    answer: JsonObject
    finish_reason: str
    """As that of `ForeignAnswer`."""


def exchange_of(interface: str, body: bytes, content: bytes) -> Exchange:
    """Raises: Unreadable: One of the two is not of the interface, or the answer was cut off."""
    try:
        messages, tools = request_of(interface, body)
        messages = [chat_message(one) for one in messages]
        answer = answer_of(interface, content)
    except (TypeError, AttributeError) as error:
        raise Unreadable(str(error)) from error
    said = answer_message(answer.text, answer.calls)
    return Exchange(messages=messages, tools=tools, answer=said, finish_reason=answer.finish_reason)


def request_of(interface: str, body: bytes) -> tuple[list[JsonObject], list[JsonObject]]:
    """The messages and the functions of a request.

    Raises:
        Unreadable: The body is not one of the interface.
        KeptElsewhere: It does not have all messages.
    """
    try:
        sent = loads(body)
        match interface:
            case "chat":
                messages = list(sent["messages"])
            case "messages":
                messages = [*_system(sent.get("system")), *_of_messages(sent["messages"])]
            case _:
                if kept := [name for name in _KEPT if sent.get(name)]:
                    raise KeptElsewhere(f"a request of the agent's process with {kept[0]}: the provider keeps a part")
                messages = [*_system(sent.get("instructions")), *_of_input(sent["input"])]
        return messages, tools_of(frame_of(interface, body))
    except (CodecError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(str(error)) from error


def answer_of(interface: str, content: bytes) -> ForeignAnswer:
    """Raises: Unreadable: The content is not an answer of the interface, or was cut off."""
    try:
        if interface == "messages":
            return _message(_joined(events_in(content)) if was_streamed(content) else loads(content))
        answer = read_any(provider_of(interface), content)
    except (CodecError, RetryableError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(str(error)) from error
    calls = (_call(call.id, call.name, call.arguments) for call in answer.tool_calls)
    return ForeignAnswer(text=answer.text, calls=tuple(calls), finish_reason=answer.finish_reason)


def answer_message(text: str, calls: Sequence[JsonObject]) -> JsonObject:
    answer: JsonObject = {"role": "assistant", "content": text or None if calls else text}
    return answer | {"tool_calls": list(calls)} if calls else answer


def chat_message(sent: JsonObject) -> JsonObject:
    """A message of a prompt without what only the interface that was spoken knows."""
    message = {key: sent[key] for key in ("role", "name", "content", "tool_call_id") if sent.get(key) is not None}
    content = message.get("content")
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        message["content"] = "\n".join(str(part.get("text", "")) for part in content)
    if calls := sent.get("tool_calls"):
        message["tool_calls"] = [
            {"id": call.get("id"), "type": "function", "function": call.get("function")}
            if isinstance(call, dict)
            else call  # `fault_of` says that it is not a call
            for call in (calls if isinstance(calls, list) else [calls])
        ]
        message["content"] = message.get("content") or None
    return message


def _call(name: Any, function: Any, arguments: Any) -> JsonObject:
    return {"id": name, "type": "function", "function": {"name": function, "arguments": arguments}}


def _system(text: Any) -> Iterator[JsonObject]:
    if text:
        yield {"role": "system", "content": text if isinstance(text, str) else list(map(_part, text))}


def _of_messages(messages: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Of the Messages API: results are parts of what the user says."""
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            yield {"role": message["role"], "content": content}
        elif message["role"] == "assistant":
            yield _spoken(content)
        else:
            results = [one for one in content if one.get("type") == "tool_result"]
            shown: list[JsonObject] = []
            for one in results:
                inner = one.get("content") or ""
                parts = [{"type": "text", "text": inner}] if isinstance(inner, str) else list(map(_part, inner))
                texts = [part["text"] for part in parts if part["type"] == "text"]
                shown += [part for part in parts if part["type"] != "text"]
                yield {"role": "tool", "tool_call_id": one["tool_use_id"], "content": "\n".join(texts)}
            if said := [*shown, *(_part(one) for one in content if one.get("type") != "tool_result")]:
                yield {"role": "user", "content": said}


def _spoken(content: Iterable[Mapping[str, Any]]) -> JsonObject:
    """An answer as the Messages API has it in a conversation."""
    blocks = [one for one in content if one.get("type") not in _THOUGHT]
    calls = [
        _call(one["id"], one["name"], dumps(one["input"]).decode()) for one in blocks if one.get("type") == "tool_use"
    ]
    parts = [_part(one) for one in blocks if one.get("type") != "tool_use"]
    return {"role": "assistant", "content": parts or None, **({"tool_calls": calls} if calls else {})}


def _of_input(items: Any) -> Iterator[JsonObject]:
    """Of the Responses API: calls and their results are items beside the messages."""
    if isinstance(items, str):
        yield {"role": "user", "content": items}
        return
    spoken: JsonObject | None = None
    for item in (one for one in items if one.get("type") not in _THOUGHT):
        if item.get("type") == "function_call":
            spoken = spoken or {"role": "assistant", "content": None}
            call = _call(item["call_id"], item["name"], item["arguments"])
            spoken["tool_calls"] = [*spoken.get("tool_calls", ()), call]
            continue
        if spoken is not None:
            yield spoken
            spoken = None
        if item.get("type") == "function_call_output":
            output = item["output"]
            yield {
                "role": "tool",
                "tool_call_id": item["call_id"],
                "content": output if isinstance(output, str) else list(map(_part, output)),
            }
        elif item.get("role") == "assistant":
            content = item["content"]
            spoken = {
                "role": "assistant",
                "content": content if isinstance(content, str) else list(map(_part, content)),
            }
        else:
            content = item["content"]
            yield {"role": item["role"], "content": content if isinstance(content, str) else list(map(_part, content))}
    if spoken is not None:
        yield spoken


def _part(part: Mapping[str, Any]) -> JsonObject:
    match part:
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "input_image", "image_url": str(url)}:
            return _picture(url)
        case {"type": "image", "source": {"type": "base64", "media_type": str(media_type), "data": str(data)}}:
            return _picture(f"data:{media_type};base64,{data}")
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            return _picture(url)
    return dict(part)


def _picture(url: str) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": url}}


def _message(answer: JsonObject) -> ForeignAnswer:
    """An answer of the Messages API."""
    if not isinstance(answer.get("content"), list):
        raise Unreadable("it has no content")
    said = _spoken(mappings(answer["content"]))
    reason = str(answer.get("stop_reason") or "")
    return ForeignAnswer(
        text="".join(part.get("text", "") for part in said["content"] or ()),
        calls=tuple(said.get("tool_calls", ())),
        finish_reason=_ENDS.get(reason, reason),
    )


def _joined(events: Iterable[JsonObject]) -> JsonObject:
    """The message that the events of the Messages API add up to.

    Raises:
        Unreadable: It was cut off.
    """
    blocks: dict[Any, JsonObject] = {}
    reason, ended = None, False
    for event in events:
        match event:
            case {"type": "content_block_start", "content_block": dict(begun)}:
                blocks[event.get("index")] = {**begun, "said": ""}
            case {"type": "content_block_delta", "delta": dict(delta)} if event.get("index") in blocks:
                more = delta.get("text") or delta.get("partial_json") or ""
                blocks[event.get("index")]["said"] += more
            case {"type": "message_delta", "delta": dict(changed)}:
                reason = changed.get("stop_reason") or reason
            case {"type": "message_stop"}:
                ended = True
    if not ended:
        raise Unreadable("the streamed answer was cut off")
    return {"content": list(map(_block, blocks.values())), "stop_reason": reason}


def _block(block: JsonObject) -> JsonObject:
    said = block.pop("said")
    if block.get("type") == "tool_use":
        return {**block, "input": loads(said.encode()) if said else block.get("input", {})}
    return {**block, "text": block.get("text", "") + said} if block.get("type") == "text" else block
