"""Which names are those of reasoning models, and what those are sent."""

import pytest

from harness.api import ChatSettings
from harness.llm.model_family import REASONING_TOKENS, is_reasoning_model
from harness.llm.providers.chat import ChatCompletions


@pytest.mark.parametrize(
    "model",
    [
        *("openai/gpt-5-mini", "openai/gpt-5:online", "ft:o4-mini-2025-04-16:org::id", "OpenAI/O3-Mini:high"),
        *(
            "o1",
            "o3-mini",
            "o4-mini-2025-04-16",
            "openai/o3",
            "gpt-5",
            "gpt-5-mini",
            "gpt-5.1",
            "openrouter:GPT-5-nano",
        ),
    ],
)
def test_reasoning_models_are_known(model: str) -> None:
    assert is_reasoning_model(model)


@pytest.mark.parametrize(
    "model",
    [
        *("anthropic/claude-sonnet-4.5", "gpt-5-chat-latest:online", "ft:gpt-4o-mini:org::id"),
        *(
            "gpt-4o",
            "gpt-4.1",
            "gpt-5-chat-latest",
            "gpt-50",
            "gpt-oss-120b",
            "o",
            "olmo",
            "claude-opus-4",
            "",
            "m/o3x",
        ),
    ],
)
def test_others_are_not(model: str) -> None:
    assert not is_reasoning_model(model)


def test_a_reasoning_model_is_sent_what_it_takes() -> None:
    settings = ChatSettings(model="gpt-5", temperature=0.0, top_p=0.9, max_tokens=9, reasoning_effort="low", seed=3)
    assert ChatCompletions().parameters(settings) == {
        "max_completion_tokens": 9 + REASONING_TOKENS,
        "reasoning_effort": "low",
        "seed": 3,
    }
    assert ChatCompletions().parameters(ChatSettings(model="gpt-5")) == {}


def test_naming_the_field_sends_everything_as_it_is() -> None:
    settings = ChatSettings(model="gpt-5", temperature=1.0, max_tokens=9, max_tokens_field="max_completion_tokens")
    assert ChatCompletions().parameters(settings) == {"temperature": 1.0, "max_completion_tokens": 9}
