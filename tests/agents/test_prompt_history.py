"""Past steps as turns of the conversation, and the note: what is sent, what stays the same, and what a resume finds."""

from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from harness.actions import Click, InvalidAction, Scroll, Stop, Target
from harness.actions.keep_note import MOST_OF_A_NOTE
from harness.agents.note import RULE, split
from harness.agents.prompt_history import first_kept
from harness.api import Message
from harness.codec import dumps
from harness.records import Acted, Done, Episode, Refused
from harness.testing import MemoryJournal, ScriptedModel, a_task, play
from tests.agents.test_prompt_agent import TASK, agent, episode, view

GOLDEN = "95dba86997d55205bfa0c4ec593e667be87538b8d8787c052624bc543eed20b4"
"""sha256 of the prompt that was sent before there was a history, for the episode `past`."""


def past(steps: int) -> Episode:
    target = Target(id="4", role="link", name="Tea", line="link 'Tea'")
    made = episode(
        *(
            (Click(target=target), Done(), f"I click {number}. ```click [4]```")
            if number % 3
            else (Scroll(direction="down"), Refused(why="no"), f"I scroll {number}. ```scroll [down]```")
            for number in range(1, steps + 1)
        )
    )
    arrival = Acted(step=0, outcome=Done(), observation=view("[9] arrival").observation, elapsed_ms=1.0, at=0.0)
    return replace(made, arrival=arrival)


async def prompts(steps: int, **settings: Any) -> list[tuple[Message, ...]]:
    """Of each step of an episode with pages of 6 KB."""
    whole, sent = past(steps), []
    long = tuple(
        replace(step, acted=replace(step.acted, observation=view(f"[4] page {at} {'words ' * 1000}").observation))
        for at, step in enumerate(whole.steps)
    )
    whole = replace(whole, steps=long)
    for at in range(steps + 1):
        now = replace(whole, steps=whole.steps[:at])
        assert now.last is not None
        seen = replace(view(), observation=now.last.observation)
        model = ScriptedModel("```go_back```")
        await agent(model, **settings).decide(TASK, now, seen)
        sent.append(model.asked[0])
    return sent


def as_bytes(prompt: tuple[Message, ...]) -> bytes:
    return b"".join(dumps({"role": one.role, "content": one.content}) for one in prompt)


def kept_share(sent: list[tuple[Message, ...]]) -> float:
    """Of the bytes of all prompts but the last, those that are the beginning of the next one, too."""
    same = total = 0
    for one, two in zip(map(as_bytes, sent), map(as_bytes, sent[1:]), strict=False):
        total += len(one)
        same += next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return same / total


async def test_without_a_history_the_prompt_is_what_it_was_before_there_was_one() -> None:
    model = ScriptedModel("```go_back```")
    await agent(model).decide(TASK, past(5), view("[4] link 'Tea'", "Slow."))
    assert sha256(as_bytes(model.asked[0])).hexdigest() == GOLDEN


async def test_past_steps_are_repeated_as_they_were_asked_and_answered() -> None:
    sent = await prompts(3, history=5)
    assert [message.role for message in sent[3][-7:]] == ["user", "assistant"] * 3 + ["user"]
    assert [sent[at][-1] for at in range(3)] == [sent[3][-7], sent[3][-5], sent[3][-3]]
    assert sent[3][-2].content == "I scroll 3. ```scroll [down]```"
    assert "[9] arrival" in str(sent[3][-7].content)


async def test_a_prompt_is_the_one_before_with_something_behind_it() -> None:
    sent = await prompts(12, history=20)
    assert kept_share(sent) == 1.0
    assert kept_share(await prompts(12)) < 0.9


@pytest.mark.slow
async def test_nine_tenths_stay_the_same_also_where_turns_are_dropped() -> None:
    assert kept_share(await prompts(90, history=30, history_tokens=10**9)) >= 0.9


def test_half_is_dropped_at_once_and_never_more_kept_than_asked() -> None:
    firsts = [first_kept([10] * steps, most=8, budget=10_000) for steps in range(30)]
    assert all(steps - first <= 8 for steps, first in enumerate(firsts))
    assert sorted(set(firsts)) == [0, 5, 10, 15, 20, 25]
    assert first_kept([10, 10, 1000], most=8, budget=50) == 3
    assert first_kept([], most=8, budget=50) == 0
    assert [first_kept([40] * steps, most=99, budget=200) for steps in range(1, 10)] == [0, 0, 0, 0, 0, 4, 4, 4, 4]


async def test_the_note_is_shown_above_the_page_until_another_is_written() -> None:
    model = ScriptedModel(
        "<note>price 4\nOBJECTIVE:\nelse</note> ```scroll [down]```", "```scroll [up]```", "<note></note>```stop [a]```"
    )
    journal = MemoryJournal()
    made = agent(model, memory=True)
    await play(made, "one", "two", "three", task=a_task(TASK.intent), journal=journal, most_steps=1)
    done = await play(made, "one", "two", "three", task=a_task(TASK.intent), journal=journal)
    asked = [str(prompt[-1].content) for prompt in model.asked]
    assert "NOTE:" not in asked[0]
    assert asked[1].startswith("NOTE:\n| price 4\n| OBJECTIVE:\n| else\nOBSERVATION:\n")
    assert asked[2].startswith("NOTE:\n| price 4\n")
    assert RULE in str(model.asked[0][0].content)
    assert done.closed is not None and done.closed.answer == "a" and done.memory is None


async def test_an_action_in_a_note_is_none() -> None:
    model = ScriptedModel("<note>```stop [no]```</note> I stop. ```stop [yes]```", "<note>```stop [no]```</note>")
    made = agent(model, memory=True)
    assert (await made.decide(TASK, Episode(), view())).action == Stop(answer="yes")
    second = await made.decide(TASK, Episode(), view())
    assert isinstance(second.action, InvalidAction) and second.memory == {"note": "```stop [no]```"}


def test_notes_are_bounded_and_a_flood_of_them_is_read_quickly() -> None:
    assert len(split(f"<note>{'x' * 100_000}</note>")[1] or "") == MOST_OF_A_NOTE
    assert split("<note>" * 100_000) == ("<note>" * 100_000, None)
    assert split("<note>a</note>b<note>c</note>") == ("b", "c")
