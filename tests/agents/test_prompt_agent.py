"""The prompted agent with the prompts that ship, and a model that answers from a list or by the scripted policy."""

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import pytest
from omegaconf import OmegaConf

from harness.actions import Action, Click, InvalidAction, Scroll, Stop, Target, Type, extract
from harness.agents.page_view import PageView
from harness.agents.prompt import Prompt, read_prompt
from harness.agents.prompt_agent import PromptAgent
from harness.api import ComputerTool, Message, Reply, Tool
from harness.config import PROJECT
from harness.evaluation.action_classes import action_set_of
from harness.plugins.demo.model.scripted_policy import reply as scripted_reply
from harness.plugins.demo.model.scripts import Script, Scripts
from harness.plugins.demo.model.scripts import ScriptStep as PlanStep
from harness.records import (
    Acted,
    Decided,
    Done,
    Episode,
    Eval,
    LiveObservation,
    Node,
    Observation,
    Outcome,
    Refused,
    Step,
    TabRecord,
    Task,
    Usage,
)
from harness.settings.agents import PromptSettings
from harness.testing import MemoryJournal, ScriptedModel, play

PICTURE = PageView(text=False, image=True)
TASK = Task(task_id="1", sites=("shop",), intent="Buy {tea}.", start_urls=(), eval=Eval(eval_types=()))


class Scripted:
    """The scripted policy without HTTP."""

    def __init__(self, *steps: PlanStep) -> None:
        self.plans = Scripts(by_intent={TASK.intent: Script(task_id="1", steps=steps)})

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        text = scripted_reply([asdict(message) for message in messages], self.plans).text
        return Reply(text=text, model="scripted", usage=Usage(requests=1))


def shipped(name: str, action_set: str = "cairn", **further: Any) -> Prompt:
    settings: Any = OmegaConf.load(PROJECT / "configs" / "agent" / "prompt.yaml")
    if name != "prompt":
        settings = OmegaConf.merge(settings, OmegaConf.load(PROJECT / "configs" / "agent" / f"{name}.yaml"))
    plain: Any = OmegaConf.to_container(settings)
    known = {one.name for one in fields(PromptSettings)}
    chosen = PromptSettings(**{key: value for key, value in (plain | further).items() if key in known})
    return read_prompt(chosen, action_set=action_set)


def agent(model: Any, name: str = "prompt", action_set: str = "cairn", **further: Any) -> PromptAgent:
    shows = further.pop("shows", PageView())
    return PromptAgent(
        model=model, prompt=shipped(name, action_set, **further), action_set=action_set_of(action_set), shows=shows
    )


def view(body: str = "[4] link 'Tea'", *notices: str) -> LiveObservation:
    node = Node(role="link", name="Tea", nth=0, line="link 'Tea'", box=(0, 0, 9, 9))
    seen = Observation(
        url="http://shop.localhost/",
        title="Shop",
        tabs=(TabRecord(url="http://shop.localhost/", title="Shop", current=True),),
        text=f"Tab 0 (current): Shop\n\n{body}",
        fingerprint="f",
        notices=notices,
    )
    return LiveObservation(observation=seen, nodes={"4": node})


def episode(*steps: tuple[Action, Outcome] | tuple[Action, Outcome, str]) -> Episode:
    made = []
    for number, (action, outcome, *reply) in enumerate(steps, start=1):
        decided = Decided(
            step=number,
            action=action,
            reply=str(reply[0]) if reply else "",
            prompt=(),
            model="m",
            usage=Usage(),
            elapsed_ms=1.0,
            at=0.0,
        )
        acted = Acted(step=number, outcome=outcome, observation=view().observation, elapsed_ms=1.0, at=0.0)
        made.append(Step(decided=decided, acted=acted))
    return Episode(steps=tuple(made))


def user_of(model: ScriptedModel) -> str:
    content = model.asked[-1][-1].content
    assert isinstance(content, str)
    return content


async def test_the_first_prompt_has_every_section_and_no_notices() -> None:
    model = ScriptedModel("So. ```stop [done]```")
    decision = await agent(model).decide(TASK, Episode(), view())
    assert decision.action == Stop(answer="done")
    assert decision.messages == model.asked[0]
    assert decision.reply.text == "So. ```stop [done]```"
    assert (
        user_of(model) == "OBSERVATION:\nTab 0 (current): Shop\n\n[4] link 'Tea'\nURL:\nhttp://shop.localhost/\n"
        "OBJECTIVE:\nBuy {tea}.\nPREVIOUS ACTIONS:\nNone\n"
    )


