"""The baseline that acts at random: any action that is possible on the page it sees, without a model.

Each choice follows from the run's seed, the task, the trial and the step, so the same run is made again, and one that
was interrupted goes on as it would have. It never stops: the limits of the episode end it.
"""

import random
from collections.abc import Iterator

from harness.actions import Action, Click, GoBack, Scroll, Target, Type, resolve
from harness.agents.kind import AgentContext
from harness.api import Agent, ChatModel, Decision
from harness.records import Episode, LiveObservation, Task
from harness.settings.agents import AgentSettings

_CLICKED = frozenset(
    "button checkbox combobox link menuitem menuitemcheckbox menuitemradio option radio switch tab treeitem".split()
)
_TYPED = frozenset("searchbox spinbutton textbox".split())
_WORDS = 1000
"""Words of an intent that may be typed."""


class RandomAgent:
    """An `Agent`."""

    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        """One of the possible actions, each as likely as the others; the last one again only if there is no other."""
        chance = _chance(task, episode)
        possible = [resolve(action, view.nodes) for action in _possible(task, view, chance)]
        last = episode.steps[-1].decided.action.render() if episode.steps else ""
        others = [action for action in possible if action.render() != last]
        return Decision(action=chance.choice(others or possible))


def _chance(task: Task, episode: Episode) -> random.Random:
    """The random numbers of this step alone; a text as seed is hashed in the same way by every process."""
    opened = episode.opened
    seed, trial = (opened.seed, opened.trial) if opened else (0, 0)
    return random.Random(f"{seed} {trial} {len(episode.steps)} {task.task_id}")


def _possible(task: Task, view: LiveObservation, chance: random.Random) -> Iterator[Action]:
    words = task.intent.split()[:_WORDS] or ["a"]
    for id, node in view.nodes.items():
        if node.role in _CLICKED:
            yield Click(target=Target(id=id))
        elif node.role in _TYPED:
            yield Type(target=Target(id=id), text=chance.choice(words), enter=chance.random() < 0.5)
    yield Scroll(direction="down")
    yield Scroll(direction="up")
    yield GoBack()


class RandomKind:
    """Fits `AgentKind`."""

    def check(self, settings: AgentSettings, context: AgentContext) -> None:
        """There is nothing to be wrong."""

    def make(self, settings: AgentSettings, context: AgentContext, model: ChatModel) -> Agent:
        """See `AgentKind.make`."""
        return RandomAgent()
