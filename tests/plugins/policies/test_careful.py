"""`agent=careful` asks the user before it presses a button, in tasks that have one, and then goes on as it would have."""

from dataclasses import replace

from harness.actions import Action, AskUser, Click, Stop, Target
from harness.api import Decision, Episode, LiveObservation, Task
from harness.plugins.policies.careful import Careful
from harness.records import ScriptedUser, UserAnswer
from harness.testing import MemoryJournal, a_task, play

USER = ScriptedUser(answers=(UserAnswer(says="Yes.", consents=True),))
PRESS = AskUser(question="May I press this button: Place order?")


def on(role: str, name: str) -> Click:
    return Click(target=Target(id="7", role=role, name=name))


class Planned:
    """Follows a plan by the steps that it sees, and keeps how many there were."""

    def __init__(self, *plan: Action) -> None:
        self.plan, self.seen = plan, list[int]()

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        self.seen.append(len(episode.steps))
        return Decision(action=self.plan[len(episode.steps)])


ORDER = (on("link", "Cart"), on("button", "Place order"), on("button", "Place order"), Stop(answer="done"))


def actions(episode: Episode) -> list[Action]:
    return [step.decided.action for step in episode.steps]


async def test_it_asks_before_each_button_and_not_before_links() -> None:
    planned = Planned(*ORDER)
    episode = await play(Careful(planned), *("page",) * 9, task=replace(a_task(), user=USER))
    assert actions(episode) == [ORDER[0], PRESS, ORDER[1], PRESS, ORDER[2]], "twice: the answer may be another one"
    assert planned.seen == [0, 1, 1, 2, 2, 3], "it is not told of what is asked on its behalf"
    assert episode.closed is not None and episode.closed.answer == "done"


async def test_a_kill_between_question_and_press_asks_nothing_again() -> None:
    task, journal = replace(a_task(), user=USER), MemoryJournal()
    await play(Careful(Planned(*ORDER)), *("page",) * 9, task=task, journal=journal, most_steps=2)
    episode = await play(Careful(Planned(*ORDER)), *("page",) * 9, task=task, journal=journal)
    assert [type(one) for one in actions(episode)] == [Click, AskUser, Click, AskUser, Click]


async def test_without_a_user_nobody_is_asked() -> None:
    episode = await play(Careful(Planned(*ORDER)), *("page",) * 9)
    assert actions(episode) == list(ORDER[:3])
