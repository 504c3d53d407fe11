"""The shipped agents, by the word that `agent.kind` has for each."""

from collections.abc import Callable, Mapping

from harness.actions import CairnActionSet, Keyboard, Mouse
from harness.agents.computer_box import ComputerBox
from harness.agents.computer_calls import Screen
from harness.agents.conversation import Conversation
from harness.agents.null_agent import NullAgent
from harness.agents.page_view import PageView
from harness.agents.prompt import Prompt, read_prompt
from harness.agents.prompt_agent import PromptAgent
from harness.agents.random_agent import RandomAgent
from harness.agents.tools_agent import Box, ToolBox, ToolsAgent
from harness.api import Agent, ChatModel
from harness.choices import ObservationType
from harness.config import Config
from harness.config.observation_settings import TEXTS
from harness.errors import ConfigError
from harness.evaluation.action_classes import action_set_of, prompt_lines
from harness.pictures.png import scaled_size


def shipped_agent(config: Config, model: ChatModel) -> Agent:
    """The agent that `agent.kind` names.

    Raises:
        ConfigError: It cannot be made of these settings.
    """
    return _KINDS[config.agent.kind](config, model)


def check_agent(config: Config) -> None:
    """See that `shipped_agent` will make one.

    Raises:
        ConfigError: It will not.
    """
    match config.agent.kind:
        case "prompt":
            _prompt(config)
        case "tools":
            _tool_box(config)
    needed = config.agent.needs
    if needed is not None and needed not in {part.value for part in config.observation.parts}:
        raise ConfigError(
            f"agent={config.agent.name} needs {needed} in observation.type, which is {config.observation.type}; give "
            f"observation.type={needed}"
        )


def _prompt(config: Config) -> Prompt:
    return read_prompt(vars(config.agent), action_set=config.action_set.value, more=prompt_lines(config.actions))


def _prompt_agent(config: Config, model: ChatModel) -> Agent:
    return PromptAgent(
        model=model,
        prompt=_prompt(config),
        action_set=action_set_of(config.action_set.value, config.actions),
        max_observation_tokens=config.agent.max_observation_tokens,
        parsing_retries=config.agent.parsing_retries,
        shows=_page_view(config),
        history=config.agent.history,
        history_tokens=config.agent.history_tokens,
        keeps_note=config.agent.memory,
    )


def _tool_box(config: Config) -> ToolBox:
    chosen = action_set_of(config.action_set.value, config.actions)
    if not isinstance(chosen, CairnActionSet):
        raise ConfigError(
            f"agent={config.agent.name} calls functions, which action_set={chosen.name} has none of; "
            f"set action_set={CairnActionSet.name}"
        )
    by_sight = () if ObservationType.image in config.observation.parts else (Mouse, Keyboard)
    box = ToolBox(tuple(one for one in chosen.actions if one not in by_sight), config.agent.strict, _page_view(config))
    try:
        assert box.tools
    except TypeError as error:
        raise ConfigError(f"actions: {error}") from error
    return box


def _tools_agent(config: Config, model: ChatModel) -> Agent:
    return _calling_agent(config, model, _tool_box(config), only_newest=False)


def _computer_agent(config: Config, model: ChatModel) -> Agent:
    viewport = config.browser.width, config.browser.height
    width, height = scaled_size(viewport, config.agent.image.max_pixels)
    box = ComputerBox(
        Screen(width=width, height=height),
        viewport,
        config.agent.image.max_pixels,
        strict=config.agent.strict,
        legend=config.agent.legend,
    )
    return _calling_agent(config, model, box, only_newest=True)


def _calling_agent(config: Config, model: ChatModel, box: Box, *, only_newest: bool) -> Agent:
    action_set = action_set_of(config.action_set.value, config.actions)
    conversation = Conversation(
        system=config.agent.system,
        action_set=action_set,
        history=config.agent.history,
        history_tokens=config.agent.history_tokens,
        max_observation_tokens=config.agent.max_observation_tokens,
        tabs_only=not _page_view(config).text,
        only_newest=only_newest,
    )
    return ToolsAgent(
        model=model,
        conversation=conversation,
        box=box,
        action_set=action_set,
        parsing_retries=config.agent.parsing_retries,
        stops_at_checks=config.agent.safety_checks == "stop",
    )


def _page_view(config: Config) -> PageView:
    parts = config.observation.parts
    return PageView(
        text=config.agent.tree or config.observation._target_ is not None or not parts.isdisjoint(TEXTS),
        image=ObservationType.image in parts,
        marks=ObservationType.marks in parts,
        max_pixels=config.agent.image.max_pixels,
        detail=config.agent.image.detail,
    )


_KINDS: Mapping[str, Callable[[Config, ChatModel], Agent]] = {
    "prompt": _prompt_agent,
    "tools": _tools_agent,
    "computer": _computer_agent,
    "null": lambda config, model: NullAgent(),
    "random": lambda config, model: RandomAgent(),
}
