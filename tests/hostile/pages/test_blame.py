"""A browser that breaks with several episodes in it: only whoever breaks one of their own uses up an attempt."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import psutil
import pytest

from harness.actions import InvalidAction
from harness.browser.session.chromium import ChromiumPool
from harness.choices import Dialect
from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.errors import BrowserCrashed, BrowserLost, InfraError
from harness.journal.index import EpisodeResult, result_of
from harness.journal.store import RunFolder
from harness.protocols import EnvironmentFactory, RestoreResult
from harness.records import Episode, SideEffect, Task
from harness.runner.pending import PendingPolicy
from harness.runner.scheduler import Scheduler
from harness.runner.worker import Worker
from tests.browser.chromium_processes import is_browser
from tests.e2e.trouble import TroubledSites, World, troubled_world
from tests.episode.test_episode import deps_of
from tests.hostile.pages.wild import QUICK, Wild, a_task, staying

PRICE, WISHLIST = 0, 12
POLICY = PendingPolicy(scoring=Dialect.corrected)
in_a_browser = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def processes(kind: str) -> list[psutil.Process]:
    """Chromium's of this test, by a word of their command line; "" = the browsers themselves."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if kind in process.cmdline() if kind else is_browser(process):
                found.append(process)
    return sorted(found, key=lambda process: process.create_time())


async def _next_step(pool: ChromiumPool, ready: asyncio.Barrier, *, alone: bool = False) -> InfraError | None:
    """Stand on a page until everybody does, and then for as long as it lasts."""
    task = a_task()
    try:
        async with pool.open(task, 0, alone=alone) as env:
            await env.restore(task, Episode())
            await ready.wait()
            await ready.wait()  # until it was broken
            for _ in range(20):
                await env.act(InvalidAction())
    except InfraError as error:
        return error
    return None


@pytest.mark.parametrize("kind", ["", "--utility-sub-type=network.mojom.NetworkService"], ids=["browser", "network"])
@pytest.mark.parametrize("alone", [False, True], ids=["shared", "alone"])
class TestOneBrowser:
    pytestmark = in_a_browser

    @pytest.mark.hostile
    async def test_a_browser_that_dies_is_blamed_on_whoever_was_alone_in_it(
        self, wild: Wild, kind: str, alone: bool
    ) -> None:
        async with ChromiumPool(QUICK, sites=lambda _: (wild.site,)) as pool:
            ready = asyncio.Barrier(3 - alone)
            async with asyncio.TaskGroup() as group:
                before = set(processes(kind))
                playing = [group.create_task(_next_step(pool, ready, alone=alone)) for _ in range(2 - alone)]
                await ready.wait()
                (victim,) = set(processes(kind)) - before
                victim.kill()
                await ready.wait()
            lost = [task.result() for task in playing]
            assert all(isinstance(error, BrowserCrashed) for error in lost), lost
            assert all(isinstance(error, BrowserLost) is not alone for error in lost), lost
            async with staying(pool) as stay:
                assert "all is calm" in stay.text


class TestEachItsOwn:
    pytestmark = in_a_browser

    async def test_a_page_that_crashes_is_its_own_episodes_matter(self, wild: Wild) -> None:
        async with ChromiumPool(QUICK, sites=lambda _: (wild.site,)) as pool, staying(pool) as neighbour:
            before = set(processes("--type=renderer"))
            with pytest.raises(BrowserCrashed, match="crashed") as caught:
                async with staying(pool) as stay:
                    for renderer in set(processes("--type=renderer")) - before:
                        os.kill(renderer.pid, signal.SIGKILL)
                    for _ in range(20):
                        await stay.act(InvalidAction())
            assert not isinstance(caught.value, BrowserLost)
            await neighbour.act(InvalidAction())
            assert "all is calm" in neighbour.text and pool.starts == 1

    @pytest.mark.slow
    async def test_one_that_asks_to_be_alone_gets_a_browser_that_ends_with_it(self, wild: Wild) -> None:
        task = a_task()
        async with ChromiumPool(QUICK, sites=lambda _: (wild.site,)) as pool, staying(pool):
            mains = len(processes(""))
            async with pool.open(task, 1, alone=True) as env:
                await env.restore(task, Episode())
                assert pool.starts == 2 and len(processes("")) == mains + 1
            assert len(processes("")) == mains


