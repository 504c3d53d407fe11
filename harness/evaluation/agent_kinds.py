"""The shipped agents, by the word that `agent.kind` has for each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.actions import ActionSet, CairnActionSet, KeepNote, Keyboard, Mouse
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
from harness.browser.acting.uploads import available_files
from harness.choices import ObservationType, OnDivergence
from harness.config.agent_settings import AgentConfig
from harness.config.observation_settings import TEXTS, ObservationConfig
from harness.errors import ConfigError
from harness.evaluation.action_classes import action_set_of, prompt_lines
from harness.llm.providers import provider_of
from harness.pictures.png import scaled_size


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """What shipped agents are made of."""

    agent: AgentConfig
    observation: ObservationConfig
    action_set: str
    """Its name."""
    actions: tuple[str, ...]
    """Dotted paths of further actions of the set."""
    viewport: tuple[int, int]
    """Width and height in CSS pixels."""
    api: str
    """The interface of the model."""
    model: str
    """Its name."""
    on_divergence: OnDivergence
    uploads: str | None = None
    """Folder of the files that may be uploaded; None = none may."""

    @property
    def files(self) -> str:
        """What a model is told of them, as a sentence; "" = none may be uploaded."""
        if self.uploads is None:
            return ""
        said = available_files(self.uploads)
        return f"{said[0].upper()}{said[1:]}."

    def chosen_actions(self) -> ActionSet:
        return action_set_of(self.action_set, self.actions)

    def page_view(self) -> PageView:
        parts, image = self.observation.parts, self.agent.image
        return PageView(
            text=self.agent.tree or self.observation._target_ is not None or not parts.isdisjoint(TEXTS),
            image=ObservationType.image in parts,
            marks=ObservationType.marks in parts,
            max_pixels=image.max_pixels,
            detail=image.detail,
        )


def shipped_agent(settings: AgentSettings, model: ChatModel) -> Agent:
    """The agent that `agent.kind` names.

    Raises:
        ConfigError: It cannot be made of these settings.
    """
    return _KINDS[settings.agent.kind](settings, model)


def check_agent(settings: AgentSettings) -> None:
    """See that `shipped_agent` will make one.

    Raises:
        ConfigError: It will not.
    """
    match settings.agent.kind:
        case "prompt":
            _prompt(settings)
        case "tools":
            tool_box(settings)
        case "computer" if not provider_of(settings.api).has_computer_tool:
            raise ConfigError(
                f"llm.api={settings.api} has no computer tool; choose llm.api=responses or llm.api=messages"
            )
        case "process":
            from harness.evaluation.process_agent import (
                check_process_agent,  # it imports a web server, which other agents do not need
            )

            check_process_agent(settings)
    needed = settings.agent.needs
    if needed is not None and needed not in {part.value for part in settings.observation.parts}:
        raise ConfigError(
            f"agent={settings.agent.name} needs {needed} in observation.type, which is {settings.observation.type}; "
            f"give observation.type={needed}"
        )


def _prompt(settings: AgentSettings) -> Prompt:
    can_upload = "upload [" in settings.agent.actions.get(settings.action_set, "")
    files = (settings.files,) if settings.files and can_upload else ()
    return read_prompt(
        vars(settings.agent), action_set=settings.action_set, more=(*prompt_lines(settings.actions), *files)
    )


def _prompt_agent(settings: AgentSettings, model: ChatModel) -> Agent:
    return PromptAgent(
        model=model,
        prompt=_prompt(settings),
        action_set=settings.chosen_actions(),
        max_observation_tokens=settings.agent.max_observation_tokens,
        parsing_retries=settings.agent.parsing_retries,
        shows=settings.page_view(),
        history=settings.agent.history,
        history_tokens=settings.agent.history_tokens,
        keeps_note=settings.agent.memory,
    )


def tool_box(settings: AgentSettings) -> ToolBox:
    chosen = settings.chosen_actions()
    if not isinstance(chosen, CairnActionSet):
        raise ConfigError(
            f"agent={settings.agent.name} calls functions, which action_set={chosen.name} has none of; "
            f"set action_set={CairnActionSet.name}"
        )
    by_sight = () if ObservationType.image in settings.observation.parts else (Mouse, Keyboard)
    noting = (KeepNote,) if settings.agent.memory else ()
    actions = (*(one for one in chosen.actions if one not in by_sight), *noting)
    box = ToolBox(actions, settings.agent.strict, settings.page_view(), settings.files)
    try:
        assert box.tools
    except TypeError as error:
        raise ConfigError(f"actions: {error}") from error
    return box


def _tools_agent(settings: AgentSettings, model: ChatModel) -> Agent:
    return _calling_agent(settings, model, tool_box(settings), only_newest=False)


def _computer_agent(settings: AgentSettings, model: ChatModel) -> Agent:
    width, height = scaled_size(settings.viewport, settings.agent.image.max_pixels)
    box = ComputerBox(
        Screen(width=width, height=height),
        settings.viewport,
        settings.agent.image.max_pixels,
        strict=settings.agent.strict,
        legend=settings.agent.legend,
        keeps_note=settings.agent.memory,
    )
    return _calling_agent(settings, model, box, only_newest=True)


def _calling_agent(settings: AgentSettings, model: ChatModel, box: Box, *, only_newest: bool) -> Agent:
    action_set = settings.chosen_actions()
    conversation = Conversation(
        system=settings.agent.system,
        action_set=action_set,
        history=settings.agent.history,
        history_tokens=settings.agent.history_tokens,
        max_observation_tokens=settings.agent.max_observation_tokens,
        tabs_only=not settings.page_view().text,
        only_newest=only_newest,
    )
    return ToolsAgent(
        model=model,
        conversation=conversation,
        box=box,
        action_set=action_set,
        parsing_retries=settings.agent.parsing_retries,
        stops_at_checks=settings.agent.safety_checks == "stop",
        keeps_note=settings.agent.memory,
    )


_KINDS: Mapping[str, Callable[[AgentSettings, ChatModel], Agent]] = {
    "prompt": _prompt_agent,
    "tools": _tools_agent,
    "computer": _computer_agent,
    "null": lambda settings, model: NullAgent(),
    "random": lambda settings, model: RandomAgent(),
}
