"""Which request parameters and which computer tool a model takes, by the family of its name. Pure.

OpenAI's reasoning models (o-series, gpt-5) refuse `temperature`, `top_p` and `max_tokens` with HTTP 400. Their
`max_completion_tokens` counts the hidden reasoning, too, for which OpenAI advises to reserve 25,000 tokens
(platform.openai.com/docs/guides/reasoning, "Allocating space for reasoning"). Claude takes no `temperature` from Opus
4.7 on; the presets for it have none.
"""

import re

REASONING_TOKENS = 25_000
_REASONING = re.compile(r"(?:.*[/:])?(?:o[1-9]\d*|gpt-5(?:\.\d+)?)(?:-(?!chat)[\w.-]+)?(?::[\w.-]*)*", re.IGNORECASE)

_FIRST_COMPUTER_TOOL = re.compile(
    r"claude-(?:3-7|(?:opus|sonnet)-4(?:-[01])?(?=$|[-@]\d{8}|[-@.:]v)|(?:sonnet|haiku)-4[-.]5)", re.IGNORECASE
)
_SECOND_COMPUTER_TOOL = re.compile(r"claude-(?:opus-4[-.][5-8]|sonnet-4[-.]6)", re.IGNORECASE)


def is_reasoning_model(model: str) -> bool:
    """Whether it is one of OpenAI's reasoning models, also behind a gateway's prefix (`openai/o3`), with a variant
    (`gpt-5:online`) or fine-tuned (`ft:o4-mini-2025-04-16:org::id`)."""
    # By the name: to ask again without what was refused costs a request, and hides what was sent.
    return _REASONING.fullmatch(model) is not None


def is_computer_preview(model: str) -> bool:
    """Whether it takes OpenAI's first computer tool; later models take the tool `computer`."""
    return "computer-use-preview" in model


def anthropic_computer_tool(model: str) -> str:
    """The newest type of computer tool that a Claude takes.

    Source: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/computer-use-tool.
    """
    if _FIRST_COMPUTER_TOOL.search(model):
        return "computer_20250124"
    return "computer_20251124" if _SECOND_COMPUTER_TOOL.search(model) else "computer_toolset_20260801"
