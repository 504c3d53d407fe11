"""What is asked of a model, whichever interface carries it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.codec import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """Parameters of every request; None = not sent, since some models refuse the parameter itself."""

    model: str
    api: str = "chat"
    """`chat` (chat completions), `responses` or `messages` (Anthropic's)."""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_tokens_field: str | None = None
    """How chat completions call the limit; None = as the model's family calls it."""
    reasoning_effort: str | None = None
    seed: int | None = None
    timeout_s: float = 120.0
    """Of one request, from connecting to the last byte."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the request, as the server documents them."""


def given(**values: Any) -> JsonObject:
    """Those that are not None."""
    return {key: value for key, value in values.items() if value is not None}
