"""Turns are granted in order, given back whatever happens, and shared by workers that may die."""

import asyncio
import math
from typing import Any

import pytest

from harness.codec import build, dumps, loads
from harness.llm.limiter import Limiter
from harness.llm.permits import (
    AcquirePermit,
    EndPermit,
    Permit,
    PermitCall,
    PermitReply,
    PermitRequest,
    RateLimiterServer,
    RemoteRateLimiter,
    RequestOutcome,
    RequestResult,
)
from harness.llm.rate_limit_headers import HeaderAllowance, HeaderBudget, RateLimitHeaders
from harness.settings.models import RateLimits
from tests.llm.rate_limits import Bucket, Events, World

ANSWERED = RequestResult(outcome=RequestOutcome.answered)
FEW_LEFT = RequestResult(
    outcome=RequestOutcome.answered,
    limits=RateLimitHeaders(tokens=HeaderAllowance(limit=1000, remaining=100, reset_s=30)),
)
"""The endpoint says that there are a hundred tokens left."""


class Office:
    """A limiter under a clock of its own, and what it granted to whom, when."""

    def __init__(self, *, longest_wait_s: float = math.inf, **limits: Any) -> None:
        self.events = Events()
        self.said: list[str] = []
        self.limiter = Limiter(RateLimits(**limits), self.events.clock, self.said.append, longest_wait_s=longest_wait_s)
        self.granted: list[tuple[str, float]] = []
        self.turns: dict[str, Permit] = {}

    def ask(self, name: str, **want: Any) -> Any:
        def grant(turn: Permit) -> None:
            self.granted.append((name, round(self.events.now, 3)))
            self.turns[name] = turn

        return self.limiter.ask(PermitRequest(**want), grant)

    def end(self, name: str, ending: RequestResult = ANSWERED) -> None:
        self.turns[name].end(ending)

    @property
    def names(self) -> str:
        return "".join(name for name, _ in self.granted)


def test_turns_go_in_the_order_of_asking_and_never_more_than_allowed_at_once() -> None:
    office = Office(max_concurrency=2)
    for name in "abcd":
        office.ask(name)
    assert office.names == "ab"
    office.end("b")
    office.end("b")
    assert office.names == "abc", "ending twice frees one place"
    assert str(office.limiter.flow()) == "2 in flight, 3/min, 1 queued"


def test_whoever_leaves_the_queue_or_gives_a_turn_back_holds_up_nobody() -> None:
    office = Office(max_concurrency=1)
    leave_a, leave_b = office.ask("a"), office.ask("b")
    office.ask("c")
    leave_b()
    leave_a()
    leave_a()
    assert office.names == "ac"
    assert office.limiter.flow().in_flight == 1


def test_when_the_first_in_the_queue_leaves_the_next_one_does_not_wait_for_it() -> None:
    office = Office()
    office.ask("a")
    office.end("a", FEW_LEFT)
    leave_b = office.ask("b", tokens=1000)
    office.ask("c", tokens=5)
    assert office.names == "a"
    leave_b()
    assert office.names == "ac"


def test_a_refused_request_goes_before_those_that_came_later() -> None:
    office = Office(max_concurrency=1)
    office.ask("a")
    office.ask("b")
    office.end("a", RequestResult(outcome=RequestOutcome.refused, wait_s=3.0))
    office.ask("a", again=True)
    assert office.names == "a"
    office.events.run(2.99)
    assert office.names == "a"
    assert office.limiter.flow().closed_s == pytest.approx(0.01)
    office.events.run(3.0)
    assert office.granted[-1] == ("a", 3.0)


def test_requests_are_spaced_evenly_and_tokens_by_what_they_really_cost() -> None:
    office = Office(requests_per_minute=60)
    for name in "abc":
        office.ask(name)
    office.events.run(10)
    assert office.granted == [("a", 0), ("b", 1), ("c", 2)]
    office = Office(tokens_per_minute=6000)
    for name in "abc":
        office.ask(name, tokens=100)
    office.end("a", RequestResult(outcome=RequestOutcome.answered, tokens=400))
    office.events.run(3.99)
    assert office.names == "a"
    office.events.run(4.0)
    office.end("b", RequestResult(outcome=RequestOutcome.answered, tokens=0))
    assert office.granted == [("a", 0), ("b", 4), ("c", 4)]


def test_a_turn_says_for_how_long_everybody_is_refused() -> None:
    office = Office()
    office.ask("a")
    office.end("a", RequestResult(outcome=RequestOutcome.refused, wait_s=50.0))
    office.ask("b")
    office.events.run(60)
    assert (office.turns["a"].closed_s, office.turns["b"].closed_s) == (0.0, 50.0)
    office.end("b")
    office.ask("c")
    office.events.run(70)
    assert office.turns["c"].closed_s == 0.0


