"""A prompt as data."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from harness.actions import InvalidAction, extract
from harness.agents.prompt import read_prompt
from harness.config import PROJECT
from harness.errors import ConfigError
from harness.evaluation.action_classes import ACTION_SETS, action_set_of
from harness.settings.agents import PromptSettings

SHIPPED = sorted((PROJECT / "configs" / "agent").glob("*.yaml"))
SETTINGS = PromptSettings(
    system="Act: {actions}",
    actions={"cairn": "click [id]\n"},
    examples=[{"user": "u", "assistant": "a"}],
    template="{observation}|{objective}",
)
VALUES = {"observation": "o", "notices": "", "url": "", "objective": "j", "previous_actions": ""}


def test_examples_are_named_system_messages_or_turns() -> None:
    named = read_prompt(SETTINGS, action_set="cairn").messages(VALUES)
    assert [(m.role, m.name, m.content) for m in named] == [
        ("system", None, "Act: click [id]"),
        ("system", "example_user", "u"),
        ("system", "example_assistant", "a"),
        ("user", None, "o|j"),
    ]
    turns = read_prompt(replace(SETTINGS, example_role="user"), action_set="cairn").messages(VALUES)
    assert [(m.role, m.name) for m in turns] == [("system", None), ("user", None), ("assistant", None), ("user", None)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"actions": {}}, "agent.actions does not describe the action set cairn; it describes none"),
        ({"template": "{observation}"}, "{objective}"),
        ({"examples": ["x"]}, r"agent.examples[0]"),
        ({"example_role": "tool"}, "agent.example_role"),
        ({"splitter": " "}, "agent.splitter"),
    ],
)
def test_a_wrong_prompt_is_one_sentence_naming_the_key(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_prompt(replace(SETTINGS, **change), action_set="cairn")
    assert told in str(caught.value)


def shipped(path: Path) -> PromptSettings:
    """An agent as hydra composes it: the common prompt under its own settings."""
    common, own = (OmegaConf.to_container(OmegaConf.load(one)) for one in (path.parent / "prompt.yaml", path))
    assert isinstance(common, dict) and isinstance(own, dict)
    actions = {**common["actions"], **own.get("actions", {})}
    known, given = {one.name for one in fields(PromptSettings)}, {**common, **own, "actions": actions}
    return PromptSettings(**{key: value for key, value in given.items() if key in known})


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
@pytest.mark.parametrize("action_set", ACTION_SETS.names())
def test_every_example_of_a_shipped_prompt_is_an_action_of_the_set_in_use(path: Path, action_set: str) -> None:
    prompt = read_prompt(shipped(path), action_set=action_set)
    for _, reply in prompt.examples:
        assert not isinstance(
            action_set_of(action_set).parse(extract(reply, prompt.settings.splitter)), InvalidAction
        ), reply


def test_an_example_without_a_reply_in_the_set_in_use_is_left_out() -> None:
    examples = [{"user": "u", "assistant": {"playwright": "p"}}, {"user": "v", "assistant": "any"}]
    assert read_prompt(replace(SETTINGS, examples=examples), action_set="cairn").examples == (("v", "any"),)
