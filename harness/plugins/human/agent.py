"""The agent whose decisions are a person's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from harness.api import Action, Decision, Episode, LiveObservation, Reply, Task, resolve
from harness.api.actions import Mouse, PointClick, Screen
from harness.api.agent_kinds import AgentContext, Environment, LaneServices, SessionJournal, working_s
from harness.api.settings import ComputerSettings, ObservationType
from harness.errors import ConfigError, ShutdownRequested
from harness.plugins.human.desk import Desk, element_at, place_of
from harness.plugins.human.served import desk_of


class HumanKind:
    """Fits `SessionAgentKind`."""

    def check(self, settings: ComputerSettings, context: AgentContext) -> None:
        """See `AgentKind.check`."""
        if ObservationType.image not in context.observation.parts:
            raise ConfigError("a person has to see the page; give observation.type=image")

    def drives_browser(self, settings: ComputerSettings) -> bool:
        """See `SessionAgentKind.drives_browser`."""
        return False

    async def start(self, settings: ComputerSettings, context: AgentContext, services: LaneServices) -> "HumanAgent":
        """See `SessionAgentKind.start`. The lanes of one process have one page."""
        desk = await desk_of(context.viewport, legend=settings.legend, say=services.say)
        return HumanAgent(desk=desk, stopping=services.stopping)


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanAgent:
    """Fits `SessionAgent`."""

    desk: Desk
    stopping: Callable[[], Awaitable[None]]
    """Waits until the run is to stop."""

    @asynccontextmanager
    async def session(self, journal: SessionJournal, env: Environment) -> AsyncIterator["HumanSession"]:
        """See `SessionAgent.session`."""
        session = HumanSession(self)
        try:
            yield session
        finally:
            self.desk.close(session.place)


class HumanSession:
    """Fits `AgentSession`. It keeps nothing that a decision depends on, so another process can go on."""

    def __init__(self, agent: HumanAgent) -> None:
        self._agent = agent
        self.place = ""

    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        """Wait for the person, for as long as it takes.

        Raises:
            ShutdownRequested: The run is to stop first.
        """
        self.place, begun = place_of(task, episode), working_s()
        turn = self._agent.desk.ask(task, episode, view)
        stopping = asyncio.ensure_future(self._agent.stopping())
        try:
            await asyncio.wait((turn.said, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not turn.said.done():
                raise ShutdownRequested("the run is stopping")
            said = turn.said.result()
        finally:
            stopping.cancel()
            self._agent.desk.answered(turn)
        waited_s = max(0.0, working_s() - begun - turn.stopwatch.read())
        return Decision(
            action=resolve(said.action, view.nodes),
            reply=Reply(text=said.note, waited_s=waited_s),
            memory={"gave_up": True} if said.gave_up else _memory(said.action, view, self._agent.desk.screen),
        )


def _memory(action: Action, view: LiveObservation, screen: Screen) -> dict[str, Any] | None:
    """The element that was clicked: the journal has the point, and who reads or repeats it wants to know more."""
    if not isinstance(action, PointClick | Mouse):
        return None
    found = element_at(view, action.x * screen.width, action.y * screen.height)
    return None if found is None else {"element": found}
