"""What can be set of the shipped agents: a class for each kind, of which `agent` holds all."""

from dataclasses import dataclass, field
from typing import Any

from harness.choices import ValueRange
from harness.settings.fields import REQUIRED, setting
from harness.settings.plugin import PluginSettings

AGENT_KINDS = ("prompt", "tools", "computer", "process", "human", "careful", "null", "random")


@dataclass(frozen=True)
class ImageSettings:
    """The pictures of a page that a model is sent."""

    max_pixels: int | None = setting(None, bounds=ValueRange(10_000, 1 << 28))
    """A larger picture is scaled down to this many; null = as the browser gives it."""
    detail: str | None = None
    """Sent as it is (`low`, `high`, `auto`); null = not sent."""


@dataclass(frozen=True)
class AgentSettings(PluginSettings):
    """Of every kind of agent."""

    name: str = setting(REQUIRED, filled=True)
    """Part of the run's name, and how reports call the agent."""
    kind: str = setting("prompt", added=True, choices=AGENT_KINDS, plugins="cairn.agents")
    """Which shipped agent: one with a prompt per step, with function calls, with mouse and keyboard, a program of your
    own, a person, one that asks before it presses a button, or one of the baselines `null` and `random`."""
    needs: str | None = setting(None, added=True)
    """The part of `observation.type` without which the prompt makes no sense, as `marks`."""


@dataclass(frozen=True)
class ModelAgentSettings(AgentSettings):
    """Of agents that ask a model."""

    system: str = ""
    """Introduction; `{actions}` is replaced by the description of the action set."""
    max_observation_tokens: int = 4000
    """What the text of a page may take of the prompt, in tokens that are counted without a tokenizer, about a third
    more than GPT's for English prose; the rest is cut. 0 = no limit."""
    parsing_retries: int = setting(0, bounds=ValueRange(0, 1000))
    """How often a step is asked again after an unreadable reply, before that counts as a step."""
    history: int = setting(0, added=True)
    """Past steps repeated in the prompt as turns of the conversation, at most."""
    # The older half goes at once: the prompt begins as the one before for as long, which providers cache. A sliding
    # window would change its beginning at every step (docs/decisions/agents.md).
    history_tokens: int = setting(120_000, added=True)
    """What past steps may take of the prompt, in tokens of three bytes; half of them are dropped when it is too much.
    """
    # A part of the reply: as an action, a note would cost a step and a request each time.
    memory: bool = setting(False, added=True)
    """Whether the agent may keep a note from step to step."""
    tree: bool = setting(False, added=True)
    """The page's text is shown also where `observation.type` is of pictures only."""
    image: ImageSettings = setting(factory=ImageSettings, added=True)


@dataclass(frozen=True)
class PromptSettings(ModelAgentSettings):
    """Of `agent.kind=prompt`."""

    actions: dict[str, str] = field(default_factory=dict)
    """Action set to its description."""
    examples: list[Any] = field(default_factory=list)
    """Example turns, each `{user: TEXT, assistant: REPLY}`; the reply is one text, or one for each action set."""
    template: str = ""
    """User message with `{observation} {notices} {url} {objective} {previous_actions}`."""
    splitter: str = setting("```", filled=True)
    """What opens and closes the action in a reply."""
    example_role: str = setting("system", filled=True, choices=("system", "user"))
    """`system`: examples are system messages named example_user and example_assistant; `user`: they are turns of the
    conversation, for models that accept nothing else."""


@dataclass(frozen=True)
class ToolsSettings(ModelAgentSettings):
    """Of `agent.kind=tools`, and of others whose model calls functions."""

    strict: bool = setting(True, added=True)
    """`agent.kind=tools` only: whether the endpoint shall enforce the schemas of calls, where it can."""


@dataclass(frozen=True)
class ComputerSettings(ToolsSettings):
    """Of `agent.kind=computer`."""

    safety_checks: str = setting("acknowledge", added=True, choices=("acknowledge", "stop"))
    """`agent.kind=computer` only: what becomes of a call that its provider wants to have checked: `acknowledge` (it is
    performed, as no person watches) or `stop` (the episode ends)."""
    legend: bool = setting(False, added=True)
    """`agent.kind=computer` and `human` only: also say where elements are. For tests: it shows more than the screenshot
    does."""
