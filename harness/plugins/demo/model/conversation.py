"""A request for a decision, whichever interface carried it: what the policy decides upon.

The seam of the endpoint: a wire format (`chat_api`, `responses_api`, `messages_api`) translates a request's body into a
`Conversation` and the policy's `ScriptedAnswer` into an answer's body; the policy knows nothing of formats.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from harness.api import JsonObject
from harness.plugins.demo.model.prompt_cache import CachedPrompt, Segment

REASONING = ("gpt-5", "o1", "o3", "o4")
"""Models whose names begin so are as strict as OpenAI's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The part of a request's body that an answer depends on."""

    model: str
    messages: tuple[Mapping[str, Any], ...]
    """In the shape of chat completions: `tool_calls` of the assistant's turns, role `tool` for results."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Functions that may be called, each with `name`, `description` and `parameters` (a JSON Schema)."""
    computer: str = ""
    """Type of the provider's computer tool that is offered, as it was sent; "" = none is."""
    segments: tuple[Segment, ...] = ()
    """The prompt's text in order, for its tokens."""
    digest: str = ""
    """sha256 of the body; names the answer."""
    refused: str = ""
    """Why the real endpoint would answer HTTP 400; "" = it would not."""
    refused_parameter: str | None = None
    """The parameter that is at fault."""
    stream: bool = False
    include_usage: bool = False
    wants_token_ids: bool = False
    """As vLLM gives them (`return_token_ids`)."""
    wants_logprobs: bool = False
    thinks: bool = False
    """The answer holds reasoning, which has to be given back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedCall:
    name: str
    """`computer` for the provider's computer tool; its arguments are then the provider's action object."""
    arguments: Mapping[str, Any]


class Ending(Enum):
    """How an answer ends."""

    done = "done"
    length = "length"
    """Cut off at the limit of tokens."""
    refusal = "refusal"


class Answer(Protocol):
    """What a wire format needs of the policy's answer."""

    @property
    def text(self) -> str: ...

    @property
    def calls(self) -> Sequence[ScriptedCall]: ...


class WireFormat(Protocol):
    """One interface on the wire."""

    def read(self, body: JsonObject, digest: str) -> Conversation | None:
        """None when the body is not a request of this interface."""
        ...

    def whole(self, asked: Conversation, answer: Answer, cached: CachedPrompt, ending: Ending) -> JsonObject:
        """The body of the answer."""
        ...

    def empty(self, asked: Conversation) -> JsonObject:
        """A body that holds no answer."""
        ...

    def error(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> JsonObject: ...


def unsupported(body: Mapping[str, Any], limits: Sequence[str] = ()) -> str | None:
    """OpenAI's reasoning models take no temperature but 1, no top_p, and none of these `limits`."""
    if not str(body.get("model")).startswith(REASONING):
        return None
    strange = {name for name in ("top_p", *limits) if body.get(name) is not None}
    if body.get("temperature") not in (None, 1, 1.0):
        strange.add("temperature")
    return min(strange, default=None)


def unanswered(messages: Sequence[Mapping[str, Any]]) -> str:
    """A sentence about calls without results, or results without calls, which no provider takes; "" = all is well."""
    waiting: set[str] = set()
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                return f"there is no call for the result of {str(message.get('tool_call_id'))[:80]!r}"
            waiting.discard(str(message["tool_call_id"]))
            continue
        if waiting:
            break
        waiting = {str(call.get("id")) for call in message.get("tool_calls") or ()}
    return f"the call {min(waiting)[:80]!r} has no result" if waiting else ""


def tokens_of(text: str) -> int:
    """A quarter of the characters, rounded up."""
    return -(-len(text) // 4)


def spoken(answer: Answer) -> int:
    """Tokens of an answer."""
    return tokens_of(answer.text) + sum(tokens_of(f"{call.name}{dict(call.arguments)}") for call in answer.calls)
