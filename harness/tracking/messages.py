"""One chat message, of whatever kind it came, as the five flat values of ART's parquet format.

Never a failed call because of content: what is no text (images, audio, other parts) becomes a short note in its place.
Choices, as the model under training spoke them, are marked trainable; what else they carry (logprobs, refusals, finish
reasons) has no column in the format and is left out.
"""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, NamedTuple

from harness.codec import CodecError, dumps
from harness.errors import TrackingError


class Flat(NamedTuple):
    """A row of the message struct, in the order of its fields."""

    role: str | None
    content: str | None
    tool_calls: str | None
    """JSON array."""
    tool_call_id: str | None
    trainable: bool


def flat(message: Any, place: str) -> Flat:
    """The flat form of a dict, a pydantic object or a dataclass with the keys of a chat message, or of a choice."""
    tree = message if type(message) is dict else mapping_of(message, place)
    if "finish_reason" in tree:
        inner = tree.get("message") or {}
        tree = inner if type(inner) is dict else mapping_of(inner, place)
        return _flat(tree, place, None, True)
    return _flat(tree, place, tree.get("tool_call_id"), False)


def _flat(tree: Mapping[str, Any], place: str, tool_call_id: Any, trainable: bool) -> Flat:
    role, content, calls = tree.get("role"), tree.get("content"), tree.get("tool_calls")
    return Flat(
        role if role is None or type(role) is str else str(role),
        content if content is None or type(content) is str else text_of(content),
        json_text(calls, f"{place}: tool_calls") if calls else None,
        tool_call_id if tool_call_id is None or type(tool_call_id) is str else str(tool_call_id),
        trainable,
    )


def mapping_of(message: Any, place: str) -> Mapping[str, Any]:
    if isinstance(message, Mapping):
        return message
    if is_dataclass(message) and not isinstance(message, type):
        return asdict(message)
    for name in ("model_dump", "to_dict"):
        if callable(dump := getattr(message, name, None)):
            return dict(dump())
    raise TrackingError(f"{place} is a {type(message).__name__}: give a dict with role and content, or a choice")


def text_of(content: Any) -> str:
    """Content parts as text; what is no text leaves a note where it was."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return _loosely(content)
    return "\n".join(_part(part) for part in content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return _loosely(part)
    for key in ("text", "refusal"):
        if isinstance(text := part.get(key), str):
            return text
    kind = str(part.get("type") or "unknown").removeprefix("input_").removesuffix("_url")
    return f"[{kind}]"


def json_text(value: Any, place: str) -> str:
    """`value` as JSON; TrackingError when it is none."""
    try:
        return dumps(_plain(value)).decode()
    except (CodecError, RecursionError) as exc:
        raise TrackingError(f"{place} cannot be written as JSON ({exc}); use text, numbers, booleans and null") from exc


def _loosely(value: Any) -> str:
    try:
        return dumps(_plain(value)).decode()
    except (CodecError, RecursionError):
        return f"[{type(value).__name__}]"


def _plain(value: Any) -> Any:
    """Pydantic objects within JSON, as OpenAI's tool calls are."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.model_dump(mode="json") if callable(getattr(value, "model_dump", None)) else value
