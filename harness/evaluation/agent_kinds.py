"""The shipped agents, by the word that `agent.kind` has for each."""

from collections.abc import Callable, Mapping

from harness.agents.null_agent import NullAgent
from harness.agents.prompt import Prompt, read_prompt
from harness.agents.prompt_agent import PromptAgent
from harness.agents.random_agent import RandomAgent
from harness.api import Agent, ChatModel
from harness.choices import ObservationType
from harness.config import Config
from harness.evaluation.action_classes import action_set_of, prompt_lines


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
    if config.agent.kind not in MODEL_FREE:
        _prompt(config)


def _prompt(config: Config) -> Prompt:
    return read_prompt(vars(config.agent), action_set=config.action_set.value, more=prompt_lines(config.actions))


def _prompt_agent(config: Config, model: ChatModel) -> Agent:
    return PromptAgent(
        model=model,
        prompt=_prompt(config),
        action_set=action_set_of(config.action_set.value, config.actions),
        max_observation_tokens=config.agent.max_observation_tokens,
        parsing_retries=config.agent.parsing_retries,
        sees=config.observation.type is ObservationType.image,
        history=config.agent.history,
        history_tokens=config.agent.history_tokens,
        keeps_note=config.agent.memory,
    )


_KINDS: Mapping[str, Callable[[Config, ChatModel], Agent]] = {
    "prompt": _prompt_agent,
    "null": lambda config, model: NullAgent(),
    "random": lambda config, model: RandomAgent(),
}
MODEL_FREE = frozenset({"null", "random"})
"""Kinds that ask no model."""
