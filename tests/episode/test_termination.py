"""When an episode is over, and why: asked of the fold, before every decision and before every action."""

from dataclasses import replace

import pytest

from harness.actions import Click, InvalidAction, Stop, Target
from harness.episode.attempt import check_termination
from harness.records import CloseReason, Episode, EpisodeLimits, Record, Usage
from tests.journal.episodes import acted, decided, failed, folded, opened, resumed

LIMITS = EpisodeLimits()


def clicks(*names: str) -> Episode:
    """An episode that clicked links of these names, one after the other."""
    records: list[Record] = [opened(), acted(0)]
    for step, name in enumerate(names, start=1):
        records += [decided(step, Click(target=Target(id=name, role="link", name=name))), acted(step)]
    return folded(records)


def unreadable(times: int) -> Episode:
    records: list[Record] = [opened(), acted(0)]
    for step in range(1, times + 1):
        records += [decided(step, InvalidAction(why="no action")), acted(step)]
    return folded(records)


def test_an_episode_goes_on_while_nothing_speaks_against_it() -> None:
    assert check_termination(LIMITS, folded((opened(), acted(0)))) is None
    assert check_termination(LIMITS, clicks("a", "b", "c", "d")) is None


def test_a_decided_stop_ends_it_with_its_answer() -> None:
    end = check_termination(LIMITS, folded((opened(), acted(0), decided(1, Stop(answer="$14.00")))))
    assert end is not None
    assert (end.reason, end.answer, end.detail) == (CloseReason.STOPPED, "$14.00", "")


def test_any_other_pending_action_is_still_carried_out_whatever_is_spent() -> None:
    pending = folded((opened(), acted(0), decided(1)))
    assert (
        check_termination(EpisodeLimits(max_tokens=1, max_cost_usd=0.1, max_working_s=0.001, max_steps=1), pending)
        is None
    )


@pytest.mark.parametrize(
    ("limits", "detail"),
    [
        (EpisodeLimits(max_tokens=24), "Budget of 24 tokens is reached (24)"),
        (EpisodeLimits(max_cost_usd=1.0), "Budget of 1 USD is reached (1)"),
        (EpisodeLimits(max_working_s=0.23), "Budget of 0.23 seconds of work is reached (0.23)"),
    ],
)
def test_a_budget_is_spent_when_it_is_reached(limits: EpisodeLimits, detail: str) -> None:
    episode = clicks("a", "b")  # twice 12 tokens, 0.5 USD and 100 ms; three pages of 10 ms
    end = check_termination(limits, episode)
    assert end is not None
    assert (end.reason, end.detail, end.answer) == (CloseReason.BUDGET, detail, "")
    raised = replace(
        limits,
        max_tokens=limits.max_tokens and 25,
        max_cost_usd=limits.max_cost_usd and 1.1,
        max_working_s=limits.max_working_s and 0.24,
    )
    assert check_termination(raised, episode) is None


def test_a_large_budget_is_named_to_its_last_digit() -> None:
    usage = Usage(prompt_tokens=3_708_620)
    episode = folded((opened(), acted(0), replace(decided(1), usage=usage), acted(1)))
    end = check_termination(EpisodeLimits(max_tokens=3_000_001), episode)
    assert end is not None and end.detail == "Budget of 3000001 tokens is reached (3708620)"


@pytest.mark.parametrize(
    ("limits", "episode", "reason"),
    [
        (EpisodeLimits(max_steps=2), clicks("a", "b"), CloseReason.MAX_STEPS),
        (EpisodeLimits(parsing_failures=2), unreadable(2), CloseReason.PARSE_FAILURES),
        (EpisodeLimits(repeated_actions=3), clicks("a", "a", "a"), CloseReason.REPEATED),
    ],
)
def test_the_limits_of_the_settings_end_it_in_webarenas_words(
    limits: EpisodeLimits, episode: Episode, reason: CloseReason
) -> None:
    end = check_termination(limits, episode)
    assert end is not None
    assert end.reason is reason
    assert end.detail


def test_a_budget_goes_before_the_number_of_steps() -> None:
    end = check_termination(EpisodeLimits(max_steps=2, max_tokens=24), clicks("a", "b"))
    assert end is not None and end.reason is CloseReason.BUDGET


def test_what_was_spent_before_a_resume_counts_and_downtime_and_the_way_back_do_not() -> None:
    an_hour = 3600.0
    later = (replace(decided(2), at=an_hour), replace(acted(2), at=an_hour + 1))
    there = folded(
        (opened(), acted(0), decided(1), acted(1), failed(), replace(resumed(1), elapsed_ms=90_000.0), *later)
    )
    for limits in (EpisodeLimits(max_tokens=24), EpisodeLimits(max_cost_usd=1.0), EpisodeLimits(max_working_s=0.23)):
        end = check_termination(limits, there)
        assert end is not None and end.reason is CloseReason.BUDGET
    assert check_termination(EpisodeLimits(max_tokens=25, max_cost_usd=1.1, max_working_s=0.24), there) is None


def test_a_new_attempt_has_the_limits_of_a_task_to_itself() -> None:
    again = folded((opened(), acted(0), decided(1), acted(1), failed(), opened(2), acted(0), decided(1), acted(1)))
    assert check_termination(EpisodeLimits(max_tokens=13), again) is None
    assert again.total_usage.prompt_tokens + again.total_usage.completion_tokens == 24, "what the run has spent"
