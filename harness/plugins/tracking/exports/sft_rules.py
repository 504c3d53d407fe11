"""What a line of a file for supervised fine-tuning has to be: the rules that OpenAI documents, as a check of one line.

Source: https://platform.openai.com/docs/guides/supervised-fine-tuning and …/vision-fine-tuning
"""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.api import CodecError, JsonObject, loads

_KEYS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "weight"})
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PICTURES = re.compile(rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|RIFF....WEBP", re.DOTALL)
"""How a PNG, JPEG or WebP begins."""
_MOST_PICTURES, _LARGEST_PICTURE = 64, 10_000_000
_MOST_TOOLS = 128


def fault_of(sample: Mapping[str, Any]) -> str | None:
    """Why a fine-tuning endpoint would refuse a sample; None = it is one."""
    return next(_faults(sample), None)


def _faults(sample: Mapping[str, Any]) -> Iterator[str]:
    messages, tools = sample.get("messages"), sample.get("tools", [])
    if sample.keys() - {"messages", "tools"} or not isinstance(messages, list) or not messages:
        yield "it is not an object with messages"
        return
    if not all(isinstance(one, dict) for one in messages):
        yield "a message is not an object"
        return
    yield from _tool_faults(tools)
    offered = {tool["function"]["name"] for tool in tools}
    for message in messages:
        yield from _message_faults(message, offered)
    yield from _order_faults(messages)
    if messages[-1]["role"] != "assistant":
        yield "it does not end with an answer"
    if not any(one.get("weight", 1) for one in messages if one["role"] == "assistant"):
        yield "it has nothing to learn: each answer has the weight 0"
    pictures = sum(part["type"] == "image_url" for one in messages for part in _parts(one))
    if pictures > _MOST_PICTURES:
        yield f"it has more than {_MOST_PICTURES} pictures"


def _tool_faults(tools: Any) -> Iterator[str]:
    if not isinstance(tools, list) or len(tools) > _MOST_TOOLS:
        yield f"tools are not a list of at most {_MOST_TOOLS}"
        return
    for tool in tools:
        match tool:
            case {"type": "function", "function": {"name": str(name)}} if _NAME.fullmatch(name):
                continue
        yield "a tool is not a function with a name of letters, digits, _ and -"
        return


def _message_faults(message: JsonObject, offered: set[str]) -> Iterator[str]:
    role, calls = message.get("role"), message.get("tool_calls", [])
    if not isinstance(role, str) or role not in _ROLES or message.keys() - _KEYS:
        yield "a message has a role or a key that the format does not have"
        return
    if "weight" in message and (role != "assistant" or message["weight"] not in (0, 1)):
        yield "a weight is not 0 or 1 of an answer"
    if (role == "tool") != isinstance(message.get("tool_call_id"), str):
        yield "a result names no call"
    if not isinstance(message.get("name", ""), str):
        yield "a name is not text"
    if calls and role != "assistant":
        yield "a message that is not an answer has calls"
    yield from _content_faults(role, message.get("content"), has_calls=bool(calls))
    for call in calls:
        yield from _call_faults(call, offered)


def _content_faults(role: str, content: Any, *, has_calls: bool) -> Iterator[str]:
    match content:
        case str() if content or has_calls or role != "assistant":
            return
        case None if has_calls:
            return
        case list() if content:
            for part in content:
                yield from _part_faults(role, part)
            return
    yield "an answer is empty" if role == "assistant" else "a message has no content"


def _part_faults(role: str, part: Any) -> Iterator[str]:
    match part:
        case {"type": "text", "text": str()}:
            return
        case {"type": "image_url", "image_url": {"url": str(url)}} if role == "user":
            yield from _picture_faults(url)
        case {"type": "image_url"}:
            yield f"a message of the role {role} has a picture"
        case _:
            yield "a part of a message is neither a text nor a picture"


def _picture_faults(url: str) -> Iterator[str]:
    if url.startswith(("https://", "http://")):
        return
    try:
        data = b64decode(url.partition(";base64,")[2], validate=True)
    except ValueError:  # `binascii.Error`, or characters that are not ASCII
        data = b""
    if not _PICTURES.match(data):
        yield "a picture is not a PNG, JPEG or WebP"
    elif len(data) > _LARGEST_PICTURE:
        yield f"a picture has more than {_LARGEST_PICTURE // 1_000_000} MB"


def _call_faults(call: Any, offered: set[str]) -> Iterator[str]:
    match call:
        case {"id": str(), "type": "function", "function": {"name": str(name), "arguments": str(arguments)}}:
            if name not in offered:
                yield "an answer calls a function that was not offered"
            elif not _is_object(arguments):
                yield "the arguments of a call are not a JSON object"
        case _:
            yield "a call is not a call of a function"


def _is_object(text: str) -> bool:
    try:
        return isinstance(loads(text.encode("utf-8", "replace")), dict)
    except CodecError:
        return False


def _order_faults(messages: Sequence[JsonObject]) -> Iterator[str]:
    """Each call is answered before anything else is said, and nothing else is."""
    waiting: set[str] = set()
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                yield "a result is of no call before it"
            waiting.discard(str(message.get("tool_call_id")))
            continue
        if waiting:
            yield "a call has no result"
        waiting = {str(call.get("id")) for call in message.get("tool_calls", []) if isinstance(call, dict)}


def _parts(message: JsonObject) -> list[JsonObject]:
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
