"""One chat message, of whatever kind it came, as the five flat values of ART's parquet format.

Never a failed call because of content: what is not text (images, audio, other parts) becomes a short note in its place.
Choices, as the model under training spoke them, are marked trainable; what else they carry (logprobs, refusals) has no
column and is left out.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from typing import Any

from harness.api import CodecError, JsonObject, dumps
from harness.api.journals import picture_in
from harness.errors import TrackingError

Flat = tuple[str | None, str | None, str | None, str | None, bool]
"""Role, content, tool calls (a JSON array), tool call id, trainable: the fields of the message struct, in its order."""


class MessageColumns:
    """Messages of many trajectories, a list per field; None of them is kept but as its five values."""

    def __init__(self) -> None:
        self.roles: list[str | None] = []
        self.contents: list[str | None] = []
        self.trainable: list[bool] = []
        self._calls: dict[int, tuple[str | None, str | None]] = {}
        """Row to tool calls and tool call id: most messages have neither."""
        self._parts: list[JsonObject] = []
        self._fields: list[JsonObject] = []
        self._images: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.roles)

    def add(self, messages: Iterable[Any], place: str) -> int:
        """Append the messages of one trajectory; returns their length in characters.

        The usual message, a dict of two texts, is taken by the shortest way: there are millions of them.
        """
        start = len(self.contents)
        add_role, add_content, add_trainable = self.roles.append, self.contents.append, self.trainable.append
        for position, message in enumerate(messages):
            trainable = type(message) is dict and "finish_reason" in message
            tree = message.get("message") if trainable else message
            if trainable and message["finish_reason"] != "stop":
                self._add_fields(message)
            if type(tree) is dict and len(tree) == 2 and "role" in tree and "content" in tree:
                role, content = tree["role"], tree["content"]
                if type(role) is str and type(content) is str:
                    add_role(role)
                    add_content(content)
                    add_trainable(trainable)
                    continue
            if not trainable:
                self._add_fields(message)
            self._add_unusual(flat(message, position, place))
            self._add_parts(tree, place)
        return sum([len(content) for content in self.contents[start:] if content])

    def take_parts(self, start: int) -> tuple[list[JsonObject] | None, list[JsonObject] | None]:
        """The contents of the messages since row `start` that are not text alone, and their pictures; None = there are
        none.

        A content is `{"message": position, "content": JSON}`, in which `{"image": index}` is in the place of a data
        URL; a picture is `{"bytes": …, "path": null}`, as Hugging Face's feature `Image` has it.
        """
        parts, images = self._parts, [{"bytes": data, "path": None} for data in self._images]
        self._parts, self._images = [], {}
        return [{**part, "message": part["message"] - start} for part in parts] or None, images or None

    def take_fields(self, start: int) -> list[JsonObject] | None:
        """`{"message": position, "name": …, "finish_reason": …}` of each message since row `start` that has a name, or
        did not end with `stop`; None = there is none."""
        fields, self._fields = self._fields, []
        return [{**one, "message": one["message"] - start} for one in fields] or None

    def columns(self) -> tuple[list[Any], ...]:
        """A list per field of the struct, in its order."""
        calls: list[str | None] = [None] * len(self)
        call_ids: list[str | None] = [None] * len(self)
        for row, (call, call_id) in self._calls.items():
            calls[row], call_ids[row] = call, call_id
        return self.roles, self.contents, calls, call_ids, self.trainable

    def _add_fields(self, message: Any) -> None:
        """Of the message whose row comes next."""
        name, reason = field_of(message, "name"), field_of(message, "finish_reason")
        if name or reason not in (None, "stop"):
            found = {"name": str(name) if name else None, "finish_reason": str(reason) if reason else None}
            self._fields.append({"message": len(self), **found})

    def _add_parts(self, message: Any, place: str) -> None:
        content = field_of(message, "content")
        if not isinstance(content, list | tuple):
            return
        if are_text(parts := plain(content)):
            return
        kept = with_pictures(parts, lambda data: self._images.setdefault(data, len(self._images)))
        with suppress(TrackingError):  # what is no JSON is its text alone
            self._parts.append({"message": len(self) - 1, "content": json_text(kept, f"{place}: content")})

    def _add_unusual(self, message: Flat) -> None:
        role, content, calls, call_id, trainable = message
        if calls is not None or call_id is not None:
            self._calls[len(self)] = (calls, call_id)
        self.roles.append(role)
        self.contents.append(content)
        self.trainable.append(trainable)


def flat(message: Any, position: int, place: str) -> Flat:
    """The flat form of a dict, a pydantic object or a dataclass with the keys of a chat message, or of a choice."""
    tree = mapping_of(message, position, place)
    trainable = "finish_reason" in tree
    if trainable:
        tree = mapping_of(tree.get("message") or {}, position, place)
    role, content, calls = tree.get("role"), tree.get("content"), tree.get("tool_calls")
    call_id = None if trainable else tree.get("tool_call_id")
    return (
        None if role is None else str(role),
        None if content is None else text_of(content),
        json_text(plain(calls), f"{place}, message {position}: tool_calls") if calls else None,
        None if call_id is None else str(call_id),
        trainable,
    )


def mapping_of(message: Any, position: int, place: str) -> Mapping[str, Any]:
    if isinstance(message, Mapping):
        return message
    for name in ("model_dump", "to_dict"):
        if callable(dump := getattr(message, name, None)):
            return dict(dump())
    if is_dataclass(message) and not isinstance(message, type):
        return asdict(message)
    raise TrackingError(
        f"{place}, message {position} is a {type(message).__name__}: give a dict with role and content, or a choice"
    )


def field_of(message: Any, name: str) -> Any:
    """A field of a message or choice, which is a dict or an object; None = it has none."""
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def are_text(parts: Iterable[Any]) -> bool:
    """Whether content parts are texts, so that `text_of` them says all."""
    return all(isinstance(part, Mapping) and part.get("type") == "text" for part in parts)


def with_pictures(value: Any, number: Callable[[bytes], int]) -> Any:
    """JSON with `{"image": number(bytes), "media_type": …}` in the place of each data URL of a picture."""
    if isinstance(value, str):
        found = picture_in(value)
        return value if found is None else {"image": number(found[1]), "media_type": found[0]}
    if isinstance(value, Mapping):
        return {key: with_pictures(item, number) for key, item in value.items()}
    return [with_pictures(item, number) for item in value] if isinstance(value, list) else value


def without_places(value: Any, images: Sequence[bytes]) -> Any:
    """What `with_pictures` was given."""
    if isinstance(value, dict):
        if value.keys() == {"image", "media_type"}:
            return f"data:{value['media_type']};base64,{b64encode(images[value['image']]).decode()}"
        return {key: without_places(item, images) for key, item in value.items()}
    return [without_places(item, images) for item in value] if isinstance(value, list) else value


def text_of(content: Any) -> str:
    """Content parts as text; what is not text leaves a note where it was."""
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
        return dumps(value).decode()
    except (CodecError, RecursionError) as exc:
        raise TrackingError(f"{place} cannot be written as JSON ({exc}); use text, numbers, booleans and null") from exc


def _loosely(value: Any) -> str:
    try:
        return dumps(plain(value)).decode()
    except (CodecError, RecursionError):
        return f"[{type(value).__name__}]"


def plain(value: Any) -> Any:
    """Pydantic objects within JSON, as OpenAI's tool calls are."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.model_dump(mode="json") if callable(getattr(value, "model_dump", None)) else value
