"""An agent that turns pages and never stops by itself."""

from harness.api import ChatModel, Decision, Episode, LiveObservation, Task
from lantern.action import TurnTo


class Walker:
    def __init__(self, model: ChatModel) -> None:
        pass

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        return Decision(action=TurnTo(number=len(episode.steps) + 1))
