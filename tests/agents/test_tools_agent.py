"""The agent whose model calls functions: what becomes of its calls, also of those that no model should make."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import pytest

from harness.actions import Action, BrowserControls, CairnActionSet, Click, InvalidAction, Stop, Target, Type
from harness.actions.tool_schema import parameters_of
from harness.agents.calls import MOST_CALLS, memory_of
from harness.agents.conversation import Conversation
from harness.agents.tools_agent import NO_CALL, ToolBox, ToolsAgent
from harness.api import Message, Reply
from harness.codec import decode, encode
from harness.episode.decision import checked_decision
from harness.records import Acted, Decided, Done, Episode, LiveObservation, Node, Outcome, Refused, Step, ToolCall
from harness.settings.agents import ToolsSettings
from harness.testing import a_task, observation

BIDI = "\u202eevil\u2066\x07\U000e0001"
SET = CairnActionSet()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wink(Action):
    """Wink at somebody."""

    kind: ClassVar[str] = "wink"
    who: str
    times: int = 1

    async def perform(self, browser: BrowserControls) -> None: ...

    def may_change_sites(self) -> bool:
        return False


class Answers:
    """A model that answers from a list of replies, and keeps what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[Message, ...]] = []

    async def ask(self, messages: Sequence[Message], tools: Sequence[Any] = ()) -> Reply:
        assert tools
        self.asked.append(tuple(messages))
        return self.replies.pop(0)


def call(name: str, id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=json.dumps(arguments))


def calling(*calls: ToolCall, text: str = "") -> Reply:
    return Reply(text=text, tool_calls=calls, finish_reason="tool_calls")


def page(*ids: str) -> LiveObservation:
    """With a field for each id."""
    nodes = {id: Node(role="textbox", name=f"F{id}", nth=0, line=f"textbox 'F{id}'", box=None) for id in ids}
    shown = "\n".join(f"[{id}] textbox 'F{id}'" for id in ids)
    return replace(observation(shown), nodes=nodes)


@dataclass
class Play:
    """An episode without a browser: each decision is recorded as a run does it, then its outcome."""

    agent: ToolsAgent
    view: LiveObservation = field(default_factory=lambda: page("1", "2", "3"))
    episode: Episode = field(default_factory=Episode)

    def __post_init__(self) -> None:
        arrival = Acted(step=0, outcome=Done(), observation=self.view.observation, elapsed_ms=0.0, at=0.0)
        self.episode = replace(self.episode, arrival=arrival)

    async def step(self, outcome: Outcome = Done(), view: LiveObservation | None = None) -> Action:  # noqa: B008
        decision = checked_decision(await self.agent.decide(a_task("Fill in"), self.episode, self.view))
        number = len(self.episode.steps) + 1
        decided = Decided(
            step=number,
            action=decision.action,
            reply=decision.reply.text,
            prompt=(),
            model="m",
            usage=decision.reply.usage,
            memory=decision.memory,
            finish_reason=decision.reply.unfinished,
            elapsed_ms=0.0,
            at=0.0,
        )
        stored = decode(encode(decided).body)
        assert isinstance(stored, Decided)
        self.view = view or self.view
        acted = Acted(step=number, outcome=outcome, observation=self.view.observation, elapsed_ms=0.0, at=0.0)
        self.episode = replace(self.episode, steps=(*self.episode.steps, Step(decided=stored, acted=acted)))
        return decision.action


def playing(*replies: Reply, **settings: Any) -> tuple[Play, Answers]:
    model = Answers(*replies)
    talk = Conversation(
        settings=ToolsSettings(system="S", history=30, history_tokens=10**6), action_set=SET, **settings
    )
    box = ToolBox((*SET.actions, Wink))
    return Play(ToolsAgent(model=model, conversation=talk, box=box, action_set=SET)), model


