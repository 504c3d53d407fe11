"""What a kind of agent is to the run that plays it: a check of its settings before the run, and a factory."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from harness.actions import ActionSet
from harness.agents.page_view import PageView
from harness.api import Agent, ChatModel
from harness.choices import ObservationType, OnDivergence
from harness.protocols import SessionAgent
from harness.settings.agents import AgentSettings, ModelAgentSettings
from harness.settings.observation import ObservationSettings

_Settings = TypeVar("_Settings", bound=AgentSettings, contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """What an agent is made with besides its own settings."""

    observation: ObservationSettings
    action_set: ActionSet
    """With the actions of plug-ins in it."""
    prompt_lines: tuple[str, ...] = ()
    """What a prompt says of those."""
    viewport: tuple[int, int]
    """Width and height in CSS pixels."""
    api: str
    """Name of the model's provider."""
    has_computer_tool: bool = False
    """Whether that provider has one."""
    model: str
    """Name of the run's model."""
    endpoint: str = ""
    """`llm.kind`: what kind of endpoint it is at."""
    on_divergence: OnDivergence
    files: str = ""
    """What a model is told of the files that may be uploaded, as a sentence; "" = none may be."""

    @property
    def model_key(self) -> str:
        """Endpoint, interface and model in one: what one of them sent in its own form, no other can read."""
        return f"{self.endpoint} {self.api} {self.model}"

    def page_view(self, settings: ModelAgentSettings) -> PageView:
        """How a page is shown to the model."""
        parts = self.observation.parts
        return PageView(
            text=settings.tree or self.observation.shows_text,
            image=ObservationType.image in parts,
            marks=ObservationType.marks in parts,
            max_pixels=settings.image.max_pixels,
            detail=settings.image.detail,
        )


class AgentKind(Protocol[_Settings]):
    """Makes agents that are objects of this process."""

    def check(self, settings: _Settings, context: AgentContext, /) -> None:
        """See that `make` will make one.

        Raises:
            ConfigError: It will not.
        """
        ...

    def make(self, settings: _Settings, context: AgentContext, model: ChatModel, /) -> Agent:
        """The agent of one lane."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneServices:
    """What the run gives to an agent that brings a model client of its own."""

    passthrough: Callable[[str | None], Awaitable[Any]]
    """Given the name that takes the place of the one in a request (None = it stays): passes requests on to the run's
    model; None = the run has no model."""
    stopping: Callable[[], Awaitable[None]]
    """Waits until the run is to stop."""
    hidden: Callable[[], tuple[Path, ...]]
    """Gives what it must not read."""
    say: Callable[[str], None] = lambda text: None
    """Prints a sentence where the run was started; the same one once."""


@runtime_checkable
class WatchableEnvironment(Protocol):
    """An `Environment` whose browser can be looked at while it does something."""

    async def glance(self) -> bytes | None:
        """The current tab as it is painted now, a JPEG of the viewport; None = it has none, or it does not come soon.

        It is not an observation: nothing is waited for, changed or recorded.
        """
        ...

    async def is_at_password(self) -> bool:
        """Whether what is typed now goes into a field for a password; False = it does not, or the page does not say."""
        ...


@runtime_checkable
class SessionAgentKind(Protocol[_Settings]):
    """Makes agents that last as long as an episode is played."""

    def check(self, settings: _Settings, context: AgentContext, /) -> None:
        """As of `AgentKind`."""
        ...

    def drives_browser(self, settings: _Settings, /) -> bool:
        """Whether it sends its own commands to the browser."""
        ...

    async def start(self, settings: _Settings, context: AgentContext, services: LaneServices, /) -> SessionAgent:
        """The agent of one lane."""
        ...
