"""Answers that were streamed as server-sent events: the data of each event.

A provider puts them together to the body that would have come at once; the stream itself is kept byte for byte.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from collections.abc import Iterator
from typing import Any

from harness.api import Answer, ModelProvider
from harness.codec import JsonObject
from harness.llm.answer import NoAnswer, excerpt, parsed

_DONE = "[DONE]"


def is_event_stream(content: bytes) -> bool:
    """Whether the bytes are not a JSON object, which is what an endpoint that does not stream answers."""
    return not content.lstrip()[:1] == b"{"


def was_streamed(content: bytes) -> bool:
    """Whether the bytes are events for certain."""
    # A stream may begin with a comment, which gateways send while they wait.
    return content.lstrip()[:6].startswith((b"data:", b"event:", b":"))


def events_in(content: bytes) -> list[JsonObject]:
    """The data of each event.

    Raises:
        RetryableError: Something in it is not JSON, or an error of the endpoint.
    """
    found = []
    for text in _data(content.decode("utf-8", "replace")):
        if text == _DONE:
            break
        event = parsed(text.encode())
        if not isinstance(event, dict) or event.get("error") or event.get("type") == "error":
            raise NoAnswer(f"the streamed answer holds an error: {excerpt(text.encode())}", _with_error(event))
        found.append(event)
    return found


def _with_error(event: Any) -> Any:
    """The event as a body that is an error; None = the answer had begun, so that it is not the request's fault."""
    if not isinstance(event, dict) or event.get("choices"):
        return None
    return event if event.get("error") else {"error": event}


def _data(text: str) -> Iterator[str]:
    """The data of each event: its `data:` lines, joined."""
    lines: list[str] = []
    # Not `splitlines`, which also cuts at U+2028, and that may be in the text of a model.
    for line in (*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""):
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line and lines:
            yield "\n".join(lines)
            lines = []


def read_any(provider: ModelProvider, content: bytes, *, streamed: bool | None = None) -> Answer:
    """An answer, whether it was streamed or not.

    Args:
        provider: Whose format it has.
        content: Its bytes.
        streamed: None = as the bytes look: some servers stream whether they were asked to or not.

    Raises:
        RetryableError: The bytes are not an answer, or end before it does.
    """
    is_stream = was_streamed(content) if streamed is None else streamed
    return provider.read(provider.joined(events_in(content)) if is_stream else content)
