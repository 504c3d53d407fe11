"""An agent that does what no other agent of the tests does, and ends."""

from harness.actions import Press
from harness.api import Action, ChatModel, Decision, Episode, LiveObservation, Stop, Task


class OtherWays:
    """Presses a key after the inherited steps, and stops."""

    def __init__(self, model: ChatModel) -> None:
        """It asks none."""

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        has_begun = len(episode.steps) > episode.inherited
        action: Action = Stop(answer="elsewhere") if has_begun else Press(key_comb="F8")
        return Decision(action=action)
