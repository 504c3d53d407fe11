"""What a model provider is: everything that tells one wire format from the others, in one class.

Sending, retries, rate limits, prices, bounds, recording and the reply cache are the same for all.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from harness.codec import JsonObject
from harness.errors import ConfigError
from harness.llm.answer import Answer
from harness.llm.chat_settings import ChatSettings
from harness.llm.connection import Connection, PlainConnection
from harness.llm.endpoint import OPENAI_URL, Endpoint
from harness.llm.event_stream import events_in, was_streamed
from harness.llm.retry import RetryableError
from harness.records import ComputerTool, Message, Tool


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
    def conversation(self, messages: Sequence[Message]) -> JsonObject:
        """The part of a body that is made of the messages: `conversation_keys`."""

    @abstractmethod
    def parameters(self, settings: ChatSettings) -> JsonObject:
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

    def function(self, tool: Mapping[str, Any]) -> JsonObject | None:
        """One of `offered` in the shape of chat completions, which training data is written in; None = no function."""
        return None

    def joined(self, events: Sequence[JsonObject]) -> bytes:
        """The answer that would have come at once, of one that was streamed; only what is counted and recorded.

        Raises:
            RetryableError: The events end before the answer does.
        """
        raise RetryableError(f"{self.name} streams no answers")

    def body(
        self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool], settings: ChatSettings
    ) -> JsonObject:
        """The body of a request.

        Raises:
            ConfigError: A setting or a tool has no place in this format.
        """
        offered = {"tools": self.offered(tools, settings)} if tools else {}
        return {**self.conversation(messages), **offered, **self.parameters(settings)}

    def read_any(self, content: bytes, *, streamed: bool | None = None) -> Answer:
        """An answer, whether it was streamed or not.

        Args:
            content: Its bytes.
            streamed: None = as the bytes look: some servers stream whether they were asked to or not.

        Raises:
            RetryableError: The bytes are no answer, or end before it does.
        """
        is_stream = was_streamed(content) if streamed is None else streamed
        return self.read(self.joined(events_in(content)) if is_stream else content)

    def connect(self, endpoint: Endpoint, settings: ChatSettings) -> Connection:
        """A connection that sends bodies of this format.

        Raises:
            ConfigError: The package that it needs is not installed.
        """
        url = (endpoint.base_url or self.default_url or OPENAI_URL).rstrip("/") + self.path
        headers = {**({"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}), **endpoint.headers}
        return PlainConnection(url, headers, endpoint.with_client().http_client)


def text_of(content: str | Sequence[Mapping[str, Any]]) -> str:
    """The text of a message, pictures left out."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


def example_role(message: Message) -> str:
    """Whose turn a message is, for formats whose messages have no names: examples become turns."""
    match message.role, message.name:
        case "system", "example_user":
            return "user"
        case "system", "example_assistant":
            return "assistant"
        case role, _:
            return role
