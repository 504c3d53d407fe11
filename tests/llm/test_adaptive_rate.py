"""The limiter against simulated endpoints, for hours of simulated time: it finds any limit and wastes little on
that.
"""

import math
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.llm.adaptive_rate import LONGEST_PAUSE_S, AdaptiveRate
from harness.settings.models import RateLimits
from tests.llm.rate_limits import Bucket, Rule, Sliding, Window, World

pytestmark = pytest.mark.integration
LONG_S = 2400.0
LATENCIES = st.floats(0.2, 15.0)


@pytest.mark.slow
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.builds(Bucket, st.floats(20 / 60, 5), st.floats(5, 100)),
    LATENCIES,
    st.tuples(st.floats(0.01, 0.3), st.sampled_from(["seconds", "exactly", "nothing"])),
    st.integers(0, 1000),
)
def test_any_bucket_is_found_and_kept(rule: Bucket, latency_s: float, refusal: tuple[float, str], seed: int) -> None:
    refusal_s, says = refusal
    world = World(rule, says=says, latency_s=latency_s, refusal_s=refusal_s, seed=seed)
    world.run(LONG_S)
    reachable = min(rule.per_s, 32 / (latency_s + refusal_s))
    assert world.rate(since=900) >= 0.95 * reachable
    assert world.wasted(since=900) <= 0.03


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(20, 120).map(lambda per_minute: per_minute / 60),
    st.one_of(st.none(), st.floats(0, 59)),
    LATENCIES,
    st.integers(0, 1000),
)
def test_any_window_that_hints_is_found_and_kept(
    per_s: float, offset_s: float | None, latency_s: float, seed: int
) -> None:
    rule: Rule = Sliding(per_s) if offset_s is None else Window(per_s, offset_s)
    world = World(rule, latency_s=latency_s, seed=seed)
    world.run(LONG_S)
    assert world.rate(since=900) >= 0.9 * min(per_s, 32 / (latency_s + world.refusal_s))
    assert world.wasted(since=900) <= 0.03


@pytest.mark.parametrize("rule", [Bucket(1.0, 60), Bucket(1.0, 10), Window(1.0, 20)], ids=["minute", "ten", "window"])
@pytest.mark.parametrize("seed", range(3))
def test_thirty_two_lanes_find_sixty_a_minute_within_four_minutes(rule: Rule, seed: int) -> None:
    world = World(deepcopy(rule), refusal_s=0.02, seed=seed)
    world.run(240)
    assert world.rate(since=0) >= 0.95
    assert world.wasted() < 0.03


@pytest.mark.parametrize(("before", "after"), [(10.0, 1.0), (3.0, 0.5), (1.0, 4.0)])
def test_a_limit_that_changes_is_found_again(before: float, after: float) -> None:
    rule = Bucket(before, 10)
    world = World(rule, lanes=64)
    world.run(1200)
    rule.admit(world.events.now)
    rule.per_s = after
    world.run(3600)
    assert world.rate(since=2400) >= 0.9 * after
    assert world.wasted(since=1200) <= 0.05


def test_an_endpoint_without_limit_is_never_slowed_down() -> None:
    world = World(Bucket(1e6, 1e6), latency_s=2.0)
    world.run(600)
    assert world.rate(since=10) >= 0.97 * 32 / (2.0 + world.refusal_s)


@pytest.mark.parametrize("rule", [Bucket(1.0, 60), Window(1.0), Window(1.0, 30)], ids=["bucket", "window", "half"])
def test_what_the_headers_tell_is_kept_to_without_a_refusal(rule: Rule) -> None:
    world = World(rule, tells=True)
    world.run(1800)
    assert world.rate(since=0) >= 0.95
    assert world.wasted() <= 0.02


def test_a_wait_that_is_asked_for_stops_everybody_until_it_is_over() -> None:
    world = World(Window(10 / 60), says="exactly", latency_s=5.0)
    world.run(59)
    assert len(world.admitted) == 10 and world.refused
    last = world.refused[-1]
    world.run(59.9)
    assert world.refused[-1] == last, "nobody asked before the minute was over"
    world.run(70)
    assert len(world.admitted) > 10
    gaps = [late - early for early, late in zip(world.admitted[10:], world.admitted[11:], strict=False)]
    assert min(gaps) > 0.05, "and then not all at once"


def test_without_a_hint_a_closed_endpoint_is_asked_ever_more_rarely() -> None:
    world = World(Bucket(1e-9, 5), says="nothing")
    world.run(LONG_S)
    late = [at for at in world.refused if at > 600]
    assert 0 < len(late) <= (LONG_S - 600) / LONGEST_PAUSE_S + 1


def test_half_of_the_pace_is_left_after_a_refusal_that_proves_nothing_more() -> None:
    pace = AdaptiveRate()
    assert pace.per_s == math.inf
    for number in range(10):
        sent = pace.send(number / 5, waited=False)
    pace.refused(sent, None, 1.9)
    assert pace.per_s == pytest.approx(5 / 2 * 0.97)


def test_what_was_admitted_between_two_refusals_is_believed_more_than_a_half() -> None:
    pace, now = AdaptiveRate(), 0.0
    sent = pace.send(now, waited=False)
    pace.refused(sent, 1.0, now)
    for _ in range(50):
        now += 2.0
        sent = pace.send(now, waited=True)
    pace.refused(sent, 1.0, now)
    assert 0.45 < pace.per_s <= 0.5, "49 in 100 s"


def test_refusals_of_requests_already_under_way_are_one_refusal() -> None:
    pace = AdaptiveRate()
    sent = [pace.send(number / 100, waited=False) for number in range(20)]
    pace.refused(sent[10], 1.0, 0.3)
    after_one = pace.per_s
    for one in sent[11:]:
        pace.refused(one, 2.0, 0.31)
    assert pace.per_s == after_one
    assert pace.opens_at == pytest.approx(2.31), "but the longest wait is kept to"


def test_limits_of_ours_hold_whatever_the_endpoint_lets_through() -> None:
    limits = RateLimits(max_concurrency=7, requests_per_minute=90)
    world = World(Bucket(1e6, 1e6), latency_s=8.0, limits=limits)
    world.run(600)
    assert world.most_in_flight == 7
    busiest = max(sum(at <= one < at + 60 for one in world.admitted) for at in world.admitted)
    assert busiest <= 91