def check_answered(messages: Sequence[Message]) -> None:
    """Every call has one result, in order and at once, as providers demand."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert message.tool_call_id == waiting.pop(0)
        else:
            assert not waiting
            waiting = [one.id for one in message.tool_calls]
            assert len(set(waiting)) == len(waiting)
            assert all(isinstance(json.loads(one.arguments), dict) for one in message.tool_calls)
    assert not waiting


def last(model: Answers) -> str:
    return str(model.asked[-1][-1].content)


async def test_parallel_calls_become_steps_and_the_model_is_asked_once() -> None:
    play, model = playing(
        calling(
            call("type", "a", target="1", text="x\ny", enter=False, clear=True),
            call("type", "b", target=2, text="z", enter=False),
            call("click", "c", target="[3]"),
        ),
        calling(call("stop", answer="done")),
    )
    made = [await play.step() for _ in range(4)]
    assert isinstance(made[0], Type) and (made[0].text, made[0].clear, made[0].target.name) == ("x\ny", True, "F1")
    assert [type(one) for one in made] == [Type, Type, Click, Stop]
    assert len(model.asked) == 2
    check_answered(model.asked[1])
    assert [one.content for one in model.asked[1][-3:-1]] == ["RESULT: done", "RESULT: done"]
    assert last(model).startswith("RESULT: done\nOBSERVATION:\nTab 0 (current): Page\n\n[1] textbox 'F1'")


async def test_calls_that_are_left_survive_the_process_and_cost_nothing_again() -> None:
    replies = calling(*(call("type", f"c{n}", target=str(n), text="x", enter=False) for n in (1, 2, 3)))
    play, _ = playing(replies)
    await play.step()
    other, model = playing()
    other.episode, other.view = play.episode, play.view
    assert [(await other.step()).targets[0].id for _ in range(2)] == ["2", "3"]
    assert model.asked == []


async def test_a_call_whose_element_is_gone_is_dropped_with_those_after_it_and_the_model_is_told() -> None:
    play, model = playing(
        calling(call("click", "a", target="1"), call("click", "b", target="2"), call("click", "c", target="3")),
        calling(call("stop", answer="")),
    )
    await play.step(view=page("3"))
    assert isinstance(await play.step(), Stop)
    check_answered(model.asked[-1])
    results = [str(one.content).partition("\n")[0] for one in model.asked[-1] if one.role == "tool"]
    gone = "RESULT: not performed: the page changed, and what it is aimed at is no longer there"
    assert results == ["RESULT: done", gone, gone]


async def test_after_a_refusal_the_rest_of_the_reply_is_dropped() -> None:
    play, model = playing(
        calling(call("click", "a", target="1"), call("click", "b", target="2")), calling(call("stop", answer=""))
    )
    await play.step(outcome=Refused(why="it is\ncovered"))
    await play.step()
    results = [str(one.content).partition("\n")[0] for one in model.asked[-1] if one.role == "tool"]
    assert results == [
        "RESULT: refused: it is covered",
        "RESULT: not performed: an earlier call of your reply was not performed",
    ]


DEEP = "[" * 90_000 + "]" * 90_000
HOSTILE = {
    "unknown function": (ToolCall(id="a", name="rm -rf", arguments="{}"), "there is no function 'rm -rf'"),
    "no JSON": (ToolCall(id="a", name="click", arguments='{"target": '), "are not JSON"),
    "deep JSON": (ToolCall(id="a", name="click", arguments='{"target": ' + DEEP + "}"), "JSON"),
    "an array": (ToolCall(id="a", name="click", arguments="[1]"), "must be one JSON object"),
    "a text": (ToolCall(id="a", name="click", arguments='"1"'), "must be one JSON object"),
    "empty": (ToolCall(id="a", name="click", arguments=""), "click needs the argument target"),
    "huge": (ToolCall(id="a", name="type", arguments=json.dumps({"text": "x" * 10**6})), "200,000 are allowed"),
    "long": (call("type", target="1", text="x" * 150_000), "the argument text of type has 150,000 characters"),
    "wrong type": (call("type", target="1", text=["x"]), "text of type must be a string, not a JSON array"),
    "number": (call("tab_focus", index=1.5), "index of tab_focus must be a integer, not 1.5"),
    "truth": (call("tab_focus", index=True), "must be a integer"),
    "large number": (call("tab_focus", index=10**12), "is out of bounds"),
    "word": (call("scroll", direction="left"), "must be one of up, down, not 'left'"),
    "list as word": (call("scroll", direction=["up"]), "must be one of up, down, not a JSON array"),
    "missing": (call("type", target="1"), "type needs the argument text"),
    "unknown argument": (call("click", target="1", **{BIDI: 1}), "click has no argument"),
    "bidi name": (ToolCall(id="a", name=BIDI, arguments="{}"), "there is no function"),
    "bidi id": (call("click", target=BIDI), "must be the id of an element"),
    "NaN": (ToolCall(id="a", name="tab_focus", arguments='{"index": NaN}'), "are not JSON"),
    "surrogate": (ToolCall(id="a", name="goto", arguments='{"url": "\ud800"}'), None),
    "bad ids": (ToolCall(id="\n" * 500, name="click", arguments='{"target": "\u0661"}'), "must be the id"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_call_that_is_none_is_an_invalid_action_that_the_model_is_told_of(name: str) -> None:
    hostile, sentence = HOSTILE[name]
    play, model = playing(calling(hostile, call("stop", "b", answer="no")), calling(call("stop", "s", answer="ok")))
    action = await play.step()
    if sentence is None:
        return
    assert isinstance(action, InvalidAction) and sentence in action.why
    assert len(action.why) < 1500
    assert await play.step() == Stop(answer="ok")
    check_answered(model.asked[1])
    told = next(str(one.content) for one in model.asked[1] if one.role == "tool")
    assert told.startswith("RESULT: error: ") and sentence.split("'")[0] in told


async def test_an_id_that_is_not_there_is_the_browsers_to_refuse() -> None:
    play, _ = playing(calling(call("click", target="99")))
    assert await play.step() == Click(target=Target(id="99"))


async def test_of_a_thousand_calls_the_first_are_steps_and_the_model_is_told_of_the_others() -> None:
    thousand = [call("scroll", f"c{n}", direction="down") for n in range(1000)]
    play, model = playing(calling(*thousand), calling(call("stop", answer="")))
    for _ in range(MOST_CALLS):
        await play.step()
    assert len(model.asked) == 1
    await play.step()
    check_answered(model.asked[1])
    assert f"{1000 - MOST_CALLS} further calls of your reply were not read." in last(model)


async def test_many_large_calls_fit_into_a_memory() -> None:
    large = [call("type", f"c{n}", target="1", text="é" * 90_000, enter=False) for n in range(32)]
    play, model = playing(calling(*large), calling(call("stop", answer="")))
    while len(model.asked) < 2:
        await play.step()
    assert 2 <= len(play.episode.steps) < 32
    check_answered(model.asked[1])


async def test_calls_of_one_id_get_ids_of_their_own() -> None:
    play, model = playing(
        calling(call("scroll", "same", direction="up"), call("scroll", "same", direction="down")),
        calling(call("stop", answer="")),
    )
    for _ in range(3):
        await play.step()
    check_answered(model.asked[1])


@pytest.mark.parametrize("ids", [("call_2", "", "same", "same"), ("", "", "call_2"), ("call_3", "call_2", "call_2")])
def test_an_id_that_is_made_up_is_no_other_calls(ids: tuple[str, ...]) -> None:
    calls = tuple(call("scroll", id, direction="up") for id in ids)
    kept = [one["id"] for one in memory_of(Reply(text="", tool_calls=calls))["calls"]]
    assert len({*kept}) == len(ids)


async def test_an_action_in_a_text_counts_and_a_text_that_is_insisted_on_is_the_answer() -> None:
    play, model = playing(
        Reply(text="I click. ```click [1]```"), Reply(text="It costs $4."), Reply(text="\nIt costs $4.\n")
    )
    assert await play.step() == Click(target=Target(id="1", role="textbox", name="F1", line="textbox 'F1'"))
    assert await play.step() == InvalidAction(why=NO_CALL)
    assert await play.step() == Stop(answer="It costs $4.")
    check_answered(model.asked[2])
    assert last(model).startswith(f"RESULT: error: {NO_CALL}\nOBSERVATION:")


@pytest.mark.parametrize("reply", [Reply(finish_reason="length"), Reply(refusal="I will not."), Reply(text="")])
async def test_an_unfinished_reply_is_no_action_and_none_of_its_calls_is_made(reply: Reply) -> None:
    cut = replace(reply, tool_calls=(call("click", target="1"),)) if reply.unfinished else reply
    play, model = playing(cut, calling(call("stop", answer="")))
    assert isinstance(await play.step(), InvalidAction)
    assert await play.step() == Stop(answer="")
    check_answered(model.asked[1])
    assert last(model).startswith("RESULT: error: ")
    if reply.refusal:
        assert "it was a refusal: I will not." in last(model)


async def test_each_request_begins_with_the_one_before() -> None:
    replies = [calling(call("scroll", f"c{n}", direction="down"), text=f"thought {n}") for n in range(6)]
    play, model = playing(*replies)
    for number in range(6):
        await play.step(view=page(str(number)))
    for one, two in pairwise(model.asked):
        assert two[: len(one)] == one


async def test_dropped_turns_are_listed_as_actions() -> None:
    replies = [calling(call("scroll", f"c{n}", direction="down"), text=f"thought {n}") for n in range(8)]
    model = Answers(*replies)
    talk = Conversation(settings=ToolsSettings(system="S", history=4, history_tokens=10**6), action_set=SET)
    play = Play(ToolsAgent(model=model, conversation=talk, box=ToolBox(SET.actions), action_set=SET))
    for _ in range(8):
        await play.step()
    check_answered(model.asked[-1])
    head = str(model.asked[-1][1].content)
    assert head.startswith("OBJECTIVE:\nFill in\nPREVIOUS ACTIONS:\n1. scroll [down]\n2. scroll [down]\n")
    assert len(model.asked[-1]) < 12


async def test_what_a_provider_wants_back_is_given_back_unless_a_call_was_changed() -> None:
    items = ({"type": "reasoning", "encrypted_content": "e"},)
    play, model = playing(
        replace(calling(call("scroll", direction="up")), items=items),
        replace(calling(call("nothing there")), items=items),
        calling(call("stop", answer="")),
    )
    for _ in range(3):
        await play.step()
    assert [one.items for one in model.asked[2] if one.role == "assistant"] == [items, ()]


async def test_what_one_model_wants_back_is_not_given_to_another_one() -> None:
    of = {key: ({"type": "reasoning", "encrypted_content": f"of {key}"},) for key in ("one", "two")}
    play, _ = playing(replace(calling(call("scroll", direction="up")), items=of["one"]), model_key="one")
    await play.step()
    # As after a resume with changed settings, and as in a fork of a fork: nothing tells it but the step itself.
    other, model = playing(
        replace(calling(call("scroll", direction="up")), items=of["two"]),
        calling(call("stop", answer="")),
        model_key="two",
    )
    other.episode = play.episode
    await other.step()
    await other.step()
    assert [[one.items for one in asked if one.role == "assistant"] for asked in model.asked] == [[()], [(), of["two"]]]


def test_schemas_are_as_strict_modes_demand_and_follow_from_the_class() -> None:
    for action in (*SET.actions, Wink):
        schema = parameters_of(action)
        assert schema["required"] == list(schema["properties"]) and schema["additionalProperties"] is False
    tools = {tool.name: tool for tool in ToolBox((*SET.actions, Wink)).tools}
    assert all(tool.description and tool.strict for tool in tools.values())
    assert tools["wink"].description == "Wink at somebody."
    assert tools["wink"].parameters["properties"] == {"who": {"type": "string"}, "times": {"type": "integer"}}


async def test_an_action_of_a_plug_in_is_called_like_any_other() -> None:
    play, _ = playing(calling(call("wink", who="Ada")))
    assert await play.step() == Wink(who="Ada")
