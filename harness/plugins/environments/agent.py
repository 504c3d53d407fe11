"""The agent whose decisions are a client's: it asks the server, which started its worker, what to do."""

import json
from typing import Any

from harness.api import (
    Action,
    ActionSet,
    ActionSyntaxError,
    AskHost,
    AskUser,
    CairnActionSet,
    ChatModel,
    Decision,
    Episode,
    EpisodeLeft,
    InvalidAction,
    LiveObservation,
    Refused,
    Reply,
    Stop,
    Task,
    Unknown,
    extract,
    read_arguments,
    resolve,
)
from harness.api.agent_kinds import AskingActionSet, working_s
from harness.api.settings import ObservationSettings
from harness.plugins.environments.rewards import Shaping, shaping_of
from harness.plugins.environments.wire import Order, Question, Sight


class ClientAgent:
    """An `Agent`; it keeps nothing from one decision to the next, so another process can go on."""

    shows_task_images = True
    """The server adds them to the first page."""

    def __init__(
        self,
        model: ChatModel,
        action_set: ActionSet,
        ask_host: AskHost,
        *,
        observation_settings: ObservationSettings,
        rewards: str | None = None,
    ) -> None:
        """`rewards`: see `shaping_of`."""
        self._sight = Sight.of(observation_settings)
        self._action_set = action_set
        self._ask_host = ask_host
        self._shaping = shaping_of(rewards)

    async def decide(self, task: Task, episode: Episode, view: LiveObservation, /) -> Decision:
        """Ask the server.

        Raises:
            EpisodeLeft: Nobody decides any more.
        """
        question = question_of(task, episode, view, sight=self._sight, shaping=self._shaping)
        begun = working_s()
        told: dict[str, Any] = json.loads(await self._ask_host(question.encoded()))
        # A client that is away, or whose trainer updates its weights, must not use up `limits.max_working_s`.
        waited_s = working_s() - begun
        if "leave" in told:
            raise EpisodeLeft(told["leave"])
        order = Order(**told["order"])
        action = resolve(self._read(order, task), view.nodes)
        return Decision(action=action, reply=Reply(text=order.said, waited_s=waited_s), memory=order.memory)

    def _read(self, order: Order, task: Task) -> Action:
        """`InvalidAction` for what is none: the client is told with the next page, as a model is."""
        try:
            return action_of(order, actions_for(task, self._action_set))
        except (ActionSyntaxError, ValueError) as error:
            return InvalidAction(why=str(error))


def action_of(order: Order, action_set: ActionSet) -> Action:
    """Raises: ActionSyntaxError, ValueError: It is not an action of the set; the sentence is for the client."""
    if order.unread:
        raise ValueError(order.unread)
    if not order.name:
        return action_set.parse(extract(order.text) if order.text.count("```") > 1 else order.text)
    known = named_of(action_set)
    if order.name not in known:
        raise ValueError(f"there is no action {order.name[:80]!r}; there are {', '.join(known)}")
    return read_arguments(known[order.name], order.arguments)


def actions_for(task: Task, action_set: ActionSet) -> ActionSet:
    """The actions of a task, which may be to ask its user."""
    return action_set if task.user is None else AskingActionSet(action_set)


def goal_of(task: Task) -> str:
    """What is to be done; in a task with a user, also that it may be asked."""
    return task.intent if task.user is None else f"{task.intent}\n\n{AskUser.prompt}"


def actions_of(action_set: ActionSet) -> tuple[type[Action], ...]:
    """The actions that can be called by name; () = those of this set are written as text only."""
    return action_set.actions if isinstance(action_set, CairnActionSet | AskingActionSet) else ()


def named_of(action_set: ActionSet) -> dict[str, type[Action]]:
    """Those of `actions_of`, by name; and the end, which every action set has."""
    known: dict[str, type[Action]] = {Stop.kind: Stop}
    known |= {action.kind: action for action in actions_of(action_set)}
    return known | ({AskUser.kind: AskUser} if isinstance(action_set, AskingActionSet) else {})


def question_of(
    task: Task, episode: Episode, view: LiveObservation, *, sight: Sight, shaping: Shaping | None = None
) -> Question:
    """What the client is shown."""
    newest = episode.steps[-1].acted if episode.steps else None
    outcome, given = (newest.outcome, newest.reward) if newest else (None, None)
    decided = episode.steps[-1].decided.action if episode.steps else None
    refused = outcome.why if isinstance(outcome, Refused | Unknown) else ""
    return Question(
        task_id=task.task_id,
        trial=episode.opened.trial if episode.opened else 0,
        attempt=episode.attempt,
        goal=goal_of(task),
        steps=len(episode.steps),
        page=sight.page(view.observation),
        image=view.image if sight.image else None,
        reward=shaping.of(task, episode.steps, given) if shaping else given,
        refused=decided.why if isinstance(decided, InvalidAction) else refused,
        doubts=tuple(doubt.why for doubt in episode.doubts),
    )
