"""The breaker pauses while an endpoint is down, one lane asking and the others waiting, and says so."""

import asyncio
from collections.abc import Sequence

import pytest

from harness.errors import ModelUnavailable
from harness.llm.breaker import LONGEST_PAUSE_S, Breaker, GuardedModel, Outage
from harness.protocols import Message, Reply
from harness.records import Usage

QUESTION = (Message(role="user", content="What now?"),)
REPLY = Reply(text="stop", model="scripted", usage=Usage())


class World:
    """A clock that moves only while somebody pauses, and an endpoint that is down at certain times."""

    def __init__(self, *outages: tuple[float, float], takes_s: float = 0.0) -> None:
        self.now = 0.0
        self.takes_s = takes_s
        self.outages = outages
        self.asked: list[float] = []
        self.told: list[Outage] = []

    async def ask(self, messages: Sequence[Message]) -> Reply:
        at = self.now
        self.asked.append(at)
        self.now += self.takes_s
        await asyncio.sleep(0)
        if any(begin <= at < end for begin, end in self.outages):
            raise ModelUnavailable("no answer")
        return REPLY

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

    def breaker(self, max_outage_s: float = 3600.0) -> Breaker:
        return Breaker(max_outage_s=max_outage_s, sleep=self.sleep, monotonic=lambda: self.now)

    def model(self, breaker: Breaker) -> GuardedModel:
        return GuardedModel(self, breaker, self.told.append)


async def test_an_endpoint_that_is_up_is_asked_once_and_nobody_is_told() -> None:
    world = World()
    assert await world.model(world.breaker()).ask(QUESTION) == REPLY
    assert (len(world.asked), world.told) == (1, [])


async def test_an_outage_is_waited_for_with_growing_pauses_and_told() -> None:
    world = World((0, 100))
    assert await world.model(world.breaker()).ask(QUESTION) == REPLY
    assert world.asked == [0, 15, 45, 105]
    assert [outage.wait_s for outage in world.told] == [0, 15, 30, 60]
    assert "paused" in world.told[-1].why


async def test_while_one_lane_asks_the_others_wait_and_all_get_an_answer() -> None:
    world = World((0, 40))
    breaker = world.breaker()
    replies = await asyncio.gather(*(world.model(breaker).ask(QUESTION) for _ in range(8)))
    assert replies == [REPLY] * 8
    assert len([at for at in world.asked if 0 < at < 40]) == 1, "the paused endpoint is probed by one lane"


async def test_an_outage_that_lasts_too_long_is_given_up_as_what_it_is() -> None:
    world = World((0, 10_000))
    with pytest.raises(ModelUnavailable, match="was down for"):
        await world.model(world.breaker(max_outage_s=600)).ask(QUESTION)
    assert 600 <= world.now <= 600 + LONGEST_PAUSE_S


async def test_a_second_outage_that_meets_a_waiting_lane_ends_too() -> None:
    world = World((0, 40), (49, 10_000), takes_s=1.0)
    breaker = world.breaker(max_outage_s=600)
    first = asyncio.create_task(world.model(breaker).ask(QUESTION))
    second = asyncio.create_task(world.model(breaker).ask(QUESTION))
    assert await first == REPLY
    async with asyncio.timeout(5):
        with pytest.raises(ModelUnavailable, match="was down for"):
            await second
    assert world.asked[:4] == [0, 1, 17, 48], "the first lane got its answer at 48 s, before the second outage"
    assert len(world.asked) < 15, "no busy loop"
