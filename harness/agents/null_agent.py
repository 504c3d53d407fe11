"""The baseline that does nothing: it stops at once, without an answer and without a model.

What it passes, a task gives away: its start page already is what the task asks for, or an empty answer is accepted.
"""

from harness.actions import Stop
from harness.api import Decision
from harness.records import Episode, LiveObservation, Task


class NullAgent:
    """An `Agent`."""

    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        return Decision(action=Stop(answer=""))
