"""Agents as they are built from composed settings."""

import json

import pytest

from harness.actions.computer_calls import Screen
from harness.agents.tools_agent import ToolBox, ToolsAgent
from harness.cli import configured
from harness.errors import ConfigError
from harness.evaluation.builder import build_agent, check_plugins
from harness.plugins.computer_agent.box import ComputerBox
from tests.agents.test_tools_agent import Answers

pytestmark = pytest.mark.integration


def test_a_computer_agent_is_built_from_its_settings() -> None:
    config = configured(["agent=computer", "llm.api=responses"])
    check_plugins(config)
    built = build_agent(config, Answers())
    assert isinstance(built, ToolsAgent) and isinstance(built.box, ComputerBox)
    assert built.box.screen == Screen(width=1280, height=720)
    assert built.box.legend, "the embedded endpoint reads no pictures"
    assert not configured(["agent=computer", "llm=anthropic", "llm.model=claude-sonnet-4-5"]).agent.legend
    with pytest.raises(ConfigError, match=r"give observation\.type=image"):
        check_plugins(configured(["agent=computer", "llm.api=responses", "observation.type=html"]))
    with pytest.raises(ConfigError, match=r"agent\.safety_checks=no is unknown; choose one of acknowledge, stop"):
        configured(["agent=computer", "agent.safety_checks=no"])


def test_a_tools_agent_is_built_from_its_settings() -> None:
    config = configured(["agent=tools"])
    check_plugins(config)
    built = build_agent(config, Answers())
    assert isinstance(built, ToolsAgent)
    assert "mouse" not in built.box.by_name and "click" in built.box.by_name
    assert built.conversation.model_key == "scripted chat scripted"
    with pytest.raises(ConfigError, match="set action_set=cairn"):
        check_plugins(configured(["agent=tools", "action_set=playwright"]))


@pytest.mark.sample(1)
@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("agent", ["tools", "computer"])
def test_the_function_of_a_note_is_offered_when_the_setting_says_so(agent: str, memory: bool) -> None:
    config = configured([f"agent={agent}", f"agent.memory={json.dumps(memory)}"])
    built = build_agent(config, Answers())
    assert isinstance(built, ToolsAgent) and isinstance(built.box, ToolBox | ComputerBox)
    names = [getattr(tool, "name", "computer") for tool in built.box.tools]
    assert ("keep_note" in names) is memory and built.conversation.settings.memory is memory


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["null", "random"])
def test_baselines_need_no_model_and_name_their_own_run(name: str) -> None:
    config = configured([f"agent={name}"])
    assert (config.llm.kind, config.agent.name, config.run.id) == ("none", name, f"demo-{name}-none")
    assert configured([f"agent={name}", "llm=openai"]).llm.kind == "openai"
    assert configured([f"+agent={name}"]).agent.kind == name


@pytest.mark.slow
def test_the_kind_of_an_agent_is_measured_and_the_usual_one_is_not() -> None:
    assert "agent.kind" not in configured([]).measured()
    assert configured(["agent=null"]).measured()["agent.kind"] == "null"
