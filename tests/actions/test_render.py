"""History entries: WebArena's to the letter, cairn's in its own syntax."""

import pytest

from harness.actions import (
    Action,
    Click,
    Code,
    GoBack,
    InvalidAction,
    Keyboard,
    Mouse,
    Scroll,
    Select,
    TabFocus,
    Target,
    Type,
)
from harness.evaluation.action_classes import action_set_of

BOX = Target(id="7", role="textbox", name="q", line="textbox 'q' focused: True")


@pytest.mark.parametrize(
    ("action", "webarena", "cairn"),
    [
        (Click(target=BOX), "click [7] where [7] is textbox 'q' focused: True", None),
        (
            Type(target=BOX, text="cat", enter=True),
            "type [7] [cat ] where [7] is textbox 'q' focused: True",
            "type [7] [cat] [1] where [7] is textbox 'q' focused: True",
        ),
        (
            Type(target=BOX, text="a\nb", enter=False, clear=True),
            "type [7] [a b] where [7] is textbox 'q' focused: True",
            "clear [7] [a b] [0] where [7] is textbox 'q' focused: True",
        ),
        (Select(target=BOX, option="Blue"), "select [7] [Blue] where [7] is textbox 'q' focused: True", None),
        (TabFocus(index=1), "page_focus [1]", "tab_focus [1]"),
        (Scroll(direction="up"), "scroll [up]", None),
        (GoBack(), "go_back", None),
        (InvalidAction(why="x"), "none", None),
        (Code(verb="click", pw_code="page.click()"), "page.click()", None),
        (Mouse(verb="click", x=0.5, y=0.25), "click_at [500] [250]", None),
        (Keyboard(text="a\nb"), "write [a b]", None),
    ],
)
def test_describe(action: Action, webarena: str, cairn: str | None) -> None:
    assert action_set_of("id_accessibility_tree").render(action) == webarena
    assert action_set_of("cairn").render(action) == (cairn or webarena)


def test_an_element_that_was_not_observed_is_said_so_in_webarenas_words() -> None:
    missing = Click(target=Target(id="99"))
    assert "no matching element found" in action_set_of("id_accessibility_tree").render(missing)
    assert action_set_of("cairn").render(missing) == "click [99]"


def test_an_unreadable_reply_is_quoted_with_the_splitter_to_use() -> None:
    told = action_set_of("cairn").render(InvalidAction(), reply="I {click}", splitter="@@")
    assert '"I {click}"' in told and "No action could be read" in told
    assert "@@action [arg] ...@@" in told


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
