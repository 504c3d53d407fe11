"""The agent whose decisions are a person's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from harness.api import Action, Decision, Episode, LiveObservation, Press, Reply, Task, resolve
from harness.api.actions import Keyboard, Mouse, PointClick
from harness.api.agent_kinds import (
    AgentContext,
    Environment,
    LaneServices,
    SessionJournal,
    WatchableEnvironment,
    working_s,
)
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
        session = HumanSession(self, env if isinstance(env, WatchableEnvironment) else None)
        try:
            yield session
        finally:
            self.desk.close(session.place)


class HumanSession:
    """Fits `AgentSession`. It keeps nothing that a decision depends on, so another process can go on."""

    def __init__(self, agent: HumanAgent, watched: WatchableEnvironment | None = None) -> None:
        self._agent = agent
        self._watched = watched
        self.place = ""

    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        """Wait for the person, for as long as it takes.

        Raises:
            ShutdownRequested: The run is to stop first.
        """
        self.place, begun = place_of(task, episode), working_s()
        turn = self._agent.desk.ask(task, episode, view, None if self._watched is None else self._watched.glance)
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
            memory={"gave_up": True} if said.gave_up else await self._memory(said.action, view),
        )

    async def _memory(self, action: Action, view: LiveObservation) -> dict[str, Any] | None:
        """What the journal's action does not say, and who reads or repeats it wants to know: the element that was
        clicked, and that a password was typed."""
        if isinstance(action, PointClick | Mouse):
            screen = self._agent.desk.screen
            found = element_at(view, action.x * screen.width, action.y * screen.height)
            return None if found is None else {"element": found}
        types = isinstance(action, Keyboard) or (isinstance(action, Press) and len(action.key_comb) == 1)
        if types and self._watched is not None and await self._watched.is_at_password():
            return {"password": True}
        return None
