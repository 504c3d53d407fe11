"""Answers that were streamed as server-sent events: the data of each event.

A provider puts them together to the body that would have come at once; the stream itself is kept byte for byte.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.actions.truncate import MOST_OF_A_MESSAGE, cut
from harness.api import Answer, ModelProvider, RetryableError
from harness.codec import JsonObject
from harness.errors import InfraError, PluginFailed, UsageError, plugin_boundary, said_by
from harness.llm.answer import NoAnswer, count, excerpt, parsed
from harness.records import ToolCall

_DONE = "[DONE]"
_TEXTS = ("text", "model", "finish_reason", "refusal", "reasoning")
_COUNTS = (
    *("prompt_tokens", "completion_tokens", "cached_tokens"),
    *("cache_write_tokens", "cache_write_1h_tokens", "reasoning_tokens"),
)


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
        PluginFailed: The provider raised something else, or gave back what is no `Answer`.
    """
    is_stream = was_streamed(content) if streamed is None else streamed
    # Named, as a class of the person's own may be at fault, and not the endpoint.
    named = f"{type(provider).__module__}.{type(provider).__qualname__}, the provider {provider.name!r},"

    def failed(error: BaseException) -> PluginFailed:
        said = cut(said_by(error), MOST_OF_A_MESSAGE)
        return PluginFailed(f"{named} cannot read an answer: {type(error).__name__}: {said}")

    with plugin_boundary(failed, passes=(RetryableError, InfraError, UsageError)):
        answer: object = provider.read(provider.joined(events_in(content)) if is_stream else content)
    if not isinstance(answer, Answer):
        raise PluginFailed(f"{named} read an answer as {type(answer).__name__}, not as Answer")
    if wrong := _wrong_field(answer):
        raise PluginFailed(f"{named} gave Answer.{wrong}")
    return answer


def _wrong_field(answer: Answer) -> str:
    """The first field that no record can hold, and what it should be; "" = there is none."""
    for name in _TEXTS:
        if not isinstance(value := getattr(answer, name), str):
            return f"{name}={value!r:.80}; it is a text"
    for name in _COUNTS:
        if type(value := getattr(answer, name)) is not int or count(value) != value:
            return f"{name}={value!r:.80}; it is an integer from 0"
    for name, kind in (("tool_calls", ToolCall), ("items", Mapping)):
        value = getattr(answer, name)
        if not isinstance(value, tuple) or not all(isinstance(one, kind) for one in value):
            return f"{name}={value!r:.80}; it is a tuple of {kind.__name__}"
    return ""
