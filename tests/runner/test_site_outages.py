"""A site that is down for everybody: its jobs wait, others go on, and all of it is bounded and counted."""

import asyncio
from collections.abc import Awaitable, Callable

from harness.browser.network.site_health import WaitPolicy
from harness.episode.job import Job
from harness.errors import ShutdownRequested
from harness.runner.scheduler import MAX_SKIPS, Scheduler
from harness.runner.site_outages import SiteOutages
from tests.runner.sites import FOUR, ONE_EACH, Journals, reader, writer
from tests.runner.test_scheduler import asking, ids, taken, turns

SHOP, FORUM = "http://shop.a", "http://forum.a"


class Sites:
    """Which of them answer, and a clock that only moves while somebody waits."""

    def __init__(self, *down: str, limit_s: float = 60.0, instances: dict[str, tuple[str, ...]] = ONE_EACH) -> None:
        self.down = set(down)
        self.asked: list[str] = []
        self.said: list[str] = []
        self.now = 0.0
        self.stopping = False
        self.instances = instances
        self._sleepers: list[asyncio.Future[None]] = []
        self.outages = SiteOutages(
            self._ask, WaitPolicy(limit_s=limit_s, tell=self.said.append, sleep=self._sleep, monotonic=lambda: self.now)
        )

    async def _ask(self, url: str) -> bool:
        self.asked.append(url)
        await asyncio.sleep(0)
        return url not in self.down

    async def _sleep(self, seconds: float) -> None:
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append(sleeper)
        await sleeper
        if self.stopping:
            raise ShutdownRequested("the run is stopping")
        self.now += seconds

    async def tick(self, times: int = 1) -> None:
        for _ in range(times):
            for sleeper in self._sleepers:
                if not sleeper.done():
                    sleeper.set_result(None)
            await turns()

    def schedule(self, *jobs: Job) -> Scheduler:
        sharing = Journals().sharing(self.instances)
        return Scheduler(jobs, sharing, outages=self.outages, stopping=lambda: self.stopping)


async def gone(schedule: Scheduler, lane: int, *, over: bool = False) -> None:
    """The job of a lane found its site gone."""
    await schedule.settle(lane, schedule.held[lane], over=over, site_down=True)
    await turns()


async def ended(schedule: Scheduler, lane: int) -> None:
    await schedule.settle(lane, schedule.held[lane], over=True)
    await turns()


async def until_done(schedule: Scheduler, *lanes: int) -> None:
    """Play what is left, so that the scheduler may be left."""
    while schedule.goes_on:
        for lane in lanes:
            if lane not in schedule.held and await schedule.take(lane) is None:
                break
            await ended(schedule, lane)
    for lane in lanes:
        if lane in schedule.held:
            await ended(schedule, lane)


async def test_jobs_of_a_site_that_is_down_wait_until_it_answers_and_others_go_on() -> None:
    sites = Sites(SHOP)
    async with sites.schedule(reader("1"), reader("2"), reader("3", "forum")) as schedule:
        await taken(schedule, 0)
        await gone(schedule, 0)
        assert ids(await taken(schedule, 0)) == ["3"], "not the next one of the shop"
        waiting = await asking(schedule, 1)
        await sites.tick(3)
        assert not waiting.done() and schedule.waits == {1: "shop is down"}
        assert sites.said == [f"shop is down ({SHOP}); its tasks are paused, others go on; waiting up to 60 s"]
        sites.down.clear()
        await sites.tick()
        assert ids(schedule.held[1]) == ["2"], "it is given at once"
        assert sites.said[-1] == "shop answers again after 4 s; its tasks go on"
        assert schedule.site_pauses == {"shop": 4.0}
        await ended(schedule, 0)
        await ended(schedule, 1)
        await until_done(schedule, 0)


