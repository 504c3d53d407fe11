"""Reading JSON of an endpoint that may be wrong."""

import json
import re
from collections.abc import Mapping
from typing import Any

from harness.api import RetryableError
from harness.codec import CodecError, JsonObject, loads

_HALF = re.compile("[\ud800-\udfff]")
_LONGEST_NAME = 200
_MOST_TOKENS = 1 << 40
"""Beyond it an endpoint does not count."""
_MOST_PARTS = 10_000
"""Calls or items of one answer that are looked at."""


class NoAnswer(RetryableError):
    """A response with status 200 that is not an answer."""

    def __init__(self, why: str, body: Any = None, *, is_pending: bool = False) -> None:
        """
        Args:
            why: The message.
            body: What came, if it is JSON; an error in it may say that no other attempt will be answered.
            is_pending: The answer is being made, and can be asked for later.
        """
        super().__init__(why)
        self.error = mapping(mapping(body).get("error"))
        self.is_pending = is_pending


def parsed(content: bytes) -> Any:
    """Raises: RetryableError: not JSON."""
    try:
        return loads(content)
    except CodecError:  # half a surrogate pair is what a model may say, and no JSON to the codec
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as exc:
            raise RetryableError(f"malformed answer, not JSON: {excerpt(content)}") from exc


def whole(text: Any) -> str:
    """A text with U+FFFD for what is not a character (half a surrogate pair); "" for what is not text."""
    if not isinstance(text, str):
        return ""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def short(name: Any) -> str:
    return whole(str(name or ""))[:_LONGEST_NAME]


def mapping(value: Any) -> Mapping[str, Any]:
    """An object; of anything else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(values: Any) -> list[Mapping[str, Any]]:
    """The objects in a list; of anything else none."""
    return [value for value in values[:_MOST_PARTS] if isinstance(value, dict)] if isinstance(values, list) else []


def count(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():  # in JSON `10.0` is the number `10`
        value = int(value)
    return value if isinstance(value, int) and 0 < value <= _MOST_TOKENS else 0


def token_details(counts: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """What `usage` of OpenAI's interfaces says of the kinds of tokens."""
    return mapping(counts.get(f"{kind}_tokens_details"))


def excerpt(content: bytes) -> str:
    text = " ".join(content[:400].decode("utf-8", "replace").split())
    return repr(text[:200])


def given(**values: Any) -> JsonObject:
    """Those that are not None."""
    return {key: value for key, value in values.items() if value is not None}
