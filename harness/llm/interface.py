"""What tells the interfaces of model providers apart: how a request's body is built, sent, and its answer read.

Retries, permits, prices, bounds and errors are the same for all of them and live in `chat`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.codec import JsonObject
from harness.llm.answer import Answer
from harness.records import ComputerTool, Message, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkErrors:
    """The classes of errors of a provider's package; they have the same names and parts in all of them."""

    timeout: type[Exception]
    connection: type[Exception]
    status: type[Exception]


class Interface(Protocol):
    """One connection to an endpoint, in one interface."""

    errors: SdkErrors

    def body(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool]) -> JsonObject:
        """The body of a request.

        Raises:
            ConfigError: A setting or a tool has no place in this interface.
        """
        ...

    async def send(self, body: JsonObject) -> Any:
        """The whole HTTP answer, its bytes read; one attempt, without a timeout of its own."""
        ...

    async def pass_on(self, body: bytes, headers: Mapping[str, str]) -> Any:
        """The same for a body from outside: it is sent byte for byte, with these headers besides."""
        ...

    def read(self, content: bytes) -> Answer:
        """Raises: RetryableError: The bytes are no answer."""
        ...

    def read_events(self, content: bytes) -> Answer:
        """The same of an answer that was streamed.

        Raises:
            RetryableError: The bytes are none, or end before the answer does.
        """
        ...

    async def close(self) -> None: ...


def plain_options(headers: Mapping[str, str]) -> Any:
    """Options of a request whose body was not made by a provider's package."""
    return {"headers": {"content-type": "application/json", **headers}}


def text_of(content: str | Sequence[Mapping[str, Any]]) -> str:
    """The text of a message, pictures left out."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


def example_role(message: Message) -> str:
    """Whose turn a message is, for interfaces whose messages have no names: examples become turns."""
    match message.role, message.name:
        case "system", "example_user":
            return "user"
        case "system", "example_assistant":
            return "assistant"
        case role, _:
            return role
