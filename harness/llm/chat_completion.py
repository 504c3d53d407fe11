"""Reading a chat completion from the bytes an endpoint answered with.

OpenAI-compatible servers differ in what they leave out, so only what we need is demanded: a first choice with a
message. Anything less is `RetryableError`: proxies answer with half JSON, HTML or an empty list when they are in
trouble.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from harness.codec import CodecError, loads
from harness.llm.retry import RetryableError

_HALF = re.compile("[\ud800-\udfff]")
_LONGEST_NAME = 200
_MOST_TOKENS = 1 << 40
"""Beyond it an endpoint does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    text: str
    """"" when the model said nothing, for example because its tokens ran out while thinking."""
    model: str
    prompt_tokens: int
    """0 when the endpoint does not count."""
    completion_tokens: int


def read_completion(content: bytes) -> Completion:
    """Raises: RetryableError: not JSON, or not a chat completion."""
    try:
        data = _parsed(content)
    except (ValueError, RecursionError) as exc:
        raise RetryableError(f"malformed answer, not JSON: {_excerpt(content)}") from exc
    message = _message(data)
    if message is None:
        raise RetryableError(f"malformed answer, no choices[0].message: {_excerpt(content)}")
    usage = data.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return Completion(
        text=_text(message.get("content")),
        model=_whole(str(data.get("model") or ""))[:_LONGEST_NAME],
        prompt_tokens=_count(counts.get("prompt_tokens")),
        completion_tokens=_count(counts.get("completion_tokens")),
    )


def _parsed(content: bytes) -> Any:
    try:
        return loads(content)
    except CodecError:  # half a surrogate pair is what a model may say, and no JSON to the codec
        return json.loads(content)


def _message(data: Any) -> dict[str, Any] | None:
    match data:
        case {"choices": [{"message": dict(message)}, *_]}:
            return message
        case _:
            return None


def _text(content: Any) -> str:
    """Some servers answer in content parts, as requests may."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return _whole("".join(part for part in parts if isinstance(part, str)))
    return _whole(content) if isinstance(content, str) else ""


def _whole(text: str) -> str:
    """With U+FFFD for what is no character: half a surrogate pair."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 0 < value <= _MOST_TOKENS else 0


def _excerpt(content: bytes) -> str:
    text = " ".join(content[:400].decode("utf-8", "replace").split())
    return repr(text[:200])