async def test_a_site_that_answers_from_here_is_not_paused() -> None:
    sites = Sites()
    async with sites.schedule(reader("1"), reader("2")) as schedule:
        await taken(schedule, 0)
        await gone(schedule, 0)
        assert (sites.asked, sites.said, schedule.site_pauses) == ([SHOP], [], {})
        await until_done(schedule, 0)


async def test_no_job_is_given_while_the_site_is_being_asked() -> None:
    asked: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    ask: Callable[[str], Awaitable[bool]] = lambda url: asked  # noqa: E731
    outages = SiteOutages(ask, WaitPolicy(limit_s=60.0))
    async with Scheduler([reader("1"), reader("2")], Journals().sharing(), outages=outages) as schedule:
        await taken(schedule, 0)
        await gone(schedule, 0)
        waiting = await asking(schedule, 0)
        assert not waiting.done()
        asked.set_result(True)
        await turns()
        assert ids(schedule.held[0]) == ["2"]
        await ended(schedule, 0)
        await until_done(schedule, 0)


async def test_after_the_longest_pause_jobs_are_given_again_and_not_paused_until_one_was_played() -> None:
    sites = Sites(SHOP, limit_s=3.0)
    async with sites.schedule(*map(reader, "1234")) as schedule:
        await taken(schedule, 0)
        await gone(schedule, 0)
        await sites.tick(3)
        assert "shop is still down after 3 s" in sites.said[-1] and "sites.max_outage_s" in sites.said[-1]
        assert ids(await taken(schedule, 0)) == ["2"]
        await gone(schedule, 0, over=True)
        assert ids(await taken(schedule, 0)) == ["3"], "no second pause"
        await ended(schedule, 0)
        await taken(schedule, 0)
        await gone(schedule, 0)
        waiting = await asking(schedule, 0)
        assert not waiting.done(), "it had answered: this is another outage"
        sites.down.clear()
        await sites.tick()
        assert schedule.site_pauses == {"shop": 4.0}
        await ended(schedule, 0)
        await until_done(schedule, 0)


async def test_other_instances_of_a_site_are_used() -> None:
    sites = Sites(SHOP, instances=FOUR)
    async with sites.schedule(*map(writer, "12345")) as schedule:
        assert (await taken(schedule, 0)).instances["shop"] == SHOP
        await gone(schedule, 0)
        places = {(await taken(schedule, lane)).instances["shop"] for lane in range(3)}
        assert places == set(FOUR["shop"][1:])
        waiting = await asking(schedule, 3)
        assert not waiting.done()
        sites.down.clear()
        await sites.tick()
        assert schedule.held[3].instances["shop"] == SHOP
        for lane in range(4):
            await ended(schedule, lane)
        await until_done(schedule, 0)


async def test_a_job_that_waits_for_a_site_that_is_down_reserves_no_other_site() -> None:
    sites = Sites(SHOP)
    others = [writer(str(number), "forum") for number in range(2, 2 * MAX_SKIPS)]
    async with sites.schedule(writer("1", "shop", "forum"), *others) as schedule:
        await taken(schedule, 0)
        await gone(schedule, 0)  # FORUM answers and is free at once
        for _ in others:
            await taken(schedule, 0)
            await ended(schedule, 0)
        assert ids(*schedule.pending) == ["1"]
        sites.down.clear()
        await sites.tick()
        await until_done(schedule, 0)


async def test_a_run_that_is_stopping_waits_for_no_site_and_nothing_is_waited_for_when_nothing_is_pending() -> None:
    sites = Sites(SHOP)
    async with sites.schedule(reader("1"), reader("2")) as schedule:
        await taken(schedule, 0)
        await gone(schedule, 0)
        sites.stopping = True
        await sites.tick()
    assert not sites.outages
    sites = Sites(SHOP)
    async with sites.schedule(reader("1")) as schedule:
        await taken(schedule, 0)
        await gone(schedule, 0, over=True)
    assert (sites.said, schedule.site_pauses) == ([], {"shop": 0.0})
