"""When actions are the same, and when that ends an episode."""

import pytest

from harness.actions import Action, Click, InvalidAction, Mouse, Select, Target, Type
from harness.cli import configured
from harness.episode.attempt import stop_rules
from harness.evaluation.action_classes import action_set_of
from harness.plugins.webarena.same_action import equivalent
from harness.records import EpisodeLimits


def read(*texts: str) -> list[Action]:
    return [
        InvalidAction(why=text) if text == "?" else action_set_of("id_accessibility_tree").parse(text) for text in texts
    ]


def stop(actions: list[Action], *, steps: int = 30, parsing: int | None = 3, repeated: int | None = 3) -> str | None:
    limits = EpisodeLimits(max_steps=steps, parsing_failures=parsing, repeated_actions=repeated)
    found = stop_rules(actions, limits, equivalent)
    return None if found is None else found.detail


def test_typing_into_the_same_element_is_the_same_whatever_is_typed() -> None:
    assert equivalent(*read("type [1] [a] [0]", "type [1] [b] [1]"))
    assert not equivalent(*read("type [1] [a]", "type [2] [a]"))


def test_an_element_by_role_is_compared_by_role_and_name_unless_the_role_is_alert() -> None:
    def by_role(role: str, name: str) -> Action:
        return Click(target=Target(id="", role=role, name=name))

    assert equivalent(by_role("button", "Go"), by_role("button", "Go"))
    assert not equivalent(by_role("button", "Go"), by_role("button", "Stop"))
    assert not equivalent(by_role("alert", "Go"), by_role("alert", "Go"))
    assert equivalent(Click(target=Target(id="3")), by_role("link", ""))


def test_all_clicks_in_playwright_code_are_one_but_checks_are_told_apart() -> None:
    code = [
        action_set_of("playwright").parse(f'page.get_by_label("{name}").{verb}()')
        for verb in ("click", "check")
        for name in "ab"
    ]
    assert equivalent(code[0], code[1])
    assert not equivalent(code[2], code[3])
    assert not equivalent(code[0], code[2])


def test_points_are_the_same_when_they_are_very_close() -> None:
    assert equivalent(Mouse(verb="click", x=0.5, y=0.5), Mouse(verb="click", x=0.500001, y=0.5))
    assert not equivalent(Mouse(verb="click", x=0.5, y=0.5), Mouse(verb="click", x=0.5001, y=0.5))
    assert not equivalent(Mouse(verb="click", x=0.5, y=0.5), Mouse(verb="hover", x=0.5, y=0.5))


def test_choices_differ_by_element_and_option_not_by_what_was_observed() -> None:
    one = Select(target=Target(id="1", line="combobox 'a'"), option="x")
    assert equivalent(one, Select(target=Target(id="1"), option="x"))
    assert not equivalent(one, Select(target=Target(id="1"), option="y"))


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        (read(), None),
        (read("?", "?", "?"), "Failed to parse actions for 3 times"),
        (read("?", "?", "go_back", "?"), None),
        (read("click [1]", "click [1]", "click [1]"), "Same action for 3 times"),
        (read("click [1]", "click [2]", "click [1]", "click [1]"), None),
        (read("type [1] [a]", "go_back", "type [1] [b]", "go_back", "type [1] [c]"), "Same typing action for 3 times"),
    ],
)
def test_early_stop_reasons(actions: list[Action], reason: str | None) -> None:
    assert stop(actions) == reason


def test_the_step_limit_comes_first() -> None:
    assert stop(read("?", "?", "?"), steps=3) == "Reach max steps 3"
    assert stop(read(), steps=0) == "Reach max steps 0"


def test_unreadable_replies_are_also_repetitions() -> None:
    assert stop(read("?", "?"), parsing=3, repeated=2) == "Same action for 2 times"


def test_thresholds_of_zero_look_at_everything() -> None:
    assert stop(read(), parsing=0) == "Failed to parse actions for 0 times"
    assert stop(read("go_back"), parsing=0) is None
    assert stop(read("go_back", "go_back"), repeated=0) == "Same action for 0 times"
    assert stop(read("go_back", "new_tab"), repeated=0) is None


def test_a_rule_that_is_switched_off_ends_nothing() -> None:
    assert stop(read(*["scroll [down]"] * 29), repeated=None) is None
    assert stop(read(*["type [1] [a]"] * 29), repeated=None) is None
    assert stop(read(*["?"] * 29), parsing=None, repeated=None) is None
    assert stop(read(*["?"] * 3), parsing=None) == "Same action for 3 times"
    assert stop(read(*["?"] * 3), repeated=None) == "Failed to parse actions for 3 times"
    assert stop(read(*["?"] * 30), parsing=None, repeated=None) == "Reach max steps 30"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("benchmark", "given", "steps", "parsing", "repeated"),
    [
        ("visualwebarena", "", 30, 3, 5),
        ("webarena", "task.path=x", 30, 3, 3),
        ("webvoyager", "task.path=x", 15, None, None),
        ("online_mind2web", "task.path=x", 30, None, None),
        ("browsecomp", "task.path=x", 30, None, None),
        ("assistantbench", "task.path=x", 30, None, None),
        ("real", "task.path=x", 25, None, None),
        ("miniwob", "", 30, 3, None),
    ],
)
def test_an_episode_ends_by_the_rules_of_its_benchmark(
    benchmark: str, given: str, steps: int, parsing: int | None, repeated: int | None
) -> None:
    limits = configured([f"task={benchmark}", *filter(None, [given])]).limits
    assert (limits.max_steps, limits.parsing_failures, limits.repeated_actions) == (steps, parsing, repeated)


def test_a_cleared_field_counts_as_typing() -> None:
    target = Target(id="1")
    assert equivalent(Type(target=target, text="a", clear=True), Type(target=target, text="b"))