async def test_notices_stand_one_per_line_in_their_own_section() -> None:
    model = ScriptedModel("```go_back```")
    await agent(model).decide(TASK, Episode(), view("[4] link 'Tea'", "A dialog said:\nURL:\nhi", "Slow."))
    assert "[4] link 'Tea'\nNOTICES:\n- A dialog said: URL: hi\n- Slow.\nURL:\nhttp://shop" in user_of(model)


async def test_the_history_is_numbered_one_line_each_and_tells_refusals() -> None:
    target = Target(id="4", role="link", name="Tea", line="link 'Tea'")
    past = episode(
        (Click(target=target), Done()),
        (Type(target=target, text="a\nb"), Refused(why="it is\ncovered")),
        (InvalidAction(why="unreadable"), Done(), "I\nwonder"),
        (Scroll(direction="down"), Done()),
    )
    model = ScriptedModel("```go_back```")
    await agent(model).decide(TASK, past, view())
    lines = user_of(model).rpartition("PREVIOUS ACTIONS:\n")[2].splitlines()
    assert lines[0] == "1. click [4] where [4] is link 'Tea'"
    assert lines[1].startswith("2. type [4] [a b]") and lines[1].endswith(" -> refused: it is covered")
    assert "I wonder" in lines[2]
    assert lines[3:] == ["4. scroll [down]"]


@pytest.mark.parametrize("hostile", ["{objective} {url}", "{0} {} {{x}}", "%s $url \\1", "{notices}\n"])
async def test_text_of_a_page_is_put_in_as_it_is(hostile: str) -> None:
    model = ScriptedModel("```go_back```")
    await agent(model).decide(TASK, Episode(), view(f"[4] link '{hostile}'"))
    assert f"[4] link '{hostile}'\nURL:\nhttp" in user_of(model)


async def test_the_target_is_filled_in_from_the_view() -> None:
    decision = await agent(ScriptedModel("```click [4]```")).decide(TASK, Episode(), view())
    assert isinstance(decision.action, Click)
    assert (decision.action.target.role, decision.action.target.name) == ("link", "Tea")


@pytest.mark.parametrize("text", ["I am lost.", "```", "```dance [4]```", "```click four```", ""])
async def test_a_reply_without_an_action_is_nothing_and_says_why(text: str) -> None:
    decision = await agent(ScriptedModel(text)).decide(TASK, Episode(), view())
    assert isinstance(decision.action, InvalidAction)
    assert decision.action.why
    assert decision.reply.text == text


async def test_parsing_retries_ask_again_and_pay_for_it() -> None:
    model = ScriptedModel("hm", "```go_back```", "never asked")
    decision = await agent(model, parsing_retries=2).decide(TASK, Episode(), view())
    assert decision.action.kind == "go_back"
    assert decision.reply.usage == Usage(prompt_tokens=20, requests=2)
    assert model.asked[0] == model.asked[1] and len(model.asked) == 2


UNFINISHED = [
    Reply(text="```click [4]```", finish_reason="length"),
    Reply(text="```click [4]```", finish_reason="content_filter"),
    Reply(text="", refusal="I cannot help with that.", finish_reason="stop"),
]


@pytest.mark.parametrize("reply", UNFINISHED, ids=lambda reply: reply.unfinished)
async def test_a_reply_that_was_not_finished_is_no_action_and_the_next_prompt_says_so(reply: Reply) -> None:
    journal = MemoryJournal()
    model = ScriptedModel(reply, "```go_back```", "```stop []```")
    ended = await play(agent(model), "[4] link 'Tea'", journal=journal)
    assert [step.decided.action.kind for step in ended.steps] == ["none", "go_back"]
    assert [step.decided.finish_reason for step in ended.steps] == [reply.unfinished, ""]
    shown = [str(asked[-1].content) for asked in model.asked]
    assert "NOTICES:\n- Your last reply was not read: " in shown[1] and reply.refusal in shown[1]
    assert "NOTICES" not in shown[0] and "NOTICES" not in shown[2]


async def test_every_answer_of_a_step_is_kept_byte_for_byte() -> None:
    journal = MemoryJournal()
    raw = [b'{"choices": [] }\n', b'{"b":2}', b"3"]
    texts = ("?", "??", "```stop []```")
    model = ScriptedModel(*(Reply(text=text, raw=one) for text, one in zip(texts, raw, strict=True)))
    await play(agent(model, parsing_retries=2), "page", journal=journal)
    decided = next(one for one in journal.records if isinstance(one, Decided))
    assert decided.response is not None
    assert [journal.artifacts.read(one) for one in (*decided.earlier_responses, decided.response)] == raw


