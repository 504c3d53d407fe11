"""Which request parameters a model takes, told by the family its name belongs to. Pure.

OpenAI's reasoning models (o-series, gpt-5) refuse `temperature`, `top_p` and `max_tokens` with HTTP 400. Their
`max_completion_tokens` counts the hidden reasoning, too, for which OpenAI advises to reserve 25,000 tokens
(platform.openai.com/docs/guides/reasoning, "Allocating space for reasoning").
"""

import re

REASONING_TOKENS = 25_000
_REASONING = re.compile(r"(?:.*[/:])?(?:o[1-9]\d*|gpt-5(?:\.\d+)?)(?:-(?!chat)[\w.-]+)?", re.IGNORECASE)


def is_reasoning_model(model: str) -> bool:
    """Whether it is one of OpenAI's reasoning models, also behind a gateway's prefix (`openai/o3`)."""
    return _REASONING.fullmatch(model) is not None
