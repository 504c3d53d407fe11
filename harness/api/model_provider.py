"""What a model provider is: everything that tells one wire format from the others, in one class.

Sending, retries, rate limits, prices, bounds, recording and the reply cache are the same for all.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from harness.errors import ConfigError
from harness.records import ComputerTool, Message, Tokens, Tool, ToolCall
from harness.settings.models import ChatSettings


class RetryableError(Exception):
    """One attempt failed in a way that another attempt may mend."""

    def __init__(
        self,
        why: str,
        *,
        wait_s: float | None = None,
        refused: bool = False,
        redirected: bool = False,
        limits: Any = None,
    ) -> None:
        super().__init__(why)
        self.wait_s = wait_s
        """How long the server asks to wait; None = it does not say."""
        self.refused = refused
        """With 429: too many requests."""
        self.redirected = redirected
        self.limits = limits
        """What the server said is left of its limits (`harness.llm.rate_limit_headers`); None = nothing."""
        self.closed_s: float | None = None
        """Set if the rate limiter handles the back-off: how long all requests have been rejected; None = no limiter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer as it was read; the fields are those of `Reply`."""

    text: str
    """"" when the model said nothing, for example because its tokens ran out while thinking."""
    model: str
    """As the endpoint names it."""
    prompt_tokens: int
    """All of them, cached ones included; 0 when the endpoint does not count."""
    completion_tokens: int
    """All of them, reasoning included."""
    cached_tokens: int = 0
    """Of the prompt's, those the endpoint had in its cache."""
    cache_write_tokens: int = 0
    """Of the prompt's, those it wrote to its cache."""
    cache_write_1h_tokens: int = 0
    """Of those, the ones it keeps for an hour, which have a price of their own."""
    reasoning_tokens: int = 0
    """Of the completion's, those nobody sees."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Tools that the model calls, in its order."""
    finish_reason: str = ""
    """Why it ended, in the endpoint's word."""
    refusal: str = ""
    """What the model said instead of an answer."""
    reasoning: str = ""
    """Its summary of what it thought."""
    items: tuple[Mapping[str, Any], ...] = ()
    """The output in the endpoint's own form, to be sent back in the next request, where the format asks for that."""


class ModelProvider(ABC):
    """One wire format. It has no state: an instance serves all requests.

    Derive from it, give `name`, `path` and `conversation_keys`, and write `conversation`, `parameters` and `read`;
    everything else has a default. Declare the class as an entry point of `cairn.providers` under its name, and choose
    it with `llm.api=NAME`, or name the class in the settings as `llm._target_`.
    """

    name: ClassVar[str]
    """By which `llm.api` and journals name it."""
    path: ClassVar[str]
    """Of its requests, below the address of the endpoint: `/chat/completions`."""
    conversation_keys: ClassVar[tuple[str, ...]]
    """Keys of a body that are made of the messages; a journal keeps the others once."""
    default_url: ClassVar[str | None] = None
    """Address of the endpoint when none is set; None = OpenAI's."""
    maker: ClassVar[str] = ""
    """Name of the provider in OpenTelemetry's conventions; "" = `name`."""
    request_headers: ClassVar[tuple[str, ...]] = ()
    """Headers, in lower case, that say what a body means: they are sent on for an agent's own process."""
    has_computer_tool: ClassVar[bool] = False
    """Whether `agent=computer` can be asked for with it."""

    @abstractmethod
    def conversation(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The part of a body that is made of the messages: `conversation_keys`."""

    @abstractmethod
    def parameters(self, settings: ChatSettings) -> dict[str, Any]:
        """The other keys of a body but for the tools.

        Raises:
            ConfigError: A setting has no place in this format.
        """

    @abstractmethod
    def read(self, content: bytes) -> Answer:
        """An answer that came at once.

        Raises:
            RetryableError: The bytes are none.
        """

    def offered(self, tools: Sequence[Tool | ComputerTool], settings: ChatSettings) -> Sequence[Mapping[str, Any]]:
        """Tools as a body has them under `tools`; never called without one.

        Raises:
            ConfigError: The format has no such tool.
        """
        raise ConfigError(f"llm.api={self.name} has no tools; choose an agent that answers in text, as in agent=prompt")

    def function(self, tool: Mapping[str, Any]) -> dict[str, Any] | None:
        """One of `offered` in the shape of chat completions, which training data is written in; None = no function."""
        return None

    def joined(self, events: Sequence[dict[str, Any]]) -> bytes:
        """The answer that would have come at once, of one that was streamed; only what is counted and recorded.

        Raises:
            RetryableError: The events end before the answer does.
        """
        raise RetryableError(f"{self.name} streams no answers")

    def token_request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Further keys of a body that ask for the ids and log probabilities of its tokens (`llm.token_ids`).

        What the body says itself stays as it is. {} = the format has no such thing.
        """
        return {}

    def tokens(self, content: bytes) -> Tokens | None:
        """The tokens in an answer that came at once; None = it has none, or cannot be read."""
        return None

    def body(
        self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool], settings: ChatSettings
    ) -> dict[str, Any]:
        """The body of a request.

        Raises:
            ConfigError: A setting or a tool has no place in this format.
        """
        offered = {"tools": self.offered(tools, settings)} if tools else {}
        return {**self.conversation(messages), **offered, **self.parameters(settings)}


def text_of(content: str | Sequence[Mapping[str, Any]]) -> str:
    """The text of a message, pictures left out."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
