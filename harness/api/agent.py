"""What an agent is, and the model it is given."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from harness.actions import Action
from harness.records import ComputerTool, Episode, LiveObservation, Message, Reply, Task, Tool


class ChatModel(Protocol):
    """A chat model; the one an agent is given is rate limited, retried, counted and priced."""

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        """Answer one chat request; `tools` may be called by the answer.

        Raises:
            ModelRejected: The endpoint rejects all requests; the run must stop.
            RequestRefused: It refuses this request as such.
            ModelUnavailable: No answer after all retries.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What an agent wants to do next, and how it came to it."""

    action: Action
    """`InvalidAction` for a reply that holds none."""
    messages: tuple[Message, ...] = ()
    """What the model was sent; () when no model was asked."""
    reply: Reply = field(default_factory=Reply)
    """The model's, with its tokens and cost; for reports and budgets."""
    memory: Any = None
    """JSON value that the next decision finds in `Episode.memory`: in the same process, or in another after a resume.
    At most `MAX_MEMORY_BYTES`; None = nothing.
    """


# It is in the journal: were it an artifact, a fold would need the disk.
MAX_MEMORY_BYTES = 1 << 20
"""Limit for an agent's memory as JSON: the journal stores it with every decision."""


@runtime_checkable
class Agent(Protocol):
    """Chooses the actions. One instance per lane runs many episodes, one after the other.

        class Patient:
            def __init__(self, model: ChatModel, most_waits: int = 3) -> None:
                self._model, self._most_waits = model, most_waits

            async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
                waits = episode.memory or 0
                if waits < self._most_waits:
                    return Decision(action=Wait(), memory=waits + 1)
                return Decision(action=Stop(answer=""))

    The constructor is given the model as `model`, `agent.arguments` by name, and, if it names such arguments, the
    `ActionSet` of the run as `action_set`, an `AskHost` as `ask_host`, and what agents are shown of a page
    (`harness.api.settings.ObservationSettings`) as `observation_settings`.
    """

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        """Choose the next action from the arguments alone, which say nothing of how the task is judged.

        What has to survive until the next decision belongs in `Decision.memory`: an attribute of the agent is lost
        when its process ends, and is shared by all episodes of its lane. An exception fails this attempt of the task
        only.
        """
        ...
