"""Which record may follow which, and what they add up to."""

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.actions import Stop
from harness.journal.fold import check, fold
from harness.journal.index import result_of
from harness.journal.record_limits import invalid_record
from harness.records import (
    Acted,
    CloseReason,
    Diverged,
    DoubtResolution,
    Episode,
    Record,
    SideEffect,
    Status,
    Step,
    Usage,
)
from tests.journal.episodes import (
    acted,
    closed,
    decided,
    doubt,
    failed,
    folded,
    judged,
    late,
    opened,
    replied,
    resumed,
    scored,
    task,
    whole_episode,
)

BEGUN = (opened(), acted(0))
STEPPED = (*BEGUN, decided(1), acted(1))
PENDING = (*STEPPED, decided(2))
STOPPING = (*STEPPED, decided(2, Stop(answer="yes")))
CLOSED = (*STOPPING, closed())
SCORED = (*CLOSED, scored())

LEGAL: list[tuple[tuple[Record, ...], Record]] = [
    ((), opened()),
    ((opened(),), acted(0)),
    ((opened(),), failed()),
    (BEGUN, decided(1)),
    (BEGUN, replied(1)),
    ((*BEGUN, replied(1)), replied(1, "l")),
    ((*BEGUN, replied(1)), decided(1)),
    ((*BEGUN, replied(1)), failed()),
    ((*BEGUN, replied(1)), resumed(0)),
    ((*BEGUN, replied(1)), closed(CloseReason.BUDGET)),
    (BEGUN, failed()),
    (BEGUN, resumed(0)),
    (BEGUN, closed(CloseReason.BUDGET)),
    (STEPPED, decided(2)),
    (STEPPED, resumed(1)),
    (STEPPED, closed(CloseReason.MAX_STEPS)),
    (PENDING, acted(2)),
    (PENDING, resumed(1)),
    (PENDING, doubt(2)),
    (PENDING, doubt(0)),
    ((*PENDING, failed(), opened(2)), doubt(0)),
    (BEGUN, late(0)),
    (PENDING, late(1)),
    (PENDING, failed()),
    (PENDING, closed(CloseReason.BUDGET)),
    (STOPPING, closed()),
    (STOPPING, closed(CloseReason.BUDGET)),
    (STOPPING, failed()),
    (STOPPING, resumed(1)),
    ((*PENDING, failed()), acted(2)),
    ((*PENDING, failed()), resumed(1)),
    ((opened(), failed()), opened(2)),
    ((*PENDING, failed()), opened(2)),
    (CLOSED, opened(2)),
    (CLOSED, scored()),
    (CLOSED, judged()),
    ((*CLOSED, judged()), scored()),
    (SCORED, judged("other")),
    (SCORED, scored(0.5)),
    (SCORED, scored(None, status=Status.ERROR)),
    (SCORED, opened(2)),
]

