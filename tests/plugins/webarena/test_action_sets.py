"""WebArena's action sets: its quirks, its words, and the shipped prompts in them."""

import pytest

from harness.actions import (
    Action,
    Click,
    Code,
    InvalidAction,
    Press,
    Scroll,
    Stop,
    TabFocus,
    Target,
    Type,
)
from harness.agents.prompt import read_prompt
from harness.config import PROJECT
from harness.errors import ActionSyntaxError
from harness.evaluation.action_classes import action_set_of
from harness.plugins.demo.model.scripts import ScriptStep as PlanStep
from harness.records import Done, Episode, Refused
from harness.testing import ScriptedModel
from tests.actions.test_render import BOX, ENTRIES
from tests.agents.test_prompt import shipped as shipped_settings
from tests.agents.test_prompt_agent import BLANK, TASK, Scripted, agent, check_examples, episode, shipped, user_of, view


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("type [7] [hi] [2]", Type(target=Target(id="7"), text="hi] [2", enter=True)),
        ("type [7] [0] [0]", Type(target=Target(id="7"), text="0", enter=False)),
        ("stop [a\nb]", Stop(answer="")),
        ("scroll [downup]", Scroll(direction="down")),
        ("press [ctrl+a]", Press(key_comb="ctrl+a")),
        ("tab_focus [0000000000000000001]", TabFocus(index=1)),
        ("tab_focus [0]", TabFocus(index=0)),
    ],
)
def test_webarena_quirks_are_kept(text: str, action: Action) -> None:
    assert action_set_of("id_accessibility_tree").parse(text) == action


@pytest.mark.parametrize("text", ["type [7] [0]", "type [7] []", "click [-7]", "click  [7]", "none", "page_focus [1]"])
def test_webarena_refusals_are_kept(text: str) -> None:
    with pytest.raises(ActionSyntaxError):
        action_set_of("id_accessibility_tree").parse(text)


def test_playwright_verb_is_the_last_call_outside_parentheses() -> None:
    code = 'page.locator("a.b(c)").filter(has=page.get_by_text("x.fill(1)")).click()'
    assert action_set_of("playwright").parse(code) == Code(verb="click", pw_code=code)


def test_playwright_typing_is_read_even_where_webarena_stumbles() -> None:
    code = 'page.get_by_placeholder("type here").fill("™")'
    assert action_set_of("playwright").parse(code) == Code(verb="type", pw_code=code, text="™")


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        (r"'it\'s'", "it's"),
        (r'"say \"hi\""', 'say "hi"'),
        (r'"one\ntwo"', "one\ntwo"),
        (r'"\ud83d\ude00 \ud800"', "\U0001f600 \N{REPLACEMENT CHARACTER}"),
        (r'"no Python\n") or (', r"no Python\n"),
    ],
)
def test_playwright_text_is_typed_without_its_escapes(written: str, typed: str) -> None:
    code = f"page.get_by_label('Name').fill({written})"
    assert action_set_of("playwright").parse(code) == Code(verb="type", pw_code=code, text=typed)


def test_playwright_stops_and_changes_tabs_as_it_is_meant() -> None:
    actions = action_set_of("playwright")
    assert actions.parse('page.stop("")') == Stop(answer="")
    assert actions.parse("page.page_focus(0000000000000000001)") == TabFocus(index=1)
    assert actions.parse("page.page_focus(0)") == TabFocus(index=0)


def test_playwright_code_that_is_long_and_hostile_is_read_in_time() -> None:
    with pytest.raises(ActionSyntaxError):
        action_set_of("playwright").parse("." * 200_000 + "(" * 200_000)


@pytest.mark.parametrize(
    ("action", "entry"),
    [
        *ENTRIES,
        (Type(target=BOX, text="cat", enter=True), "type [7] [cat ] where [7] is textbox 'q' focused: True"),
        (
            Type(target=BOX, text="a\nb", enter=False, clear=True),
            "type [7] [a b] where [7] is textbox 'q' focused: True",
        ),
        (TabFocus(index=1), "page_focus [1]"),
    ],
)
def test_history_entries_are_webarenas_to_the_letter(action: Action, entry: str) -> None:
    assert action_set_of("id_accessibility_tree").render(action) == entry


def test_an_element_that_was_not_observed_is_said_so_in_webarenas_words() -> None:
    missing = Click(target=Target(id="99"))
    assert "no matching element found" in action_set_of("id_accessibility_tree").render(missing)


def test_an_unreadable_reply_is_told_of_in_webarenas_words() -> None:
    assert action_set_of("id_accessibility_tree").render(InvalidAction(), reply="I {click}") == (
        'The previous prediction you issued was "I {click}". However, the format was incorrect. Ensure that the action '
        "is wrapped inside a pair of ``` and enclose arguments within [] as follows: ```action [arg] ...```."
    )
    assert "pair of @@ and" in action_set_of("id_accessibility_tree").render(InvalidAction(), reply="x", splitter="@@")
    assert action_set_of("playwright").render(InvalidAction(), reply="x") == ""


def test_the_playwright_set_knows_only_code() -> None:
    assert action_set_of("playwright").render(Code(verb="check", pw_code="page.check()")) == "page.check()"
    assert action_set_of("playwright").render(Scroll(direction="up")) == ""


async def test_an_unreadable_reply_is_told_of_as_webarena_does_in_its_action_set() -> None:
    model = ScriptedModel("```go_back```")
    past = episode((InvalidAction(why="unreadable"), Done(), "I\nwonder"))
    await agent(model, action_set="id_accessibility_tree").decide(TASK, past, view())
    assert (
        user_of(model).rpartition("PREVIOUS ACTIONS:\n")[2].strip()
        == '1. The previous prediction you issued was "I wonder". However, the format was incorrect. Ensure that the'
        " action is wrapped inside a pair of ``` and enclose arguments within [] as follows: ```action [arg] ...```."
    )


def test_webarenas_action_set_is_not_offered_what_it_lacks() -> None:
    whole = "".join(str(message.content) for message in shipped("prompt", "id_accessibility_tree").messages(BLANK))
    assert "click [id]" in whole and "select [" not in whole and "clear [" not in whole
    assert "{actions}" not in whole


@pytest.mark.parametrize("name", ["prompt", "direct"])
async def test_the_shipped_prompts_are_understood_by_the_scripted_policy(name: str) -> None:
    """It has no action that clears a field, so the policy clicks it first."""
    clear = PlanStep(do="type", name="Tea", text="x", clear=True)
    decision = await agent(Scripted(clear), name, "id_accessibility_tree").decide(TASK, Episode(), view())
    assert isinstance(decision.action, Click) and decision.action.target.name == "Tea"
    later = await agent(
        Scripted(PlanStep(do="go_back"), PlanStep(do="stop", answer="ok")), name, "id_accessibility_tree"
    ).decide(TASK, episode((Scroll(direction="down"), Refused(why="x"))), view())
    assert isinstance(later.action, InvalidAction), "a refused action is a misfit, and so no action"


@pytest.mark.parametrize("name", ["prompt", "direct"])
@pytest.mark.parametrize("action_set", ["cairn", "id_accessibility_tree", "playwright"])
def test_the_shipped_prompts_have_two_readable_examples_in_every_action_set(name: str, action_set: str) -> None:
    prompt = read_prompt(shipped_settings(PROJECT / "configs" / "agent" / f"{name}.yaml"), action_set=action_set)
    assert len(prompt.examples) == 2
    if action_set != "playwright":  # whose actions hold no ids
        check_examples(prompt, action_set)