class Dying:
    """A pool whose browser always breaks, or whose environments are cancelled by nobody."""

    def __init__(self, how: Callable[[bool], BaseException]) -> None:
        self.how = how
        self.opened: list[bool] = []

    @asynccontextmanager
    async def open(self, task: Task, lane: int, instances: Any = None, *, alone: bool = False) -> AsyncIterator[Any]:
        self.opened.append(alone)
        self.alone = alone
        yield self

    async def restore(self, *_: Any) -> RestoreResult:
        raise self.how(self.alone)

    def take_effects(self) -> tuple[SideEffect, ...]:
        return ()


async def played(run: RunFolder, pool: EnvironmentFactory) -> Episode:
    """What a worker with one lane makes of one job."""
    job = Job(task=a_task())
    kit = deps_of(run, stopping=False)
    worker = Worker(deps=AsyncMock(return_value=kit), pool=pool, journals=lambda task, trial: run.journal(task.task_id, trial), policy=POLICY)  # fmt: skip
    async with Scheduler([job]) as schedule:
        await worker.run_lane(0, schedule)
    with run.journal(job.task.task_id) as journal:
        return journal.episode


async def test_a_shared_browsers_end_uses_up_no_attempt_and_the_next_try_is_alone(run: RunFolder) -> None:
    pool = Dying(lambda alone: BrowserCrashed("gone") if alone else BrowserLost("gone"))
    episode = await played(run, pool)
    assert pool.opened == [False, True, True, True]
    assert [failed.shared for failed in episode.failures] == [True, False, False, False]
    outcome = result_of(episode)
    assert outcome is not None and outcome.failures == POLICY.resume.max_attempts


async def test_a_cancellation_nobody_asked_for_is_a_failure_of_its_task(run: RunFolder) -> None:
    episode = await played(run, Dying(lambda _: asyncio.CancelledError()))
    assert [failed.type for failed in episode.failures] == ["InfraError"] * POLICY.resume.max_attempts
    assert "was cancelled" in episode.failures[0].message


async def test_a_cancellation_that_was_asked_for_is_none(run: RunFolder) -> None:
    class Waiting(Dying):
        async def restore(self, *_: Any) -> RestoreResult:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

    begun = asyncio.Event()
    with run.journal("1") as journal:
        runner = EpisodeRunner(deps_of(run, stopping=False), Job(task=a_task()), journal)
        pool = Waiting(lambda _: AssertionError())
        playing = asyncio.create_task(runner.play(pool.open(a_task(), 0)))
        await begun.wait()
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
        assert journal.episode.failures == ()


async def test_a_lane_that_is_cancelled_by_nobody_is_not_taken_for_one_that_is_done(run: RunFolder) -> None:
    class Breaking(Scheduler):
        async def settle(
            self, lane: int, job: Job, *, over: bool, site_down: bool = False, outcome: EpisodeResult | None = None
        ) -> None:
            raise asyncio.CancelledError

    kit = deps_of(run, stopping=False)
    pool = Dying(lambda _: BrowserCrashed("gone"))
    worker = Worker(deps=AsyncMock(return_value=kit), pool=pool, journals=lambda task, trial: run.journal(task.task_id, trial), policy=POLICY)  # fmt: skip
    async with Breaking([Job(task=a_task())]) as schedule:
        with pytest.raises(InfraError, match="lane 0 ended"):
            await worker.run_lane(0, schedule)


class DeadlySites(TroubledSites):
    """Sites of which one request ends the browser that sends it."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "POST" and "wishlist" in scope["path"]:
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    if any(one.laddr.port == scope["client"][1] for one in process.net_connections()):
                        process.parent().kill()  # of its network service
        await super().__call__(scope, receive, send)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with troubled_world(tmp_path, DeadlySites(), latency_ms=150) as world:
        yield world


@pytest.mark.browser
@pytest.mark.hostile
async def test_a_task_that_breaks_its_browser_is_unscored_and_costs_its_neighbours_nothing(world: World) -> None:
    others = (PRICE, 13, 14, 15, 16, 17)
    ids = f"task.ids=[{WISHLIST},{','.join(map(str, others))}]"
    async with world.playing(ids, "executor.lanes=2") as play:
        assert await play.ended() == 3, play.text
    blamed = [failed.shared for failed in play.episode(WISHLIST).failures]
    assert blamed.count(False) == 3 and blamed[0] is True
    assert all(failed.shared for task_id in others for failed in play.episode(task_id).failures)
    results = {result["task_id"]: result for result in play.summary["results"]}
    assert results[str(WISHLIST)]["status"] == "unscored"
    assert all(results[str(task_id)]["score"] == 1.0 for task_id in others)