ILLEGAL: list[tuple[tuple[Record, ...], Record, str]] = [
    *[
        ((), record, f"{record.kind} before the episode was")
        for record in (acted(0), decided(1), resumed(0), failed(), late(0), doubt(0), closed(), scored())
    ],
    ((), opened(2), "attempt 2 opened after attempt 0"),
    ((opened(),), opened(2), "had neither failed nor closed"),
    ((opened(),), decided(1), "decided before anything was observed"),
    ((opened(),), resumed(0), "resumed before anything was observed"),
    ((opened(),), closed(CloseReason.BUDGET), "closed before anything was observed"),
    ((opened(),), acted(1), "step 1 before the arrival"),
    ((opened(),), scored(), "scored before the episode was closed"),
    (BEGUN, acted(0), "step 0 acted without a decision"),
    (BEGUN, acted(1), "step 1 acted without a decision"),
    (BEGUN, decided(0), "decision 0 after step 0"),
    (BEGUN, decided(2), "decision 2 after step 0"),
    (STEPPED, decided(1), "decision 1 after step 1"),
    (STEPPED, acted(1), "step 1 acted without a decision"),
    (STEPPED, resumed(0), "resumed at step 0 although the last whole step is 1"),
    (STEPPED, resumed(2), "resumed at step 2 although the last whole step is 1"),
    (STEPPED, closed(), "closed as stopped without a pending stop"),
    (STEPPED, scored(), "scored before the episode was closed"),
    (STEPPED, judged(), "judged before the episode was closed"),
    (STEPPED, opened(2), "had neither failed nor closed"),
    (BEGUN, opened(2, why="settings"), "had neither failed nor closed"),
    (STEPPED, failed(2), "failure of attempt 2 in attempt 1"),
    (STEPPED, doubt(1), "doubt about step 1, which is not pending"),
    (PENDING, doubt(1), "doubt about step 1, which is not pending"),
    ((opened(),), late(0), "late effects before anything was observed"),
    (STEPPED, late(0), "late effects after step 0 although the last whole step is 1"),
    (PENDING, decided(2), "decision 2 while decision 2 is pending"),
    (PENDING, decided(3), "decision 3 while decision 2 is pending"),
    (PENDING, acted(1), "step 1 acted while decision 2 is pending"),
    (PENDING, acted(3), "step 3 acted while decision 2 is pending"),
    (PENDING, closed(), "closed as stopped without a pending stop"),
    (STOPPING, acted(2), "a stop is never acted upon"),
    *[
        (CLOSED, record, f"{record.kind} after the episode was closed")
        for record in (acted(2), decided(3), resumed(1), failed(), late(1), doubt(0), closed())
    ],
    (CLOSED, opened(1), "attempt 1 opened after attempt 1"),
    (CLOSED, opened(3), "attempt 3 opened after attempt 1"),
    (CLOSED, opened(2, trial=1), "in the journal of another"),
    (CLOSED, opened(2, of=task("8")), "in the journal of another"),
    (CLOSED, scored(1.5), "a score of 1.5"),
    (CLOSED, scored(-0.1), "a score of -0.1"),
    (CLOSED, scored(None), "a score of None"),
    (CLOSED, scored(0.0, status=Status.ERROR), "an error scored 0.0"),
    (CLOSED, replace(scored(), verdicts=scored(2.0).verdicts), "a score of 2.0"),
]


@pytest.mark.parametrize(("before", "record"), LEGAL)
def test_a_legal_successor_is_let_pass(before: tuple[Record, ...], record: Record) -> None:
    assert check(folded(before), record) is None


@pytest.mark.parametrize(("before", "record", "why"), ILLEGAL)
def test_an_illegal_successor_is_named(before: tuple[Record, ...], record: Record, why: str) -> None:
    assert why in (check(folded(before), record) or "let pass")


def test_an_empty_journal_is_an_empty_episode() -> None:
    assert folded(()) == Episode()
    assert Episode().attempt == 0


def test_a_whole_episode_holds_its_records() -> None:
    episode = folded(whole_episode())
    assert episode.arrival == acted(0)
    assert episode.steps == (Step(decided=decided(1), acted=acted(1)), Step(decided=decided(2), acted=acted(2)))
    assert (episode.failures, episode.resumed, episode.closed) == ((failed(),), (resumed(2),), closed())
    assert episode.last == acted(2)


def test_a_decision_is_pending_until_it_is_acted() -> None:
    assert folded(PENDING).pending == decided(2)
    assert folded((*PENDING, resumed(1), failed())).pending == decided(2)
    assert folded((*PENDING, acted(2))).pending is None


def test_the_final_stop_stays_visible_after_closing() -> None:
    pending = folded(SCORED).pending
    assert pending is not None
    assert pending.action == Stop(answer="yes")


def test_a_new_score_replaces_the_old_one_of_its_dialect_only() -> None:
    episode = folded((*SCORED, scored(0.25, dialect="corrected"), scored(0.5)))
    assert {dialect: score.value for dialect, score in episode.scores.items()} == {"webarena": 0.5, "corrected": 0.25}


