"""A prompt as data."""

from typing import Any

import pytest

from harness.agents.prompt import read_prompt
from harness.errors import ConfigError

SETTINGS: dict[str, Any] = {
    "system": "Act: {actions}",
    "actions": {"cairn": "click [id]\n"},
    "examples": [{"user": "u", "assistant": "a"}],
    "template": "{observation}|{objective}",
}
VALUES = {"observation": "o", "notices": "", "url": "", "objective": "j", "previous_actions": ""}


def test_examples_are_named_system_messages_or_turns() -> None:
    named = read_prompt(SETTINGS, action_set="cairn").messages(VALUES)
    assert [(m.role, m.name, m.content) for m in named] == [
        ("system", None, "Act: click [id]"),
        ("system", "example_user", "u"),
        ("system", "example_assistant", "a"),
        ("user", None, "o|j"),
    ]
    turns = read_prompt(SETTINGS | {"example_role": "user"}, action_set="cairn").messages(VALUES)
    assert [(m.role, m.name) for m in turns] == [("system", None), ("user", None), ("assistant", None), ("user", None)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"actions": {}}, "agent.actions does not describe the action set cairn; it has none"),
        ({"template": "{observation}"}, "{objective}"),
        ({"examples": ["x"]}, r"agent.examples[0]"),
        ({"example_role": "tool"}, "agent.example_role"),
        ({"splitter": " "}, "agent.splitter"),
    ],
)
def test_a_wrong_prompt_is_one_sentence_naming_the_key(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_prompt(SETTINGS | change, action_set="cairn")
    assert told in str(caught.value)
