"""Whether an attempt goes on or a new one begins."""

from dataclasses import replace

from harness.episode.attempt import new_attempt_reason
from harness.records import Episode
from tests.journal.episodes import acted, failed, folded, forked, opened, whole_episode

A, B = {"shop": "http://shop.a"}, {"shop": "http://shop.b"}
ON_A = replace(opened(), instances=A)
GOING_ON = folded((ON_A, acted(0)))


def test_the_first_attempt_and_those_that_were_asked_for() -> None:
    assert new_attempt_reason(Episode(), {}, "c", reopen=False) == "first"
    assert new_attempt_reason(folded(whole_episode()), {}, "c", reopen=True) == "retry"


def test_an_attempt_that_broke_goes_on_and_one_that_diverged_does_not() -> None:
    assert new_attempt_reason(folded((opened(), acted(0), failed())), {}, "c", reopen=False) is None
    diverged = replace(failed(), type="EnvironmentDiverged")
    assert new_attempt_reason(folded((opened(), acted(0), diverged)), {}, "c", reopen=False) == "diverged"


def test_what_was_done_on_one_instance_does_not_go_on_at_another() -> None:
    assert new_attempt_reason(GOING_ON, A, "c", reopen=False) is None
    assert new_attempt_reason(GOING_ON, B, "c", reopen=False) == "moved"


def test_an_attempt_from_before_there_were_several_goes_on_unless_nothing_was_seen_yet() -> None:
    assert new_attempt_reason(folded((opened(), acted(0))), A, "c", reopen=False) is None
    assert new_attempt_reason(folded((opened(),)), B, "c", reopen=False) == "moved"


def test_sites_of_which_there_is_one_may_move_freely() -> None:
    assert new_attempt_reason(GOING_ON, {}, "c", reopen=False) is None


def test_an_attempt_that_has_only_been_opened_begins_again_with_corrected_settings() -> None:
    assert new_attempt_reason(folded((opened(),)), {}, "other", reopen=False) == "settings"
    assert new_attempt_reason(folded((opened(),)), {}, "c", reopen=False) is None
    begun = ((opened(), acted(0)), (opened(), failed()), (forked(2), acted(0)))
    assert [new_attempt_reason(folded(lines), {}, "other", reopen=False) for lines in begun] == [None] * 3
