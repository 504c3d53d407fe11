"""The agents that ask no model: what they do follows from the settings and the page alone."""

from collections.abc import Sequence
from dataclasses import replace

from harness.actions import Action, Click, GoBack, Scroll, Stop, Type
from harness.agents.null_agent import NullAgent
from harness.agents.random_agent import RandomAgent
from harness.records import Episode, LiveObservation, Node, Opened, Usage
from harness.testing import MemoryJournal, a_task, observation, play

ROLES = {"4": "link", "5": "textbox", "6": "StaticText", "7": "checkbox"}


def view() -> LiveObservation:
    nodes = {id: Node(role=role, name=role, nth=0, line=f"{role} ''", box=None) for id, role in ROLES.items()}
    return replace(observation("[4] link"), nodes=nodes)


def opened(seed: int = 0, trial: int = 0) -> Episode:
    made = Opened(attempt=1, trial=trial, task=a_task(), task_digest="", config_digest="", seed=seed, at=0.0)
    return Episode(opened=made)


async def choices(seed: int, trial: int = 0, intent: str = "Buy two teas") -> list[Action]:
    """Of forty tasks, each at its first step."""
    task = a_task(intent)
    agent = RandomAgent()
    return [
        (await agent.decide(replace(task, task_id=str(number)), opened(seed, trial), view())).action
        for number in range(40)
    ]


async def test_the_null_agent_stops_at_once_without_an_answer() -> None:
    episode = await play(NullAgent(), "[1] link 'Tea'")
    assert episode.closed is not None and (episode.closed.answer, len(episode.steps)) == ("", 0)
    assert episode.usage == Usage()


async def test_random_choices_follow_from_seed_trial_and_task() -> None:
    first = await choices(seed=1)
    assert first == await choices(seed=1)
    assert first != await choices(seed=2) and first != await choices(seed=1, trial=1)
    assert len(set(map(str, first))) > 5


async def test_random_actions_are_possible_and_of_every_kind_and_never_a_stop() -> None:
    made = await choices(seed=3)
    assert {type(one) for one in made} == {Click, Type, Scroll, GoBack}
    for one in made:
        assert not isinstance(one, Stop)
        assert all(target.role in ("link", "textbox", "checkbox") for target in one.targets)
        if isinstance(one, Type):
            assert one.text in ("Buy", "two", "teas") and one.target.role == "textbox"


async def test_an_interrupted_random_episode_goes_on_as_it_would_have() -> None:
    def actions(episode: Episode) -> Sequence[str]:
        return [step.decided.action.render() for step in episode.steps]

    whole = await play(RandomAgent(), "a", "b", "c", most_steps=9)
    journal = MemoryJournal()
    await play(RandomAgent(), "a", "b", "c", journal=journal, most_steps=4)
    gone_on = await play(RandomAgent(), "a", "b", "c", journal=journal, most_steps=9)
    assert actions(gone_on) == actions(whole) and len(actions(whole)) == 9
    assert all(one != two for one, two in zip(actions(whole), actions(whole)[1:], strict=False))
