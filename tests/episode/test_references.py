"""What the evidence of an attempt has for another reference than the one it was gathered for."""

import re
from dataclasses import replace
from typing import Any

import pytest

from harness.codec import with_texts
from harness.episode.job import task_digest
from harness.episode.references import as_asked, check_same_task, outdated, realigned, reference_for
from harness.errors import TaskError
from harness.records import Closed, CloseReason, Eval, Evidence, HtmlTarget, Opened, Selected, Task
from harness.secrets.redaction import Redactor
from tests.runner.test_pending import PASSED, outcome
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


SECRET = Redactor({"sites.shop.login": "hunter-22"})


def recorded(played: Task) -> Opened:
    """The first line of its journal, with the digest of what it was before secrets were taken out."""
    without = with_texts(played, SECRET.text)
    return Opened(attempt=1, trial=0, task=without, task_digest=task_digest(played), config_digest="c", seed=0, at=0.0)


def asking(intent: str = "log in as hunter-22", **judged: Any) -> Task:
    return replace(a_task("1", **judged), intent=intent, storage_state="/one/shop_state.json")


def test_a_task_is_the_same_with_its_secrets_and_on_another_machine() -> None:
    played = recorded(asking(reference_answers={"exact_match": "hunter-22"}))
    fixed = replace(asking(reference_answers={"exact_match": "hunter-23"}), storage_state="/other/shop_state.json")
    check_same_task(fixed, played, SECRET)
    reference = reference_for(fixed, played)
    assert reference is not None and reference.task_digest == task_digest(fixed)
    assert reference_for(asking(reference_answers={"exact_match": "hunter-22"}), played) is None


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (asking("log in as somebody"), "intent"),
        (replace(asking(), start_urls=(CART,)), "start_url"),
        (replace(asking(), sites=("forum",), mutates=True), "sites, mutates"),
        (replace(asking(), metadata={"source": "x", "eval.mine": 1, "attack": None}), "attack, source"),
    ],
)
def test_what_else_changed_is_named(other: Task, named: str) -> None:
    with pytest.raises(TaskError, match=re.escape(f"({named} changed); only its reference (eval) may be corrected")):
        check_same_task(other, recorded(asking()), SECRET)


def test_only_scores_by_the_present_reference_count() -> None:
    played, fixed = asking(), asking(reference_answers={"exact_match": "x"})
    reference = reference_for(fixed, recorded(played))
    assert reference is not None
    one = replace(outcome(score=PASSED), task_id="1", task_digest=task_digest(played))
    other = replace(one, scores={"corrected": replace(one.scores["corrected"], reference=reference.task_digest)})
    for now, became, counts in ((played, one, True), (fixed, one, False), (fixed, other, True), (played, other, False)):
        outcomes, digests = {("1", 0): became}, {"1": task_digest(now)}
        assert ("corrected" in as_asked(outcomes, digests)["1", 0].scores) == counts
        assert outdated(outcomes, digests, "corrected") == (not counts)
    assert as_asked({("1", 0): other}, {}) == {("1", 0): other}, "nothing is known of a task that is not there"
