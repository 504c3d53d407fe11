"""The user of a task: offered to agents in tasks that have one, answered from a list, and never shown beforehand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.actions import AskUser, CairnActionSet, Click, InvalidAction, Stop
from harness.actions.computer_calls import Screen
from harness.agents.conversation import Conversation
from harness.agents.prompt_agent import PromptAgent
from harness.agents.tools_agent import ToolBox, ToolsAgent, Toolset
from harness.codec import decode, encode
from harness.episode.decision import public_task
from harness.errors import TaskError
from harness.evaluation.action_classes import ACTION_SETS, action_set_of
from harness.plugins.computer_agent.box import ComputerBox
from harness.records import Decided, HtmlTarget, Reply, ScriptedUser, Task, Tool, ToolCall, Usage, UserAnswer
from harness.settings.agents import ToolsSettings
from harness.tasks import load
from harness.testing import MemoryJournal, ScriptedModel, a_task, play
from tests.agents.test_prompt_agent import shipped

ANSWERS = (
    UserAnswer(says="No, keep it.", about=("Delete", "remove"), consents=False),
    UserAnswer(says="Harbour Road 4", about=("address",)),
)
SET = CairnActionSet()
QUESTION = "May I delete the issue?"


def asking(*, user: ScriptedUser | None = ScriptedUser(answers=ANSWERS)) -> Task:  # noqa: B008 (frozen)
    return replace(a_task("Delete the issue"), user=user)


def prompting(model: ScriptedModel, action_set: str = "cairn") -> PromptAgent:
    return PromptAgent(model=model, prompt=shipped("prompt", action_set), action_set=action_set_of(action_set))


def calling(model: ScriptedModel, box: Toolset | None = None) -> ToolsAgent:
    settings = ToolsSettings(system="S", history=30, history_tokens=10**6)
    talk = Conversation(settings=settings, action_set=SET)
    return ToolsAgent(model=model, conversation=talk, box=box or ToolBox((Click, Stop)), action_set=SET)


def called(name: str, **arguments: Any) -> Reply:
    return Reply(tool_calls=(ToolCall(id="c", name=name, arguments=json.dumps(arguments)),), usage=Usage(requests=1))


def test_the_first_answer_that_fits_is_given() -> None:
    user = ScriptedUser(answers=(*ANSWERS, UserAnswer(says="Go ahead.", consents=True)))
    assert user.answer_to("may i DELETE it?").says == "No, keep it."
    assert user.answer_to("Which address?").says == "Harbour Road 4"
    assert user.answer_to("May I save?").consents is True
    assert ScriptedUser(answers=ANSWERS).answer_to("May I save?").says == "I have nothing to say to that."


async def test_a_prompt_offers_the_question_in_tasks_with_a_user_only() -> None:
    for action_set in ACTION_SETS.names():
        stop = "```page.stop('no')```" if action_set == "playwright" else "```stop [no]```"
        plain, with_user = ScriptedModel(stop), ScriptedModel(f"```ask_user [{QUESTION}]```", stop)
        await play(prompting(plain, action_set), "[1] link 'A'", task=asking(user=None))
        journal = MemoryJournal()
        await play(prompting(with_user, action_set), "[1] link 'A'", task=asking(), journal=journal)
        before, after = str(plain.asked[0][0].content), str(with_user.asked[0][0].content)
        assert "ask_user" not in before
        assert after.startswith(before), "the rest of the prompt is byte for byte the same"
        assert "`ask_user [question]`" in after[len(before) :]
        assert [one.content for one in plain.asked[0][1:]] == [one.content for one in with_user.asked[0][1:]]
        decided = next(one for one in journal.records if isinstance(one, Decided))
        assert decided.action == AskUser(question=QUESTION)
        assert decode(encode(decided).body) == decided


async def test_without_a_user_it_is_an_action_that_nobody_knows() -> None:
    model = ScriptedModel(f"```ask_user [{QUESTION}]```", "```stop [no]```")
    episode = await play(prompting(model), "[1] link 'A'", task=asking(user=None))
    assert isinstance(episode.steps[0].decided.action, InvalidAction)
    model = ScriptedModel(called("ask_user", question=QUESTION), called("stop", answer="no"))
    episode = await play(calling(model), "[1] link 'A'", task=asking(user=None))
    assert isinstance(episode.steps[0].decided.action, InvalidAction)
    assert "ask_user" not in [tool.name for tool in model.offered[0] if isinstance(tool, Tool)]


@pytest.mark.parametrize(
    "box", [ToolBox((Click, Stop)), ComputerBox(screen=Screen(width=640, height=360), viewport=(1280, 720))]
)
async def test_functions_offer_it_behind_their_own(box: Toolset) -> None:
    model = ScriptedModel(called("ask_user", question=QUESTION), called("stop", answer="no"))
    journal = MemoryJournal()
    await play(calling(model, box), "[1] link 'A'", task=asking(), journal=journal)
    *others, question = model.offered[0]
    assert others == list(box.tools)
    assert isinstance(question, Tool)
    assert (question.name, question.strict) == ("ask_user", True)
    decided = next(one for one in journal.records if isinstance(one, Decided))
    assert decided.action == AskUser(question=QUESTION)


async def test_a_question_that_cannot_be_read_is_answered_with_why() -> None:
    model = ScriptedModel(called("ask_user", what="x"), called("stop", answer="no"))
    episode = await play(calling(model), "[1] link 'A'", task=asking())
    assert isinstance(episode.steps[0].decided.action, InvalidAction)


def test_an_agent_knows_that_there_is_a_user_and_not_what_is_answered() -> None:
    target = HtmlTarget(url="last")
    seen = public_task(replace(asking(), probes=(target,)))
    assert (seen.user, seen.probes) == (ScriptedUser(), ())
    assert public_task(asking(user=None)).user is None


def test_a_task_without_a_user_is_written_as_before() -> None:
    assert b"user" not in encode_task(asking(user=None))
    assert b"probes" not in encode_task(asking(user=None))
    assert b"Harbour Road" in encode_task(asking())


def encode_task(task: Task) -> bytes:
    from harness.codec import dumps

    return dumps(task)


def raw(value: Any) -> str:
    fields = {
        "task_id": 1,
        "sites": ["shop"],
        "start_url": "__SHOP__/",
        "intent": "Look",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}},
        "ask_user": value,
    }
    return json.dumps([fields])


def test_the_user_of_a_task_file(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(raw([{"says": "No.", "about": ["delete"], "consents": False}, {"says": "Yes."}]))
    (task,) = load(path, {"shop": "http://shop.localhost"})
    assert task.user == ScriptedUser(
        answers=(UserAnswer(says="No.", about=("delete",), consents=False), UserAnswer(says="Yes."))
    )
    path.write_text(raw(None))
    (task,) = load(path, {"shop": "http://shop.localhost"})
    assert task.user is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("yes", "ask_user` must be a list of objects"),
        ([{}], "ask_user[0].says` is missing"),
        ([{"says": " "}], "ask_user[0].says` has 0 characters; give 1 to 400"),
        ([{"says": "x", "about": "y"}], "ask_user[0].about` must be a list of strings"),
        ([{"says": "x", "consents": "no"}], "ask_user[0].consents` must be true or false"),
        ([{"says": "x", "abuot": ["y"]}], "ask_user[0].abuot` is unknown; an answer has says, about and consents"),
    ],
)
def test_a_user_that_cannot_be_understood_is_refused(tmp_path: Path, value: Any, said: str) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(raw(value))
    with pytest.raises(TaskError) as refusal:
        load(path, {"shop": "http://shop.localhost"})
    assert said in str(refusal.value)


def test_it_is_written_and_read_as_other_actions() -> None:
    action = AskUser(question="May I [really] delete it?")
    assert AskUser.parse("ask_user", action.render().partition(" ")[2]) == action
    assert action.targets == ()
    assert not action.may_change_sites()
