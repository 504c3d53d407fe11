"""The note of an agent whose model calls functions: what keeping one costs, where it is shown, and that it outlives."""

from typing import Any

import pytest

from harness.actions import Click, InvalidAction, KeepNote, Scroll, Stop
from harness.actions.keep_note import MOST_OF_A_NOTE
from harness.agents.conversation import Conversation
from harness.agents.tools_agent import ToolBox, ToolsAgent
from harness.api import Reply
from harness.records import Refused
from harness.settings.agents import ToolsSettings
from tests.agents.test_tools_agent import SET, Answers, Play, call, calling, check_answered

SCROLL = call("scroll", "s", direction="down")
STOP = calling(call("stop", answer=""))


def noting(*replies: Reply, history: int = 30, keeps_note: bool = True, **settings: Any) -> tuple[Play, Answers]:
    model = Answers(*replies)
    talk = Conversation(
        settings=ToolsSettings(system="S", history=history, history_tokens=10**6, memory=keeps_note),
        action_set=SET,
        **settings,
    )
    box = ToolBox((*SET.actions, KeepNote) if keeps_note else SET.actions)
    return Play(ToolsAgent(model=model, conversation=talk, box=box, action_set=SET)), model


def kept(play: Play) -> Any:
    return play.episode.steps[-1].decided.memory.get("note")


def results(model: Answers) -> list[str]:
    return [str(one.content).partition("\n")[0] for one in model.asked[-1] if one.role == "tool"]


def noted(text: str, id: str = "n") -> Any:
    return call("keep_note", id, text=text)


async def test_a_note_beside_other_calls_takes_no_step() -> None:
    play, model = noting(calling(SCROLL, noted("4.90"), call("click", "c", target="1")), STOP)
    assert [type(await play.step()) for _ in range(3)] == [Scroll, Click, Stop]
    assert len(model.asked) == 2 and results(model) == ["RESULT: done"] * 3
    assert play.episode.steps[0].decided.memory["note"] == "4.90"
    check_answered(model.asked[-1])


async def test_a_note_alone_is_a_step_that_does_nothing() -> None:
    play, model = noting(calling(noted("a"), noted("b", "m")), STOP)
    assert await play.step() == KeepNote(text="a")
    assert kept(play) == "b" and not KeepNote(text="a").may_change_sites()
    assert await play.step() == Stop(answer="")
    assert results(model) == ["RESULT: done"] * 2
    check_answered(model.asked[-1])


async def test_it_is_shown_when_the_turn_that_wrote_it_is_no_longer_repeated() -> None:
    play, model = noting(calling(noted("4.90\nURL:\nelse"), SCROLL), *[calling(SCROLL)] * 5, history=2)
    for _ in range(6):
        await play.step()
    heads = [str(one[1].content) for one in model.asked]
    assert not any("NOTE:" in head for head in heads[:3]), "it stands in the conversation as a call"
    assert all("\nNOTE:\n| 4.90\n| URL:\n| else\nOBSERVATION:\n" in head for head in heads[3:])
    assert heads[-1].startswith("OBJECTIVE:\nFill in\nPREVIOUS ACTIONS:\n1. scroll [down]\n")


async def test_without_repeated_turns_the_newest_note_is_always_shown() -> None:
    play, model = noting(calling(noted("one"), SCROLL), calling(noted("two"), SCROLL), STOP, STOP, history=0)
    for _ in range(4):
        await play.step()
    shown = [str(one[1].content).partition("\nNOTE:\n")[2].partition("\n")[0] for one in model.asked]
    assert shown == ["", "| one", "| two", "| two"]


async def test_another_process_finds_the_note_and_the_calls_that_are_left() -> None:
    play, _ = noting(calling(noted("4.90"), SCROLL, call("click", "c", target="1")), history=0)
    await play.step()
    other, model = noting(calling(noted("5.10"), SCROLL), STOP, history=0)
    other.episode, other.view = play.episode, play.view
    assert isinstance(await other.step(), Click) and model.asked == []
    for _ in range(2):
        await other.step()
    shown = [str(one[1].content).partition("\nNOTE:\n")[2].partition("\n")[0] for one in model.asked]
    assert shown == ["| 4.90", "| 5.10"]


@pytest.mark.parametrize("arguments", ['{"text": 5}', "{", '{"note": "x"}', '["x"]', ""])
async def test_a_note_that_cannot_be_read_keeps_the_one_before_and_the_model_is_told(arguments: str) -> None:
    broken = noted("")
    broken = type(broken)(id="b", name=broken.name, arguments=arguments)
    play, model = noting(calling(noted("first"), SCROLL), calling(broken, SCROLL), calling(broken), STOP)
    assert [type(await play.step()) for _ in range(4)] == [Scroll, Scroll, InvalidAction, Stop]
    assert kept(play) == "first"
    assert results(model)[2].startswith("RESULT: error: ") and results(model)[4].startswith("RESULT: error: ")
    check_answered(model.asked[-1])


async def test_a_note_is_bounded_and_an_empty_one_removes_it() -> None:
    play, _ = noting(calling(noted("x" * 9000), SCROLL), calling(noted(""), SCROLL))
    await play.step()
    assert len(kept(play)) == MOST_OF_A_NOTE
    await play.step()
    assert kept(play) == ""


async def test_a_refused_call_does_not_take_the_note_back() -> None:
    play, model = noting(calling(call("click", "c", target="1"), noted("4.90")), STOP)
    await play.step(outcome=Refused(why="covered"))
    await play.step()
    assert kept(play) == "4.90"
    assert results(model) == ["RESULT: refused: covered", "RESULT: done"]


async def test_an_unfinished_reply_keeps_no_note() -> None:
    cut = Reply(tool_calls=(noted("half"),), finish_reason="length")
    play, _ = noting(calling(noted("whole"), SCROLL), cut)
    await play.step()
    assert isinstance(await play.step(), InvalidAction) and kept(play) == "whole"


async def test_without_the_setting_a_note_is_a_function_that_is_not_there() -> None:
    play, _ = noting(calling(noted("x"), SCROLL), keeps_note=False)
    action = await play.step()
    assert isinstance(action, InvalidAction) and "there is no function 'keep_note'" in action.why
    assert "note" not in play.episode.steps[0].decided.memory
