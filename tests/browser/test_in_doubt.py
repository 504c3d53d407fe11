"""What is known of an interrupted action decides first; where nothing is known, the setting does."""

from dataclasses import replace
from functools import reduce

import pytest

from harness.actions import Click, Target
from harness.browser.session.in_doubt import resolve
from harness.choices import InDoubtPolicy
from harness.errors import ActionInDoubt, EnvironmentDiverged
from harness.journal.fold import fold
from harness.records import Decided, DoubtResolution, Episode, Failed, SideEffect, Usage
from tests.journal.episodes import acted, opened

ORDER = Click(target=Target(id="5", role="button", name="Order", line="button 'Order'"))
PENDING = Decided(
    step=1,
    action=ORDER,
    reply="",
    prompt=(),
    model="m",
    usage=Usage(),
    effects_seen={"shop": "a", "forum": "a"},
    elapsed_ms=1.0,
    at=5.0,
)
SENT = SideEffect(method="POST", url="http://shop.test/order", status=None)
ANSWERED = replace(SENT, status=303)


def broken(*effects: SideEffect, boundary: str = "act", at: float = 6.0, attempt: int = 1) -> Failed:
    return Failed(attempt=attempt, boundary=boundary, type="BrowserCrashed", message="gone", effects=effects, at=at)


def an_episode(*failures: Failed) -> Episode:
    return reduce(fold, (opened(), acted(0), PENDING, *failures), Episode())


def test_every_policy_can_be_set_and_nothing_else() -> None:
    assert {policy.value for policy in list(DoubtResolution)[:5]} == {policy.value for policy in InDoubtPolicy}


@pytest.mark.parametrize(
    ("failures", "now", "resolution"),
    [
        ((), {}, "ask_page"),
        ((), {"forum": "a"}, "ask_page"),
        ((broken(SENT),), {}, "ask_page"),
        ((broken(ANSWERED),), {}, "performed"),
        ((broken(ANSWERED, boundary="decide"),), {}, "ask_page"),
        ((broken(ANSWERED, at=4.0),), {}, "performed"),
        ((broken(ANSWERED, attempt=7),), {}, "ask_page"),
        ((), {"shop": "b"}, "performed"),
        ((), {"shop": "a"}, "not_performed"),
        ((broken(SENT),), {"shop": "a"}, "ask_page"),
    ],
)
def test_proof_goes_before_the_policy(failures: tuple[Failed, ...], now: dict[str, str], resolution: str) -> None:
    found = resolve(an_episode(*failures), ["shop"], now=now, policy=InDoubtPolicy.ask_page)
    assert found.resolution == resolution
    assert "click [5]" in found.why and "(step 1)" in found.why
    assert bool(found.notice) is (resolution != "not_performed")


def test_a_failure_is_of_the_action_it_is_recorded_after_whatever_the_clock_said() -> None:
    for policy in InDoubtPolicy:
        earlier = an_episode(broken(ANSWERED, at=PENDING.at - 3600))
        found = resolve(earlier, ["shop"], now={"shop": "a"}, policy=policy, safe_link="http://shop.test/")
        assert found.resolution == "performed"
    before = reduce(fold, (opened(), acted(0), broken(ANSWERED, at=PENDING.at + 3600), PENDING), Episode())
    assert resolve(before, ["shop"], now={}, policy=InDoubtPolicy.ask_page).resolution == "ask_page"


def test_a_site_that_cannot_be_asked_leaves_the_doubt() -> None:
    found = resolve(an_episode(), ["shop", "wiki"], now={"shop": "a", "forum": "a"}, policy=InDoubtPolicy.ask_page)
    assert found.resolution == "ask_page"


def test_a_new_attempt_or_no_score_may_be_asked_for() -> None:
    with pytest.raises(EnvironmentDiverged, match=r"resume\.in_doubt=restart"):
        resolve(an_episode(), ["shop"], now={}, policy=InDoubtPolicy.restart)
    with pytest.raises(ActionInDoubt, match=r"resume\.in_doubt=unscored"):
        resolve(an_episode(), ["shop"], now={}, policy=InDoubtPolicy.unscored)
    assert (
        resolve(an_episode(broken(ANSWERED)), ["shop"], now={}, policy=InDoubtPolicy.unscored).resolution == "performed"
    )
