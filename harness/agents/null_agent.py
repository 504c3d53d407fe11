"""The baseline that does nothing: it stops at once, without an answer and without a model.

What it passes, a task gives away: its start page already is what the task asks for, or an empty answer is accepted.
"""

from harness.actions import Stop
from harness.agents.kind import AgentContext
from harness.api import Agent, ChatModel, Decision
from harness.records import Episode, LiveObservation, Task
from harness.settings.agents import AgentSettings


class NullAgent:
    """An `Agent`."""

    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        return Decision(action=Stop(answer=""))


class NullKind:
    """Fits `AgentKind`."""

    def check(self, settings: AgentSettings, context: AgentContext) -> None:
        """There is nothing to be wrong."""

    def make(self, settings: AgentSettings, context: AgentContext, model: ChatModel) -> Agent:
        """See `AgentKind.make`."""
        return NullAgent()
