"""An outage pauses all lanes of a run at once: one request at a time goes out, wherever the lanes are, and it is said
once.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from harness.api import ChatModel, ComputerTool, Message, Reply, Tool
from harness.errors import ModelRejected, ModelUnavailable, RequestRefused
from harness.llm.circuit_breaker import LONGEST_PAUSE_S, REJECTED, CircuitBreaker, CircuitBreakerModel, OutageWaiter
from harness.llm.limiter import Clock, Limiter
from harness.llm.permits import PermitRequest, RateLimiter, RequestOutcome, RequestResult, Unlimited
from harness.records import Usage
from harness.runner.virtual_time import run_virtual
from harness.settings.models import RateLimits
from tests.llm.test_limiter import Worker

QUESTION = (Message(role="user", content="What now?"),)
REPLY = Reply(text="stop", model="scripted", usage=Usage())
ATTEMPTS = 3


def now() -> float:
    return asyncio.get_running_loop().time()


class World:
    """An endpoint that is down at certain times, and one limiter before it."""

    def __init__(self, *outages: tuple[float, float], max_outage_s: float = 3600.0) -> None:
        self.outages = outages
        self.max_outage_s = max_outage_s
        self.asked: list[float] = []
        self.said: list[tuple[float, str]] = []
        self.limiter = Limiter(
            None,
            Clock(monotonic=now),
            lambda text: self.said.append((now(), text)),
            max_outage_s=max_outage_s,
        )

    def lane(self, turns: RateLimiter | None = None, *, poison: bool = False) -> CircuitBreakerModel:
        turns = turns or self.limiter
        return CircuitBreakerModel(
            Retried(self, turns, poison), OutageWaiter(turns, max_outage_s=self.max_outage_s, monotonic=now)
        )

    def is_down(self) -> bool:
        return any(begin <= now() < end for begin, end in self.outages)


class Retried:
    """Asks `ATTEMPTS` times, a second apart; each time takes a tenth of a second."""

    def __init__(self, world: World, turns: RateLimiter, poison: bool) -> None:
        self.world, self.turns, self.poison = world, turns, poison

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        for attempt in range(ATTEMPTS):
            await asyncio.sleep(1.0 if attempt else 0.0)
            turn = await self.turns.acquire(PermitRequest())
            self.world.asked.append(round(now(), 1))
            failed = self.poison or self.world.is_down()
            await asyncio.sleep(0.1)
            turn.end(RequestResult(outcome=RequestOutcome.failed if failed else RequestOutcome.answered))
            if not failed:
                return REPLY
        raise ModelUnavailable("no answer", requests=ATTEMPTS)


def test_an_endpoint_that_is_up_is_asked_once_and_nobody_is_told() -> None:
    world = World()
    assert run_virtual(world.lane().ask(QUESTION)) == REPLY
    assert (world.asked, world.said) == ([0.0], [])


def test_an_outage_is_waited_for_with_growing_pauses_told_twice_and_no_latency_of_the_model() -> None:
    world = World((0, 100))
    reply = run_virtual(world.lane().ask(QUESTION))
    assert world.asked == [0.0, 1.1, 2.2, 17.3, 47.4, 107.5]
    (opened_at, opening), (closed_at, closing) = world.said
    assert (round(opened_at, 1), round(closed_at, 1)) == (2.3, 107.6)
    assert opening == "no answer; the run is paused; retrying the endpoint in 15 s"
    assert closing == "the endpoint answers again after 105 s"
    assert reply.waited_s == pytest.approx(2.3), "all that was in vain; a chat adds what its turns took"


def test_all_workers_pause_at_once_and_one_lane_of_them_asks() -> None:
    world = World((5, 50))

    async def sweep() -> list[Reply]:
        workers = [Worker(world.limiter) for _ in range(8)]
        lanes = [world.lane(worker.turns) for worker in workers for _ in range(4)]

        async def play(lane: ChatModel) -> Reply:
            reply = REPLY
            while now() < 120:
                reply = await lane.ask(QUESTION)
                await asyncio.sleep(2)
            return reply

        return list(await asyncio.gather(*map(play, lanes)))

    assert [reply.text for reply in run_virtual(sweep())] == ["stop"] * 32
    (opened_at, _), (closed_at, _) = world.said
    assert 5 < opened_at < 20
    probes = [at for at in world.asked if opened_at + 1 < at < closed_at]
    assert probes == pytest.approx([opened_at + 15, opened_at + 15.1 + 30], abs=0.2), (
        "each 15 and 30 s after the one before"
    )
    assert len([at for at in world.asked if at > closed_at + 30]) > 32, "and then all are at work"


def test_an_outage_that_lasts_too_long_is_given_up_by_everybody_soon() -> None:
    world = World((0, 1e6), max_outage_s=600)

    async def sweep() -> list[Any]:
        return await asyncio.gather(*(world.lane().ask(QUESTION) for _ in range(8)), return_exceptions=True)

    errors = run_virtual(sweep())
    assert all(isinstance(error, ModelUnavailable) and "was down for 6" in str(error) for error in errors), errors
    assert 600 <= max(world.asked) <= 600 + 60
    assert all(
        later - earlier <= LONGEST_PAUSE_S + 1 for earlier, later in zip(world.asked, world.asked[1:], strict=False)
    )


def test_a_request_that_alone_gets_no_answer_is_no_outage() -> None:
    world = World()

    async def sweep() -> None:
        async def others() -> None:
            while True:
                await world.lane().ask(QUESTION)
                await asyncio.sleep(1)

        at_work = asyncio.create_task(others())
        with pytest.raises(ModelUnavailable, match=r"^no answer$"):
            await world.lane(poison=True).ask(QUESTION)
        at_work.cancel()
        assert world.said == [], "nobody was held up"

    run_virtual(sweep())


def test_a_worker_that_dies_while_it_probes_leaves_the_probing_to_another() -> None:
    world = World((0, 20))

    async def sweep() -> float:
        dying, living = Worker(world.limiter), Worker(world.limiter)
        lost = asyncio.create_task(world.lane(dying.turns).ask(QUESTION))
        await asyncio.sleep(10)
        assert world.said and not lost.done()
        asked = len(world.asked)
        waiting = asyncio.create_task(world.lane(living.turns).ask(QUESTION))
        while len(world.asked) == asked:  # noqa: ASYNC110 (time is simulated)
            await asyncio.sleep(0.05)
        dying.die()
        lost.cancel()
        died_at = now()
        assert await waiting == REPLY
        return died_at

    died_at = run_virtual(sweep())
    assert min(at for at in world.asked if at > died_at) < died_at + 0.2, "it need not wait for another pause"


def test_where_nobody_hands_out_turns_an_outage_is_told_at_once() -> None:
    world = World((0, 100))
    with pytest.raises(ModelUnavailable, match=r"^no answer$"):
        run_virtual(world.lane(Unlimited()).ask(QUESTION))
    assert len(world.asked) == ATTEMPTS


def test_the_pause_that_is_told_is_the_one_that_is_kept() -> None:
    said: list[str] = []
    office = CircuitBreaker(max_outage_s=5.0, tell=said.append)
    office.end(RequestOutcome.failed, 0.0)
    assert office.open("no answer", 1, 0.0) == 0.0
    assert office.ready_at(0) == 5.0 and said.pop().endswith("retrying the endpoint in 5 s"), (
        "an outage may not last longer"
    )
    office.end(RequestOutcome.answered, 6.0)
    said.clear()
    office.end(RequestOutcome.failed, 7.0)
    office.open("HTTP 503", 1, 7.0, opens_at=307.0)
    assert office.ready_at(0) == 307.0 and said == ["HTTP 503; the run is paused; retrying the endpoint in 300 s"]


class Rejecting:
    """Refuses every request as such but those of `answered`."""

    def __init__(self, turns: RateLimiter) -> None:
        self.turns = turns
        self.answered = False

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        turn = await self.turns.acquire(PermitRequest())
        turn.end(RequestResult(outcome=RequestOutcome.answered if self.answered else RequestOutcome.rejected))
        if not self.answered:
            raise RequestRefused("HTTP 400 (too long)")
        return REPLY


async def _errors(world: World, requests: int, *, answered_first: bool = False) -> list[type[BaseException]]:
    worker = Worker(world.limiter)
    model = Rejecting(worker.turns)
    guarded = CircuitBreakerModel(model, OutageWaiter(worker.turns, max_outage_s=60, monotonic=now))
    model.answered = answered_first
    if answered_first:
        await guarded.ask(QUESTION)
    model.answered = False
    errors = await asyncio.gather(*(guarded.ask(QUESTION) for _ in range(requests)), return_exceptions=True)
    return [type(error) for error in errors if isinstance(error, BaseException)]


def test_requests_refused_as_such_are_their_tasks_business_until_nobody_was_ever_answered() -> None:
    world = World()
    assert run_virtual(_errors(world, REJECTED - 1)) == [RequestRefused] * (REJECTED - 1)
    assert run_virtual(_errors(world, 1)) == [ModelRejected], "so many, and nobody was answered: it is the settings"
    assert run_virtual(_errors(World(), 3 * REJECTED, answered_first=True)) == [RequestRefused] * 3 * REJECTED
    world = World()
    world.limiter = Limiter(RateLimits(), Clock(monotonic=now), answered=True)
    assert set(run_virtual(_errors(world, 3 * REJECTED))) == {RequestRefused}, "an earlier start was answered"
    assert world.said == [], "and it is not an outage"
