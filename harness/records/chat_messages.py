"""A conversation with a chat model: what it is asked, what it may call, and what it answers.

Messages are in the shape of OpenAI's chat completions, whichever interface carries them (`llm.api`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from harness.records.optional import optional
from harness.records.usage import Usage

COMPUTER = "computer"
"""Name of a call of the provider's own computer tool."""
UNFINISHED: Mapping[str, str] = MappingProxyType(
    {
        "": "",
        "length": "it was cut off at the limit of tokens; answer more briefly",
        "content_filter": "a content filter of the endpoint withheld it",
        "refusal": "it was a refusal",
    }
)
"""Finish reasons of an answer that is not a decision, and what an agent is shown about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that the model may call."""

    name: str
    """By which it is called."""
    description: str
    """What it does, for the model."""
    parameters: Mapping[str, Any]
    """JSON Schema of an object."""
    strict: bool = False
    """Whether the endpoint shall enforce the schema, where it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputerTool:
    """The provider's own tool for a screen; `width` and `height` in px of the screenshots it is sent."""

    width: int
    """Of the screen, in pixels."""
    height: int
    """Of the screen, in pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that a model made."""

    id: str
    """The provider's; the message with the result repeats it as `tool_call_id`."""
    name: str
    """Of the tool; `computer` for the provider's own computer tool."""
    arguments: str
    """JSON text as the model wrote it: perhaps no JSON at all. Of a computer call the provider's action object."""
    safety_checks: tuple[Mapping[str, Any], ...] = optional(())
    """What the provider asks to have acknowledged before the call is performed; sending its result acknowledges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One chat message in OpenAI's shape."""

    role: str
    """`system`, `user`, `assistant`, or `tool` for the result of a call."""
    content: str | tuple[Mapping[str, Any], ...]
    """Text, or content parts (`{"type": "text"…}`, `{"type": "image_url"…}`)."""
    name: str | None = None
    """Name of the speaker, as of an example; None = none."""
    tool_calls: tuple[ToolCall, ...] = optional(())
    """Of an assistant's turn."""
    tool_call_id: str | None = optional(None)
    """Of a `tool` message: the call whose result this is."""
    items: tuple[Mapping[str, Any], ...] = optional(())
    """`Reply.items` of this turn; sent in place of content and calls by the interface they came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's answer and what it cost."""

    text: str = ""
    """What it says; "" where it only calls functions."""
    model: str = ""
    """As the endpoint names it."""
    usage: Usage = field(default_factory=Usage)
    """Tokens and cost."""
    waited_s: float = 0.0
    """For the right to ask, before it was asked: no latency of the model's."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Functions that it calls, in order."""
    finish_reason: str = ""
    """A key of `UNFINISHED`, whatever the provider calls it; "" = it ended as it should, or did not say."""
    refusal: str = ""
    """What the model said instead of an answer."""
    reasoning: str = ""
    """Text or summary of its reasoning, where the provider gives one; what is encrypted is in `items`."""
    items: tuple[Mapping[str, Any], ...] = ()
    """The turn in the provider's own form, when text and calls do not say all of it (reasoning in encrypted form,
    signatures): `Message.items` gives it back unchanged."""
    raw: bytes = b""
    """The body of the HTTP answer, byte for byte; b"" = there was none."""
    request_id: str = ""
    """The provider's name for the request, from the headers of its answer; "" = it gave none."""
    request: bytes = b""
    """What was sent beside the messages (tools, parameters), as `llm.request_frame` writes it; b"" = it is unknown."""
    earlier: tuple[bytes, ...] = ()
    """Bodies of answers to earlier requests of the same step."""

    def after(self, earlier: "Reply") -> "Reply":
        """This reply with what an earlier request of the same step cost, and what it was answered."""
        return replace(
            self,
            usage=earlier.usage + self.usage,
            waited_s=earlier.waited_s + self.waited_s,
            earlier=(*earlier.earlier, *((earlier.raw,) if earlier.raw else ()), *self.earlier),
        )

    @property
    def unfinished(self) -> str:
        """`length`, `content_filter` or `refusal` for an answer that is not a decision, whatever it says; else ""."""
        if self.refusal:
            return "refusal"
        return self.finish_reason if self.finish_reason in UNFINISHED else ""

    @property
    def why_unfinished(self) -> str:
        """The reason as a sentence for the agent."""
        return UNFINISHED[self.unfinished] + (f": {self.refusal[:200]}" if self.refusal else "")

    def turn(self) -> Message:
        """This reply as a message of the conversation that goes on."""
        return Message(role="assistant", content=self.text, tool_calls=self.tool_calls, items=self.items)
