"""Replies become actions of one of three action sets, or a syntax error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.actions import (
    Check,
    Click,
    CloseTab,
    DoubleClick,
    Drag,
    Goto,
    Keyboard,
    Mouse,
    NewTab,
    Press,
    Scroll,
    Select,
    Stop,
    TabFocus,
    Target,
    Type,
    Upload,
    Wait,
    extract,
    resolve,
)
from harness.errors import ActionSyntaxError
from harness.evaluation.action_classes import ACTION_SETS, action_set_of
from harness.records import Node

CAIRN_READS = {
    "click [12]": Click(target=Target(id="12")),
    "Click  [ 12 ]": Click(target=Target(id="12")),
    "click [12] where [12] is link 'Foo [1]'": Click(target=Target(id="12")),
    "type [12] [cat]": Type(target=Target(id="12"), text="cat", enter=True),
    "type [12] [0]": Type(target=Target(id="12"), text="0", enter=True),
    "type [12] [0] [0]": Type(target=Target(id="12"), text="0", enter=False),
    "type [12] [cat] [press_enter_after=0]": Type(target=Target(id="12"), text="cat", enter=False),
    "type [12] [cat] [press_enter_after=1]": Type(target=Target(id="12"), text="cat", enter=True),
    "type [12] [a] [b]": Type(target=Target(id="12"), text="a] [b", enter=True),
    "type [12] [a\nb] [0]": Type(target=Target(id="12"), text="a\nb", enter=False),
    "type [12] [a] [1] where [12] is textbox 'x'": Type(target=Target(id="12"), text="a", enter=True),
    "type [12] [™ 日本 \U0001f600] [0]": Type(target=Target(id="12"), text="™ 日本 \U0001f600", enter=False),
    "clear [12] []": Type(target=Target(id="12"), text="", enter=True, clear=True),
    "clear [12] [new] [0]": Type(target=Target(id="12"), text="new", enter=False, clear=True),
    "select [3] [Dark [blue]]": Select(target=Target(id="3"), option="Dark [blue]"),
    "dblclick [3]": DoubleClick(target=Target(id="3")),
    "check [3] where [3] is checkbox 'Agree'": Check(target=Target(id="3")),
    "uncheck [3]": Check(target=Target(id="3"), checked=False),
    "upload [3] [../a b.txt]": Upload(target=Target(id="3"), file="../a b.txt"),
    "drag [3] [4]": Drag(target=Target(id="3"), onto=Target(id="4")),
    "drag [3] [4] where [3] is listitem 'a' and [4] is list 'b'": Drag(target=Target(id="3"), onto=Target(id="4")),
    "wait": Wait(),
    "click_at [0] [1000]": Mouse(verb="click", x=0.0, y=1.0),
    "hover_at [250] [500]": Mouse(verb="hover", x=0.25, y=0.5),
    "write [a] b]": Keyboard(text="a] b"),
    "press [ctrl + a]": Press(key_comb="Control+a"),
    "press [ArrowLeft]": Press(key_comb="ArrowLeft"),
    "scroll [direction=down]": Scroll(direction="down"),
    "scroll up": Scroll(direction="up"),
    "goto [http://shop.localhost/?q=a[1]]": Goto(url="http://shop.localhost/?q=a[1]"),
    "tab_focus [1]": TabFocus(index=1),
    "new_tab": NewTab(),
    "close_tab []": CloseTab(),
    "stop": Stop(answer=""),
    "stop [a\nb]": Stop(answer="a\nb"),
    "stop [a] [b]": Stop(answer="a] [b"),
}
CAIRN_REFUSES = [
    "click_at [1001] [3]",
    "click_at [5]",
    "drag [3]",
    "upload [3] []",
    "wait [3]",
    "write []",
    "",
    "   ",
    "click 12",
    "click [x]",
    "click [12] [13]",
    "click [12] where [13] is link 'Foo'",
    "type [12]",
    "type [12] cat",
    "press []",
    "scroll [left]",
    "goto []",
    "new_tab [http://a.test]",
    "stop 42",
    "stop [42",
    "tab_focus [9999999999]",
    "sleep",
    "```",
    "click [12]\nclick [13]",
]


@pytest.mark.parametrize("text", CAIRN_READS)
def test_cairn_reads(text: str) -> None:
    assert action_set_of("cairn").parse(text) == CAIRN_READS[text]


@pytest.mark.parametrize("text", CAIRN_REFUSES)
def test_cairn_refuses(text: str) -> None:
    with pytest.raises(ActionSyntaxError):
        action_set_of("cairn").parse(text)


def test_cairn_says_the_form_of_what_it_cannot_read() -> None:
    with pytest.raises(ActionSyntaxError, match=r"select \[id\] \[option\]"):
        action_set_of("cairn").parse("select [3]")
    with pytest.raises(ActionSyntaxError, match="known actions: click, hover"):
        action_set_of("cairn").parse("dance [3]")


@pytest.mark.slow
@given(text=st.text(), enter=st.booleans(), clear=st.booleans())
def test_what_cairn_shows_in_its_history_can_be_written_again(text: str, enter: bool, clear: bool) -> None:
    action = Type(target=Target(id="7"), text=text.replace("\n", " "), enter=enter, clear=clear)
    assert action_set_of("cairn").parse(action_set_of("cairn").render(action)) == action
    aimed = resolve(action, {"7": Node(role="textbox", name="q", nth=0, line="textbox 'q'", box=None)})
    assert action_set_of("cairn").parse(action_set_of("cairn").render(aimed)) == action


@pytest.mark.parametrize("action_set", ACTION_SETS.names())
@given(text=st.text() | st.text("[]()\"'. 01clicktypestopfl\n"))
def test_any_text_is_an_action_or_a_syntax_error(action_set: str, text: str) -> None:
    try:
        action_set_of(action_set).parse(text)
    except ActionSyntaxError:
        pass


def test_extract_takes_the_first_text_between_splitters() -> None:
    assert extract("I will ```click [1]``` or ```click [2]```") == "click [1]"
    assert extract("I will ```\nstop [a\nb]\n```") == "stop [a\nb]"
    assert extract("@click [1]@", "@") == "click [1]"


@pytest.mark.parametrize("reply", ["", "click [1]", "```click [1]", "click [1]```"])
def test_extract_needs_both_splitters(reply: str) -> None:
    with pytest.raises(ActionSyntaxError):
        extract(reply)


def test_resolve_fills_the_target_from_the_observation() -> None:
    node = Node(role="link", name="A  b", nth=2, line="link 'A  b'", box=(1.0, 2.0, 3.0, 4.0))
    action = resolve(Click(target=Target(id="12")), {"12": node})
    assert action == Click(
        target=Target(id="12", role="link", name="A  b", nth=2, line="link 'A b'", box=(1.0, 2.0, 3.0, 4.0))
    )


def test_resolve_leaves_what_it_cannot_aim() -> None:
    assert resolve(Click(target=Target(id="99")), {}) == Click(target=Target(id="99"))
    assert resolve(Stop(answer="12"), {}) == Stop(answer="12")
