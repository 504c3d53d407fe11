"""When two actions count as the same where the action set says nothing else."""

import pytest

from harness.actions import Action, CairnActionSet, Click, Code, Goto, Hover, InvalidAction, Mouse, Select, Target, Type


def by_id(id: str, **observed: str) -> Target:
    return Target(id=id, **observed)


def by_name(role: str, name: str) -> Target:
    return Target(id="", role=role, name=name)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (Click(target=by_id("1", line="a")), Click(target=by_id("1", line="b")), True),
        (Click(target=by_id("1")), Click(target=by_id("2")), False),
        (Click(target=by_id("1")), Hover(target=by_id("1")), False),
        (Click(target=by_name("button", "Go")), Click(target=by_name("button", "Go")), True),
        (Click(target=by_name("alert", "Go")), Click(target=by_name("alert", "Go")), True),
        (Click(target=by_name("button", "Go")), Click(target=by_name("button", "Stop")), False),
        (Click(target=by_name("", "")), Click(target=by_name("", "")), False),
        (Click(target=by_id("1")), Click(target=by_name("link", "")), False),
        (Type(target=by_id("1"), text="a", clear=True), Type(target=by_id("1"), text="b"), True),
        (Select(target=by_id("1", line="a"), option="x"), Select(target=by_id("1"), option="x"), True),
        (Select(target=by_id("1"), option="x"), Select(target=by_id("1"), option="y"), False),
        (Mouse(verb="click", x=0.5, y=0.5), Mouse(verb="click", x=0.500001, y=0.5), True),
        (Mouse(verb="click", x=0.5, y=0.5), Mouse(verb="hover", x=0.5, y=0.5), False),
        (InvalidAction(why="a"), InvalidAction(why="b"), True),
        (Goto(url="http://a.test"), Goto(url="http://b.test"), False),
        (Code(verb="click", pw_code="a.click()"), Code(verb="click", pw_code="b.click()"), False),
    ],
)
def test_the_same_is_what_does_the_same_to_the_same_element(a: Action, b: Action, same: bool) -> None:
    assert CairnActionSet().same(a, b) is CairnActionSet().same(b, a) is same