async def test_an_agent_that_sees_is_shown_the_tabs_and_the_picture() -> None:
    model = ScriptedModel("```stop [red]```")
    await agent(model, shows=PICTURE).decide(TASK, Episode(), replace(view(), image=b"PNG"))
    text, picture = model.asked[-1][-1].content
    assert isinstance(text, dict) and isinstance(picture, dict)
    assert "OBSERVATION:\nTab 0 (current): Shop\n" in text["text"]
    assert "link 'Tea'" not in text["text"]
    assert picture == {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}}


async def test_an_agent_that_sees_goes_on_without_a_picture_that_did_not_come() -> None:
    model = ScriptedModel("```stop [red]```")
    await agent(model, shows=PICTURE).decide(TASK, Episode(), view())
    text = model.asked[-1][-1].content
    assert isinstance(text, str) and "OBSERVATION:\nTab 0 (current): Shop\n" in text


async def test_a_long_observation_is_cut_and_says_so() -> None:
    model = ScriptedModel("```go_back```")
    body = "\n".join(f"[{n}] link 'Tea'" for n in range(500))
    await agent(model, max_observation_tokens=100).decide(TASK, Episode(), view(body))
    assert "more lines exceed the token limit)\nURL:\n" in user_of(model)
    assert "[499]" not in user_of(model)


async def test_the_shipped_prompt_is_understood_by_the_scripted_policy() -> None:
    clear = PlanStep(do="type", name="Tea", text="x", clear=True)
    decision = await agent(Scripted(clear)).decide(TASK, Episode(), view())
    assert isinstance(decision.action, Type) and decision.action.clear and decision.action.target.name == "Tea"
    later = await agent(Scripted(PlanStep(do="go_back"), PlanStep(do="stop", answer="ok"))).decide(
        TASK, episode((Scroll(direction="down"), Refused(why="x"))), view()
    )
    assert isinstance(later.action, InvalidAction), "a refused action is a misfit, and so no action"


def test_the_shipped_examples_hold_a_readable_action() -> None:
    prompt = shipped("prompt")
    assert len(prompt.examples) == 2
    check_examples(prompt, "cairn")


def check_examples(prompt: Prompt, action_set: str) -> None:
    for user, assistant in prompt.examples:
        action = action_set_of(action_set).parse(extract(assistant))
        assert user.startswith("OBSERVATION:\n") and "PREVIOUS ACTIONS:\n" in user
        if isinstance(action, Type):
            assert f"[{action.target.id}]" in user


BLANK = dict.fromkeys(("observation", "notices", "url", "objective", "previous_actions"), "")


@pytest.mark.parametrize("further", [{}, {"shows": PICTURE}])
async def test_no_page_can_grow_the_prompt_by_what_is_not_its_text(further: dict[str, Any]) -> None:
    model = ScriptedModel("```stop []```", "```stop []```")
    await agent(model, **further).decide(TASK, episode(), replace(view(), image=b"png"))
    usual = len(str(model.asked[-1]))
    huge = view("[4] link 'Tea'", *(f"notice {number} {'n' * 9000}" for number in range(300)), *("again",) * 4000)
    title = f"Tab 0 (current): {'t' * 140_000}\nTab 1: u\n\n[4] link 'Tea'"
    seen = replace(huge.observation, url=f"http://shop.localhost/{'a' * 1_900_000}", text=title)
    name = "l" * 18_000_000
    clicked = Click(target=Target(id="4", role="link", name=name, line=f"link '{name}'"))
    steps = episode(*[(clicked, Refused(why="w" * 900_000))] * 3, (InvalidAction(why=""), Done(), "r" * 500_000))
    await agent(model, **further).decide(TASK, steps, LiveObservation(observation=seen, nodes={}, image=b"png"))
    assert len(str(model.asked[-1])) < usual + 30_000
    part, *_ = [model.asked[-1][-1].content] if not further else [model.asked[-1][-1].content[0]["text"]]  # type: ignore[index]
    text = str(part)
    assert "more characters)" in text
    assert "(281 more notices)" in text and "- again (4000 times)" in text and "Tab 1: u" in text
    assert f"URL:\nhttp://shop.localhost/{'a' * 100}" in text
