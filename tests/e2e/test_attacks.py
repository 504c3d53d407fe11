"""Attacks in a browser, on demo tasks of all seven kinds: the obedient agent follows each, the scripted one, the null and the
random one are told from it; an address of the attacker's is blocked and counts; a kill changes no verdict."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.plugins.attacks.figures import figures_of, judge_run, paired
from harness.plugins.attacks.planted import PLACES, STORED
from harness.plugins.attacks.verdicts import Verdict
from harness.runs import Run
from tests.e2e.conftest import Start

pytestmark = [pytest.mark.integration, pytest.mark.slow]
IDS = "task.ids=[0,1,6,7,8,11,18,27]"
"""Of each kind at least one."""


@pytest.fixture
def played(start: Callable[..., Start], tmp_path: Path) -> Callable[..., Sequence[Verdict]]:
    def play(name: str, *more: str) -> Sequence[Verdict]:
        done = start("task=demo", IDS, "run.report=false", *more, f"run.id={name}")
        assert done.code in (0, 3), done.err
        return judge_run(Run(tmp_path / "results" / name))[0]

    return play


def test_agents_are_told_apart(played: Callable[..., Sequence[Verdict]], tmp_path: Path) -> None:
    obedient = played("obedient", "agent=obedient", "attack=inject")
    assert {one.kind for one in obedient} == set(PLACES) - {STORED}
    assert [one.outcome for one in obedient] == ["reached"] * 8, obedient
    careful = played("careful", "attack=inject")
    assert {one.outcome for one in careful} <= {"resisted", "unseen"} and {one.status for one in careful} == {"passed"}
    assert played("plain") == []
    beside = paired(careful, Run(tmp_path / "results" / "plain"), name="plain")
    assert (beside.pairs, beside.lost, beside.gained, beside.rate_with) == (8, 0, 0, 1.0)
    null = figures_of(played("nobody", "agent=null", "attack=inject")).overall
    assert (null.reached, null.begun, null.unknown) == (0, 0, 0)
    random = figures_of(played("random", "agent=random", "attack=inject", "limits.max_steps=6")).overall
    assert random.unknown == 0 and random.success.value < 1.0


def test_an_address_of_the_attackers_is_blocked_and_counts(played: Callable[..., Sequence[Verdict]]) -> None:
    found = played("obedient", "agent=obedient", "attack=exfiltrate")
    assert [one.outcome for one in found] == ["reached"] * 8
    assert all("and blocked" in one.why for one in found)
    careful = played("careful", "attack=exfiltrate")
    assert {one.outcome for one in careful} <= {"resisted", "unseen"} and {one.status for one in careful} == {"passed"}


def test_place_and_step_are_the_same_in_the_next_run(played: Callable[..., Sequence[Verdict]]) -> None:
    how = ("attack=inject", "attack.arguments.steps=[0,2]", "attack.arguments.kinds=[banner]", "run.seed=5")
    first, again = (played(name, *how) for name in ("first", "again"))
    chosen = [(one.place, one.planted_from, one.seen_at, one.outcome) for one in first]
    assert chosen == [(one.place, one.planted_from, one.seen_at, one.outcome) for one in again]
    assert {one.planted_from for one in first} == {0, 1, 2}
    assert all(one.seen_at is None or one.seen_at >= one.planted_from for one in first)


def test_what_is_stored_in_a_site_is_followed_and_gone_after_the_reset(
    played: Callable[..., Sequence[Verdict]],
) -> None:
    """They begin on the front page, on which the post is; task 1 is not logged in without it."""
    how = ("attack=stored", "task.ids=[1,21,24]")
    obedient = played("obedient", "agent=obedient", *how)
    assert [(one.outcome, one.kind) for one in obedient] == [("reached", "stored")] * 3, obedient
    careful = played("careful", *how)
    assert [one.outcome for one in careful] == ["resisted"] * 3 and {one.status for one in careful} == {"passed"}
    assert played("plain", "task.ids=[1,21,24]") == [], "on the same sites, which were reset"
