"""What the evidence of an attempt has for another reference than the one it was gathered for."""

from dataclasses import replace

import pytest

from harness.records import Closed, CloseReason, Eval, Evidence, HtmlTarget, Selected, Task
from harness.runner.references import realigned
from tests.scored_runs import a_task

CART, PAGE, ORDERS = (f"http://shop.localhost/{name}" for name in ("cart", "page", "orders"))


def target(url: str, locator: str = "document.title", *prep: str, want: str = "x") -> HtmlTarget:
    return HtmlTarget(url=url, locator=locator, must_include=(want,), prep_actions=prep)


def task(*targets: HtmlTarget) -> Task:
    return replace(a_task("1"), eval=Eval(eval_types=("program_html",), program_html=targets))


def closed(*contents: str, html: str | None = None, gathered: tuple[HtmlTarget, ...] | None = None) -> Closed:
    """Evidence of as many targets as there are contents."""
    selected = tuple(Selected(index=index, url="", content=content) for index, content in enumerate(contents))
    evidence = Evidence(url=PAGE, title="", html=html, selected=selected, targets=gathered)
    return Closed(reason=CloseReason.STOPPED, detail="", answer="", evidence=evidence, at=0.0)


def found(end: Closed, played: Task, wanted: Task) -> list[str | None]:
    evidence = realigned(end, played, wanted).evidence
    assert [one.index for one in evidence.selected] == list(range(len(wanted.eval.program_html)))
    assert all(one.content or "was not looked at when the episode ended" in one.error for one in evidence.selected)
    return [one.content for one in evidence.selected]


def test_another_wish_for_the_same_place_needs_nothing_new() -> None:
    end = closed("c")
    assert realigned(end, task(target(CART)), task(target(CART, want="y"))) is end


def test_targets_are_found_wherever_they_stood() -> None:
    played = task(target(CART), target(PAGE))
    assert found(closed("c", "p"), played, task(target(PAGE), target(CART))) == ["p", "c"]
    assert found(closed("c", "p"), played, task(target(PAGE))) == ["p"]
    assert found(closed("c", "p"), played, task(target(CART), target(CART, want="y"))) == ["c", "c"]


@pytest.mark.parametrize(
    "other", [target(ORDERS), target(CART, "document.body.innerText"), target(CART, "document.title", "open()")]
)
def test_what_was_not_looked_at_is_an_error_of_that_target(other: HtmlTarget) -> None:
    assert found(closed("c"), task(target(CART)), task(target(CART), other)) == ["c", None]


def test_the_whole_of_the_last_page_is_always_there() -> None:
    whole = target("last", "")
    assert found(closed(html="h"), task(), task(whole)) == ["h"]
    assert found(closed("c", html="h"), task(target(CART)), task(target(CART), whole)) == ["c", None], (
        "WebArena would look at the cart"
    )


def test_the_agents_own_page_is_another_after_a_preparation_or_another_address() -> None:
    last, prepared = target("last"), target("last", "document.title", "open()")
    assert found(closed("p", "l"), task(prepared, last), task(last)) == [None]
    assert found(closed("p", "l"), task(prepared, last), task(prepared, last, target(CART))) == ["p", "l", None]
    assert found(closed("c", "l"), task(target(CART), last), task(last, target(CART))) == [None, "c"]


def test_evidence_of_an_attempt_that_went_on_with_a_correction_is_its_own() -> None:
    played, corrected = task(target(CART)), (target(PAGE),)
    end = closed("p", gathered=corrected)
    assert found(end, played, task(*corrected)) == ["p"]
    assert found(end, played, played) == [None], "put back, it needs what nobody looked at"
