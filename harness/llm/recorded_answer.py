"""What a model was offered and what it called, read again from what a run folder keeps of requests and answers.

Both are given in the shape of chat completions, whichever provider was asked: training data is written in it. A
provider that is not installed here says nothing.
"""

from contextlib import suppress

from harness.api import ModelProvider, RetryableError
from harness.codec import JsonObject
from harness.errors import ConfigError, PluginFailed
from harness.llm.answer import mappings
from harness.llm.event_stream import events_in, read_any, was_streamed
from harness.llm.providers import provider_of
from harness.llm.providers.chat import plain_call
from harness.llm.request_frame import kept_of
from harness.records import Tokens


def calls_of(frame: bytes, response: bytes) -> list[JsonObject]:
    """The `tool_calls` of an answer's message; [] for an answer that cannot be read.

    Args:
        frame: Of the request, see `request_frame`; b"" for a run that kept none, which asked for chat completions.
        response: The answer's bytes.
    """
    if (asked := _provider(frame)) is None:
        return []
    try:
        answer = read_any(asked, response)
    except (RetryableError, PluginFailed):
        return []
    return [plain_call(call) for call in answer.tool_calls]


def tokens_of(api: str, response: bytes) -> Tokens | None:
    """The token ids of an answer, streamed or not; None = it has none, or cannot be read.

    Args:
        api: Name of its provider.
        response: The answer's bytes.
    """
    with suppress(ConfigError, RetryableError):
        asked = provider_of(api)
        return asked.tokens(asked.joined(events_in(response)) if was_streamed(response) else response)
    return None


def tools_of(frame: bytes) -> list[JsonObject]:
    """The functions that were offered with a request; a provider's own tools are left out."""
    if not frame or (asked := _provider(frame)) is None:
        return []
    return [found for tool in mappings(kept_of(frame)[1].get("tools")) if (found := asked.function(tool)) is not None]


def _provider(frame: bytes) -> ModelProvider | None:
    with suppress(ConfigError):
        return provider_of(kept_of(frame)[0] if frame else "chat")
    return None
