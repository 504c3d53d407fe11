"""History entries of cairn's action set, in its own syntax."""

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


ENTRIES: list[tuple[Action, str]] = [
    (Click(target=BOX), "click [7] where [7] is textbox 'q' focused: True"),
    (Select(target=BOX, option="Blue"), "select [7] [Blue] where [7] is textbox 'q' focused: True"),
    (Scroll(direction="up"), "scroll [up]"),
    (GoBack(), "go_back"),
    (InvalidAction(why="x"), "none"),
    (Code(verb="click", pw_code="page.click()"), "page.click()"),
    (Mouse(verb="click", x=0.5, y=0.25), "click_at [500] [250]"),
    (Keyboard(text="a\nb"), "write [a b]"),
]
"""Those that WebArena writes in the same way."""


@pytest.mark.parametrize(
    ("action", "entry"),
    [
        *ENTRIES,
        (Type(target=BOX, text="cat", enter=True), "type [7] [cat] [1] where [7] is textbox 'q' focused: True"),
        (
            Type(target=BOX, text="a\nb", enter=False, clear=True),
            "clear [7] [a b] [0] where [7] is textbox 'q' focused: True",
        ),
        (TabFocus(index=1), "tab_focus [1]"),
    ],
)
def test_describe(action: Action, entry: str) -> None:
    assert action_set_of("cairn").render(action) == entry


def test_an_element_that_was_not_observed_is_written_all_the_same() -> None:
    assert action_set_of("cairn").render(Click(target=Target(id="99"))) == "click [99]"


def test_an_unreadable_reply_is_quoted_with_the_splitter_to_use() -> None:
    told = action_set_of("cairn").render(InvalidAction(), reply="I {click}", splitter="@@")
    assert '"I {click}"' in told and "No action could be read" in told
    assert "@@action [arg] ...@@" in told