def test_a_server_error_that_asks_for_a_wait_stops_everybody_too() -> None:
    office = Office()
    office.ask("a")
    office.end("a", RequestResult(outcome=RequestOutcome.failed, wait_s=9.0))
    office.ask("b")
    office.events.run(20)
    assert office.granted == [("a", 0), ("b", 9)]


@pytest.mark.parametrize("outcome", [RequestOutcome.refused, RequestOutcome.failed])
def test_no_endpoint_holds_up_a_run_for_longer_than_the_person_allows_and_it_is_said(outcome: RequestOutcome) -> None:
    office = Office(longest_wait_s=600.0)
    office.ask("a")
    office.end("a", RequestResult(outcome=outcome, wait_s=2.5e11))
    office.ask("b", again=True)
    office.ask("c")
    assert office.said == ["the endpoint asks for a pause of 250000000000 s; retrying in 600 s (llm.max_retry_s)"]
    office.events.run(599)
    assert office.names == "a"
    office.events.run(601)
    assert office.names.startswith("ab")
    office.end("b", RequestResult(outcome=outcome, wait_s=40.0))
    office.end("b" if "c" not in office.turns else "c", RequestResult(outcome=outcome, wait_s=40.0))
    assert office.said[1:] == ["the endpoint asks for a pause of 40 s; retrying in 40 s"], "once"


def test_what_is_said_to_be_left_holds_up_nobody_for_longer_either() -> None:
    office = Office(longest_wait_s=600.0)
    office.ask("a")
    nothing_left = RateLimitHeaders(requests=HeaderAllowance(limit=100, remaining=0, reset_s=9e7))
    office.end("a", RequestResult(outcome=RequestOutcome.answered, limits=nothing_left))
    office.ask("b")
    office.events.run(599)
    assert office.names == "a" and "retrying in 600 s (llm.max_retry_s)" in office.said[0]
    office.events.run(601)
    assert office.names == "ab" and len(office.said) == 1


def test_after_an_outage_lanes_come_back_one_by_one() -> None:
    world = World(Bucket(1e6, 1e6), lanes=64, latency_s=30.0, down=lambda now: 100 <= now < 200)
    world.run(99)
    assert world.in_flight == 64, "before it all were at work"
    world.run(150)
    assert world.in_flight <= 1 and world.failed, "while it lasts one asks"
    world.run(200)
    world.run(214)
    assert world.in_flight == 1, "until it has its answer"
    world.run(250)
    assert 2 <= world.in_flight <= 50 - 14 + 2, "then one more in every second"
    world.run(400)
    assert world.in_flight == 64


def test_a_start_is_no_rush_and_takes_a_few_seconds() -> None:
    world = World(Bucket(1e6, 1e6), lanes=32, latency_s=60.0)
    world.run(1.0)
    assert world.in_flight <= 15
    world.run(5.0)
    assert world.in_flight == 32


def test_a_lane_that_asks_alone_is_never_held_back() -> None:
    world = World(Bucket(1e6, 1e6), lanes=1, latency_s=0.01, refusal_s=0.0)
    world.run(10)
    assert world.limiter.flow().waited_s == 0.0


async def test_a_cancelled_wait_gives_its_turn_back_also_when_it_is_granted_that_moment() -> None:
    limiter = Limiter(RateLimits(max_concurrency=1))
    first = await limiter.acquire(PermitRequest())
    waiting = asyncio.create_task(limiter.acquire(PermitRequest()))
    await asyncio.sleep(0)
    waiting.cancel()
    first.end(ANSWERED)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert limiter.flow().in_flight == 0
    (await limiter.acquire(PermitRequest())).end(ANSWERED)


class Worker:
    """Remote turns and their server, with a line between them that carries JSON."""

    def __init__(self, limiter: Limiter) -> None:
        self.sent: list[PermitReply] = []
        self.server = RateLimiterServer(limiter, self._to_worker, asyncio.get_running_loop().time)
        self.turns = RemoteRateLimiter(self._to_server, asyncio.get_running_loop().time)
        self.alive = True

    def _to_server(self, message: PermitCall) -> None:
        if self.alive:
            self.server.hear(build(type(message), loads(dumps(message))))

    def _to_worker(self, message: PermitReply) -> None:
        self.sent.append(message)
        if self.alive:
            asyncio.get_running_loop().call_soon(self.turns.hear, build(type(message), loads(dumps(message))))

    def die(self) -> None:
        self.alive = False
        self.server.close()


async def test_what_was_sent_is_counted_also_of_a_worker_that_is_lost_and_no_permit_that_came_too_late() -> None:
    limiter = Limiter(RateLimits())
    worker = Worker(limiter)
    late = asyncio.create_task(worker.turns.acquire(PermitRequest()))
    await asyncio.sleep(0)
    assert limiter.flow().sent == 1
    late.cancel()  # as a run that stops does, before the permit has arrived
    await asyncio.wait([late])
    assert limiter.flow().sent == 0
    (await worker.turns.acquire(PermitRequest())).end(RequestResult(outcome=RequestOutcome.cancelled))
    await worker.turns.acquire(PermitRequest())
    worker.die()
    assert (limiter.flow().sent, limiter.flow().in_flight) == (2, 0)