def test_usage_and_working_time_are_sums_over_decisions_and_steps() -> None:
    episode = folded(whole_episode(steps=2))
    assert episode.usage == Usage(prompt_tokens=30, completion_tokens=6, cost_usd=1.5, requests=3)
    assert episode.elapsed_ms == 3 * 100.0 + 3 * 10.0
    assert (episode.total_usage, episode.total_elapsed_ms) == (episode.usage, episode.elapsed_ms)


def test_what_judges_cost_is_a_sum_of_its_own_over_dialects_and_attempts() -> None:
    asked = Usage(prompt_tokens=5, completion_tokens=1, cost_usd=0.25, requests=1)
    end = (
        acted(0),
        decided(1, Stop(answer="yes")),
        closed(),
        scored(judge=asked),
        scored(dialect="corrected", judge=asked),
    )
    episode = folded((opened(), *end, opened(2, why="retry"), *end))
    assert episode.total_judge_usage == asked + asked + asked + asked
    assert episode.total_usage == decided(1).usage + decided(1).usage


def test_a_reply_of_a_judge_is_known_in_its_attempt_and_its_cost_counts_once() -> None:
    paid = Usage(prompt_tokens=10, completion_tokens=1, requests=1)
    asked = folded((*CLOSED, judged("a"), judged("b")))
    assert set(asked.judged) == {"a", "b"} and asked.total_judge_usage == paid + paid
    concluded = folded((*CLOSED, judged("a"), judged("b"), scored(judge=paid + paid)))
    assert concluded.total_judge_usage == paid + paid, "the verdict tells the same cost again"
    anew = folded((*CLOSED, judged("a"), scored(judge=paid), opened(2, why="retry")))
    assert anew.judged == {} and anew.total_judge_usage == paid


def test_a_new_attempt_starts_empty_and_keeps_the_totals() -> None:
    before = folded(SCORED)
    after = fold(before, opened(2, why="retry"))
    assert after == Episode(
        opened=opened(2, why="retry"),
        has_acted=True,
        total_usage=before.usage,
        total_elapsed_ms=before.elapsed_ms,
        total_effects=("http://shop.localhost/",),
    )
    again = folded((*SCORED, opened(2, why="retry"), acted(0), decided(1)))
    assert again.usage == decided(1).usage
    assert again.total_usage == before.usage + decided(1).usage
    assert again.total_elapsed_ms == before.elapsed_ms + 110.0


def test_failures_are_counted_on_when_an_attempt_diverged() -> None:
    assert folded((*STEPPED, failed(), opened(2, why="diverged"))).failures == (failed(),)
    assert folded((*STEPPED, failed(), opened(2, why="moved"))).failures == (failed(),)
    assert folded((*STEPPED, failed(), opened(2, why="retry"))).failures == ()


def test_a_failure_has_the_step_of_the_decision_before_it_whatever_the_clock_said() -> None:
    early = replace(failed(), at=0.0)
    begun = (opened(), early, acted(0), early, decided(1), early, acted(1), early, decided(2), early)
    assert folded(begun).failed_at == (0, 0, 1, 1, 2)
    assert [step for step, _ in folded(begun).own_failures()] == [0, 0, 1, 1, 2]
    again = folded((*begun, opened(2, why="diverged"), acted(0), replace(failed(2), at=0.0)))
    assert again.failed_at == (0, 0, 1, 1, 2, 0) and [step for step, _ in again.own_failures()] == [0]
    assert folded((*begun, opened(2, why="retry"))).failed_at == ()


def test_an_attempt_may_be_left_as_it_stands_when_its_sites_have_moved() -> None:
    assert check(folded(STEPPED), opened(2, why="moved")) is None
    assert check(folded(STEPPED), opened(2, why="retry")) is not None


def test_effects_are_kept_by_address_whatever_was_asked_there() -> None:
    def sent(step: int, *urls: str) -> Acted:
        return replace(acted(step), effects=tuple(SideEffect(method="POST", url=url, status=200) for url in urls))

    first = (opened(), acted(0), decided(1), sent(1, "http://a.test/x?n=1", "http://a.test/x?n=2"))
    episode = folded((*first, failed(), opened(2, why="diverged"), acted(0), decided(1), sent(1, "http://b.test/")))
    assert episode.total_effects == ("http://a.test/x", "http://b.test/")


