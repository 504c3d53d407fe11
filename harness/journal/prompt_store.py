"""A chat message as an artifact, and back: text as it was sent, pictures by the hash of their bytes.

A message contains a picture as a data URL. The artifact holds `{"picture": sha256, "media_type": "image/png"}` in its
place, which no message has at the place of an address, and the bytes are a separate artifact: of the screenshot
that an observation names there is one file, however often it was sent. Messages of older runs hold their pictures
themselves and are read as they are.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from harness.api import Artifacts, Message, ToolCall
from harness.codec import CodecError, JsonObject, dumps, loads
from harness.errors import JournalError

_DATA_URL = re.compile(r"data:(image/[a-z0-9.+-]+);base64,")
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF", b"GIF8")
_HELD = {"picture", "media_type"}


class StoredMessages(NamedTuple):
    """What a record names of a prompt."""

    messages: tuple[str, ...]
    """Artifact hashes, in order."""
    pictures: tuple[str, ...]
    """Artifact hashes, each once."""


def put_messages(messages: Sequence[Message], artifacts: Artifacts) -> StoredMessages:
    """Store a prompt; its pictures are on disk before the messages that name them."""
    pictures: dict[str, None] = {}

    def held(text: str) -> Any:
        # In a data URL a picture takes a third more, and takes it once for every request that shows it.
        found = picture_in(text)
        if found is None:
            return text
        media_type, data = found
        pictures[digest := artifacts.put(data)] = None
        return {"picture": digest, "media_type": media_type}

    stored = []
    for message in messages:
        content = message.content if isinstance(message.content, str) else _changed(message.content, held)
        # One artifact for each message: whole bodies would repeat the conversation in every step.
        stored.append(artifacts.put(dumps(_tree(message, content))))
    return StoredMessages(messages=tuple(stored), pictures=tuple(pictures))


def _tree(message: Message, content: Any) -> JsonObject:
    """The message in the shape of chat completions."""
    tree: JsonObject = {"role": message.role}
    if message.name is not None:
        tree["name"] = message.name
    tree["content"] = content
    if message.tool_calls:
        tree["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        tree["tool_call_id"] = message.tool_call_id
    if message.items:
        tree["items"] = message.items
    return tree


def _call(call: ToolCall) -> JsonObject:
    function = {"name": call.name, "arguments": call.arguments}
    checks = {"safety_checks": call.safety_checks} if call.safety_checks else {}
    return {"id": call.id, "type": "function", "function": function, **checks}


def read_message(digest: str, artifacts: Artifacts) -> JsonObject:
    """The message of this hash, as it was sent.

    Raises:
        JournalError: The artifact, or a picture of it, is missing or damaged, or is not a message.
    """
    try:
        message = loads(artifacts.read(digest))
    except CodecError as exc:
        raise JournalError(f"artifact {digest} is not a prompt message: {exc}") from exc
    if not isinstance(message, dict):
        raise JournalError(f"artifact {digest} is not a prompt message")
    return message | {"content": _sent(message["content"], artifacts)} if "content" in message else message


def read_messages(digests: Sequence[str], artifacts: Artifacts) -> tuple[Message, ...]:
    """A prompt as the agent asked it.

    Raises:
        JournalError: See `read_message`.
    """
    return tuple(_message(read_message(digest, artifacts), digest) for digest in digests)


def _message(tree: JsonObject, digest: str) -> Message:
    try:
        content = tree["content"]
        return Message(
            role=tree["role"],
            content=content if isinstance(content, str) else tuple(content),
            name=tree.get("name"),
            tool_calls=tuple(_called(call) for call in tree.get("tool_calls", ())),
            tool_call_id=tree.get("tool_call_id"),
            items=tuple(tree.get("items", ())),
        )
    except (KeyError, TypeError) as exc:
        raise JournalError(f"artifact {digest} is not a prompt message: {exc!r}") from exc


def _called(call: JsonObject) -> ToolCall:
    function = call["function"]
    checks = tuple(call.get("safety_checks", ()))
    return ToolCall(id=call["id"], name=function["name"], arguments=function["arguments"], safety_checks=checks)


def picture_in(text: str) -> tuple[str, bytes] | None:
    """Media type and bytes of a picture that this text is, letter for letter."""
    if (found := _DATA_URL.match(text)) is None:
        return None
    try:
        data = b64decode(text[found.end() :], validate=True)
    except ValueError:  # `binascii.Error`, or characters that are not ASCII
        return None
    # Base64 writes the same bytes in several ways, and a data URL may declare anything: what is read back from the
    # store has to be what was sent.
    is_exact = data.startswith(_SIGNATURES) and b64encode(data).decode() == text[found.end() :]
    return (found[1], data) if is_exact else None


def _changed(value: Any, change: Callable[[str], Any]) -> Any:
    """A JSON value with each of its texts changed."""
    match value:
        case str():
            return change(value)
        case Mapping():
            return {key: _changed(item, change) for key, item in value.items()}
        case list() | tuple():
            return [_changed(item, change) for item in value]
    return value


def _sent(value: Any, artifacts: Artifacts) -> Any:
    if isinstance(value, dict):
        if value.keys() == _HELD and isinstance(digest := value["picture"], str):
            return f"data:{value['media_type']};base64,{b64encode(artifacts.read(digest)).decode()}"
        return {key: _sent(item, artifacts) for key, item in value.items()}
    return [_sent(item, artifacts) for item in value] if isinstance(value, list) else value