def test_requests_of_a_lane_that_wait_at_the_same_time_are_one_wait() -> None:
    now = 0.0
    server = RateLimiterServer(Limiter(RateLimits(max_concurrency=1)), lambda reply: None, lambda: now)
    for number, lane in ((1, 5), (2, 0), (3, 0), (4, 1)):
        server.hear(AcquirePermit(id=number, want=PermitRequest(lane=lane)))
    now = 10.0
    assert [server.waited_s(lane) for lane in (5, 0, 1, 2)] == [0, 10, 10, 0]
    server.hear(EndPermit(id=2, result=RequestResult(outcome=RequestOutcome.unused)))
    now = 15.0
    server.hear(EndPermit(id=3, result=RequestResult(outcome=RequestOutcome.unused)))
    now = 20.0
    assert [server.waited_s(lane) for lane in (0, 1)] == [15, 20]


async def test_workers_share_one_limit_and_what_a_dead_one_held_is_free_again() -> None:
    limiter = Limiter(RateLimits(max_concurrency=2))
    dead, alive = Worker(limiter), Worker(limiter)
    await dead.turns.acquire(PermitRequest())
    await dead.turns.acquire(PermitRequest())
    lost = asyncio.create_task(dead.turns.acquire(PermitRequest()))
    waiting = [asyncio.create_task(alive.turns.acquire(PermitRequest())) for _ in range(2)]
    await asyncio.sleep(0.01)
    assert limiter.flow().in_flight == 2 and limiter.flow().waiting == 3
    assert not any(task.done() for task in waiting)
    dead.die()
    for turn in await asyncio.gather(*waiting):
        turn.end(
            RequestResult(
                outcome=RequestOutcome.answered,
                tokens=5,
                limits=RateLimitHeaders(requests=HeaderAllowance(limit=9, remaining=8, reset_s=1)),
            )
        )
    assert limiter.flow().in_flight == limiter.flow().waiting == 0
    lost.cancel()
    await asyncio.gather(lost, return_exceptions=True)
    assert len(dead.sent) == 2, "nothing was granted to the dead"


async def test_what_a_dead_worker_waits_for_is_not_granted_to_it() -> None:
    limiter = Limiter(RateLimits())
    dead = Worker(limiter)
    (await dead.turns.acquire(PermitRequest())).end(FEW_LEFT)
    lost = [asyncio.create_task(dead.turns.acquire(PermitRequest(tokens=tokens))) for tokens in (1000, 5)]
    await asyncio.sleep(0.01)
    dead.die()
    assert limiter.flow().in_flight == limiter.flow().waiting == 0
    assert len(dead.sent) == 1
    for waiting in lost:
        waiting.cancel()
    await asyncio.gather(*lost, return_exceptions=True)


async def test_a_grant_that_crosses_its_cancellation_is_not_lost() -> None:
    limiter = Limiter(RateLimits(max_concurrency=1))
    worker = Worker(limiter)
    first = await worker.turns.acquire(PermitRequest())
    second = asyncio.create_task(worker.turns.acquire(PermitRequest()))
    await asyncio.sleep(0)
    first.end(ANSWERED)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    await asyncio.sleep(0)
    assert limiter.flow().in_flight == 0
    (await worker.turns.acquire(PermitRequest())).end(ANSWERED)


async def test_the_server_knows_how_long_each_lane_has_waited() -> None:
    now = [0.0]
    limiter = Limiter(RateLimits(max_concurrency=1))
    server = RateLimiterServer(limiter, lambda message: None, lambda: now[0])
    other = await limiter.acquire(PermitRequest())
    server.hear(AcquirePermit(id=1, want=PermitRequest(lane=3)))
    now[0] = 5.0
    assert (server.waited_s(3), server.waited_s(4)) == (5.0, 0.0)
    other.end(ANSWERED)
    now[0] = 7.0
    assert server.waited_s(3) == 5.0
    server.close()


def test_a_window_is_told_from_a_bucket_by_the_end_of_its_reset() -> None:
    window, bucket = HeaderBudget(), HeaderBudget()
    for second in range(1, 58):
        window.spend(1)
        window.hear(HeaderAllowance(limit=60, remaining=60 - second, reset_s=60 - second), window.spent, second)
        bucket.spend(1)
        bucket.hear(HeaderAllowance(limit=60, remaining=60 - second / 2, reset_s=second / 2), bucket.spent, second)
    for _ in range(10):
        window.spend(1)
    assert window.ready_at(1, 57.0) == pytest.approx(60.0), "nothing is left before the window ends"
    assert bucket.ready_at(1, 57.0) == 57.0
    for _ in range(40):
        bucket.spend(1)
    assert 57.0 < bucket.ready_at(1, 57.0) < 75.0, "and a bucket refills as one waits"