def test_only_the_newest_failure_of_this_attempt_says_that_it_has_diverged() -> None:
    diverged = replace(failed(), type="EnvironmentDiverged")
    assert folded((*STEPPED, diverged)).has_diverged
    assert not folded((*STEPPED, diverged, failed())).has_diverged
    assert not folded((*STEPPED, diverged, opened(2, why="diverged"))).has_diverged


def test_divergences_are_those_of_all_attempts() -> None:
    """A figure of the run: neither a new attempt nor a retry makes one undone."""
    lost = replace(failed(), type="EnvironmentDiverged")
    went_on = Diverged(boundary="decide", step=2, why="it asked something else", policy="continue", at=5.0)
    first = (*STEPPED, went_on, lost, opened(2, why="diverged"), acted(0), failed(2))
    assert folded(first).total_divergences == 2
    episode = folded((*first, opened(3, why="retry"), acted(0)))
    assert (episode.total_divergences, episode.failures) == (2, ())
    outcome = result_of(episode)
    assert outcome is not None and outcome.divergences == 2
    restarted = (*STEPPED, replace(went_on, policy="restart"), lost)
    assert folded(restarted).total_divergences == 1, "the failure says it again"


def test_late_effects_count_and_doubts_are_of_their_attempt() -> None:
    settled = doubt(2, resolution=DoubtResolution.NOT_PERFORMED)
    episode = folded((*STEPPED, late(1), decided(2), doubt(2), settled))
    assert "http://shop.localhost/late" in episode.total_effects
    assert [one.is_settled for one in episode.doubts] == [False, True]
    outcome = result_of(episode)
    assert outcome is not None and outcome.doubts == ("nobody knows",) and outcome.is_in_doubt
    again = folded((*STEPPED, late(1), decided(2), doubt(2), failed(), opened(2, why="diverged")))
    assert (again.late, again.doubts, again.has_acted) == ((), (), True)
    assert "http://shop.localhost/late" in again.total_effects


def test_what_was_seen_of_an_action_that_broke_counts_too() -> None:
    seen = replace(failed(), effects=(SideEffect(method="POST", url="http://a.test/x?n=1", status=None),))
    assert "http://a.test/x" in folded((*PENDING, seen)).total_effects


@given(st.lists(st.sampled_from([*whole_episode(), *PENDING, opened(2), failed(2), acted(3)]), max_size=30))
def test_folding_changes_nothing_in_place(records: list[Record]) -> None:
    episode = Episode()
    seen = [(episode, repr(episode))]
    for record in records:
        if check(episode, record) is None:
            episode = fold(episode, record)
            seen.append((episode, repr(episode)))
    assert all(repr(earlier) == text for earlier, text in seen)


def test_an_episode_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        folded(BEGUN).pending = None  # type: ignore[misc]


def test_no_failure_costs_less_than_nothing() -> None:
    lost = failed()
    assert invalid_record(lost) is None
    assert invalid_record(replace(lost, usage=Usage(prompt_tokens=-5))) == "prompt_tokens=-5 is not a count"


def test_a_reply_is_counted_when_it_comes_and_not_again_with_its_decision() -> None:
    paid = replied(1).usage
    asking = folded((*BEGUN, replied(1)))
    assert (asking.usage, asking.total_usage, asking.spent()) == (paid, paid, {1: paid})
    of_all = replace(decided(1), usage=decided(1).usage + paid, counted=paid)
    done = folded((*BEGUN, replied(1), of_all))
    assert done.usage == done.total_usage == done.spent()[1] == of_all.usage
    of_last = folded((*BEGUN, replied(1), decided(1)))
    assert of_last.usage == of_last.spent()[1] == paid + decided(1).usage
    again = folded((*BEGUN, replied(1), failed(), opened(2)))
    assert (again.replied, again.usage, again.total_usage) == ((), Usage(), paid)
