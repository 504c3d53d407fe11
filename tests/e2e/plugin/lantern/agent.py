"""An agent without a model that adds up the numbers on a row of pages, and remembers them between its steps."""

import os
import re

from harness.api import Action, ChatModel, Decision, Episode, LiveObservation, Reply, Stop, Task
from lantern.action import TurnTo


class Adder:
    def __init__(self, model: ChatModel, pages: int, api_key: str = "") -> None:
        self._pages = pages

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        memory = episode.memory or {"numbers": [], "processes": []}
        seen = observation.observation
        found = re.search(r"number (\d+)", seen.text)
        memory["numbers"].append(int(found[1]) if found else 0)
        memory["processes"].append(os.getpid())
        action: Action = TurnTo(number=len(memory["numbers"]) + 1)
        if len(memory["numbers"]) == self._pages:
            action = Stop(answer=str(sum(memory["numbers"])))
        return Decision(action=action, reply=Reply(text=action.kind, model="adder"), memory=memory)
