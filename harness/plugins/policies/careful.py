"""An agent that asks the user before it presses a button: with it, the policies of a task are known to be kept.

What to do is decided as by `agent=prompt`, which is not told that its presses are asked about: the answer is among the
notices of the page on which it decides again.
"""

from dataclasses import dataclass, replace

from harness.api import Action, Agent, AskUser, ChatModel, Click, Decision, Episode, LiveObservation, Step, Task
from harness.api.agent_kinds import AgentContext, PromptKind
from harness.api.settings import PromptSettings

_MAY_I = "May I press this button: "


@dataclass(frozen=True, slots=True)
class Careful:
    """An `Agent` that asks on behalf of another one."""

    other: Agent

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        """See `harness.api.Agent`; tasks without a user are the other agent's."""
        if task.user is None:
            return await self.other.decide(task, episode, observation)
        steps = tuple(step for step in episode.steps if not _is_own(step))
        decision = await self.other.decide(task, replace(episode, steps=steps), observation)
        question = _question(decision.action)
        last = episode.steps[-1].decided.action if episode.steps else None
        if question is None or last == question:
            return decision
        return replace(decision, action=question)


def _question(action: Action) -> AskUser | None:
    """What has to be asked before; None = nothing."""
    if not isinstance(action, Click) or action.target.role != "button":
        return None
    return AskUser(question=f"{_MAY_I}{action.target.name}?")


def _is_own(step: Step) -> bool:
    action = step.decided.action
    return isinstance(action, AskUser) and action.question.startswith(_MAY_I)


class CarefulKind(PromptKind):
    """`agent.kind=careful`."""

    def make(self, settings: PromptSettings, context: AgentContext, model: ChatModel, /) -> Agent:
        """See `harness.agents.kind.AgentKind`."""
        return Careful(super().make(settings, context, model))
