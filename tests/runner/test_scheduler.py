"""The queue: order, what comes back, who may be on which site, and that everybody gets a turn."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from harness.actions import Stop
from harness.choices import ResetWhen
from harness.episode.job import Job
from harness.errors import ConfigError, SiteUnavailable, StorageError
from harness.files import safe_files
from harness.journal.index import EpisodeResult
from harness.journal.site_log import SiteInstance, SiteLog, SiteUse
from harness.records import SideEffect, Task
from harness.runner.dirty_sites import DirtySites
from harness.runner.scheduler import MAX_SKIPS, Scheduler
from harness.runner.site_locks import LockableSites, LockPlanner
from tests.journal.episodes import acted, closed, decided, opened
from tests.runner.sites import FOUR, Journals, a_job, reader, writer


async def turns() -> None:
    """Let everything that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


async def taken(schedule: Scheduler, lane: int) -> Job:
    """What a lane is given at once."""
    async with asyncio.timeout(60):
        job = await schedule.take(lane)
    assert job is not None
    return job


async def asking(schedule: Scheduler, lane: int) -> "asyncio.Task[Job | None]":
    """A lane that asks and has had every chance to be answered."""
    task = asyncio.create_task(schedule.take(lane))
    await turns()
    return task


def ids(*jobs: Job) -> list[str]:
    return [job.task.task_id for job in jobs]


async def over(schedule: Scheduler, lane: int) -> None:
    await schedule.settle(lane, schedule.held[lane], over=True)
    await turns()


async def test_jobs_are_given_in_order_until_none_is_left() -> None:
    schedule = Scheduler([a_job("1"), a_job("2")])
    assert ids(await taken(schedule, 0), await taken(schedule, 1)) == ["1", "2"]
    assert await schedule.take(2) is None
    assert (len(schedule), schedule.played, sorted(schedule.held)) == (0, 2, [0, 1])


async def test_what_became_of_a_job_is_taken_from_its_worker_and_read_only_where_that_is_gone() -> None:
    journals, read = Journals(), list[tuple[str, int]]()
    ended = journals.write(opened(of=a_job("1").task), acted(0), decided(1, Stop(answer="")), closed())
    sites = LockableSites(instances={"shop": ("http://shop.localhost/",)}, site_of=lambda url: "shop")

    def reading(task_id: str, trial: int) -> EpisodeResult | None:
        read.append((task_id, trial))
        return journals.outcomes.get((task_id, trial))

    sharing = LockPlanner(sites, (), reading)
    schedule = Scheduler([a_job("1"), a_job("2")], sharing)
    job = await taken(schedule, 0)
    await schedule.settle(0, job, over=False, outcome=ended)
    assert (read, sharing.outcome(job)) == ([], ended)
    await taken(schedule, 0)
    schedule.reclaim(0)
    assert read == [("2", 0)]
    read.clear()
    await taken(schedule, 0)
    await schedule.settle(0, await taken(schedule, 1), over=True, outcome=ended)
    assert read == []
    assert (sharing.outcome(job), read) == (ended, [("1", 0)]), "what a lane has left for good is not kept"


async def test_what_is_pending_again_waits_behind_the_others_and_counts_once() -> None:
    schedule = Scheduler([a_job("1"), a_job("2")])
    job = await taken(schedule, 0)
    await schedule.settle(0, job, over=False)
    assert ids(await taken(schedule, 0), await taken(schedule, 1)) == ["2", "1"]
    assert schedule.played == 2


async def test_what_a_lost_lane_played_goes_first_as_it_was() -> None:
    schedule = Scheduler([a_job("1", reopen_at=1), a_job("2")])
    await taken(schedule, 0)
    assert schedule.reclaim(0) == a_job("1", reopen_at=1)
    assert schedule.reclaim(0) is None
    assert await taken(schedule, 1) == a_job("1", reopen_at=1)
    assert (schedule.played, len(schedule)) == (1, 1)


async def test_nothing_new_is_given_once_the_run_is_stopping() -> None:
    stopping: list[bool] = []
    schedule = Scheduler([writer("1"), writer("2")], Journals().sharing(), stopping=lambda: bool(stopping))
    await taken(schedule, 0)
    waiting = await asking(schedule, 1)
    stopping.append(True)
    await schedule.settle(0, schedule.held[0], over=False)
    await turns()
    assert waiting.result() is None
    assert ids(*schedule.pending) == ["2"] and schedule.played == 1, "what is interrupted is of another start"


# --- who may be on which site ----------------------------------------------------------------------


async def test_readers_share_and_a_writer_waits_until_they_are_gone() -> None:
    schedule = Scheduler([reader("1"), reader("2"), writer("3"), writer("4")], Journals().sharing())
    assert ids(await taken(schedule, 0), await taken(schedule, 1)) == ["1", "2"]
    waiting = await asking(schedule, 2)
    await over(schedule, 0)
    assert not waiting.done()
    await over(schedule, 1)
    assert ids(schedule.held[2]) == ["3"]


async def test_a_lane_that_would_have_to_wait_takes_the_first_job_whose_sites_are_free() -> None:
    schedule = Scheduler([writer("1"), writer("2"), writer("3", "forum")], Journals().sharing())
    assert ids(await taken(schedule, 0), await taken(schedule, 1)) == ["1", "3"]
    waiting = await asking(schedule, 2)
    await over(schedule, 0)
    assert waiting.done() and ids(schedule.held[2]) == ["2"]


async def test_lanes_that_wait_are_served_in_the_order_they_asked_and_let_go_when_nothing_is_left() -> None:
    schedule = Scheduler([writer("1"), writer("2")], Journals().sharing())
    await taken(schedule, 0)
    waiting = [await asking(schedule, lane) for lane in (3, 1)]
    await over(schedule, 0)
    assert ids(schedule.held[3]) == ["2"]
    assert waiting[1].done() and waiting[1].result() is None


async def test_jobs_are_spread_over_the_instances_of_a_site() -> None:
    schedule = Scheduler([writer(str(number)) for number in range(5)], Journals().sharing(FOUR))
    played = [await taken(schedule, lane) for lane in range(4)]
    assert {job.instances["shop"] for job in played} == set(FOUR["shop"])
    fifth = await asking(schedule, 4)
    assert not fifth.done()
    await over(schedule, 2)
    assert schedule.held[4].instances == played[2].instances


async def test_readers_go_where_the_fewest_are() -> None:
    schedule = Scheduler([reader(str(number)) for number in range(9)], Journals().sharing(FOUR))
    places = [(await taken(schedule, lane)).instances["shop"] for lane in range(8)]
    assert sorted(places) == sorted(FOUR["shop"] * 2)
    await over(schedule, 3)
    assert (await taken(schedule, 3)).instances["shop"] == places[3]


async def test_a_lane_that_is_lost_while_it_waits_holds_nobody_up() -> None:
    schedule = Scheduler([writer("1"), writer("2"), writer("3")], Journals().sharing())
    await taken(schedule, 0)
    waiting = await asking(schedule, 1)
    waiting.cancel()
    await turns()
    assert schedule.reclaim(1) is None
    await over(schedule, 0)
    assert ids(await taken(schedule, 2)) == ["2"]


async def test_a_lane_lost_as_it_was_answered_gives_the_job_back() -> None:
    schedule = Scheduler([writer("1"), writer("2")], Journals().sharing())
    await taken(schedule, 0)
    waiting = await asking(schedule, 1)
    await schedule.settle(0, schedule.held[0], over=True)
    waiting.cancel()  # answered, but not yet awake
    await turns()
    assert ids(schedule.held[1]) == ["2"]
    schedule.reclaim(1)
    assert ids(await taken(schedule, 2)) == ["2"]


async def test_two_sites_at_one_address_are_one_instance() -> None:
    together = {"shop": ("http://all.a",), "forum": ("http://all.a",)}
    schedule = Scheduler([writer("1", "shop"), writer("2", "forum")], Journals().sharing(together))
    await taken(schedule, 0)
    assert not (await asking(schedule, 1)).done()


async def test_an_attempt_goes_on_at_its_instance_even_if_others_are_free() -> None:
    journals = Journals()
    job = writer("1")
    journals.write(replace(opened(of=job.task), instances={"shop": FOUR["shop"][2]}), acted(0))
    schedule = Scheduler([writer("0"), job], journals.sharing(FOUR))
    await taken(schedule, 0)
    assert (await taken(schedule, 1)).instances == {"shop": FOUR["shop"][2]}


async def test_one_whose_instance_is_gone_is_given_another_one_and_told_so() -> None:
    journals = Journals()
    job = writer("1")
    journals.write(replace(opened(of=job.task), instances={"shop": "http://shop.gone"}), acted(0))
    schedule = Scheduler([job], journals.sharing())
    assert (await taken(schedule, 0)).instances == {"shop": "http://shop.a"}


# --- fairness ---------------------------------------------------------------------------------------


async def test_a_task_on_two_sites_gets_its_turn_under_a_stream_of_others() -> None:
    """On each site somebody always is: without instances being kept for it, both are never free at once."""
    stream = [writer(f"s{number}", "shop" if number % 2 else "forum") for number in range(60)]
    schedule = Scheduler([*stream[:2], writer("both", "shop", "forum"), *stream[2:]], Journals().sharing())
    order = await played_alternately(schedule, lanes=2)
    assert order.index("both") <= MAX_SKIPS + 4


async def test_a_writer_gets_its_turn_under_a_stream_of_readers_who_meanwhile_share() -> None:
    stream = [reader(f"r{number}") for number in range(60)]
    schedule = Scheduler([*stream[:3], writer("w"), *stream[3:]], Journals().sharing())
    order = await played_alternately(schedule, lanes=3)
    assert 3 + MAX_SKIPS <= order.index("w") <= 3 + MAX_SKIPS + 3


async def test_what_was_kept_for_a_task_that_is_withdrawn_is_given_to_the_next_one_at_once() -> None:
    readers = [reader(f"r{number}") for number in range(MAX_SKIPS + 2)]
    schedule = Scheduler([readers[0], writer("w"), *readers[1:]], Journals().sharing())
    for lane in range(MAX_SKIPS + 1):
        await taken(schedule, lane)
    waiting = await asking(schedule, MAX_SKIPS + 1)
    assert not waiting.done(), "the site is kept for the writer"
    assert schedule.withdraw("w", 0)
    await turns()
    assert waiting.result() is not None and ids(schedule.held[MAX_SKIPS + 1]) == [f"r{MAX_SKIPS + 1}"]


async def test_a_job_says_who_has_its_sites_and_nothing_while_it_waits_for_a_lane_or_a_reset() -> None:
    may_reset = asyncio.Event()

    async def reset(instances: tuple[SiteInstance, ...], task: Task) -> None:
        await may_reset.wait()

    jobs = [writer("1"), writer("2")]
    async with Scheduler(jobs, Journals().sharing(), DirtySites(reset, ["shop"])) as schedule:
        first = await asking(schedule, 0)
        assert schedule.held_up("1", 0) == "", "it waits for a reset"
        may_reset.set()
        await first
        assert schedule.held_up("2", 0) == "", "no lane asks"
        second = await asking(schedule, 1)
        assert schedule.held_up("2", 0) == "task 1 uses shop"
        assert schedule.held_up("1", 0) == "", "a lane has it"
        may_reset.clear()
        await over(schedule, 0)
        assert schedule.held_up("2", 0) == "", "it waits for a reset, with a lane"
        may_reset.set()
        await second
        assert ids(schedule.held[1]) == ["2"]


async def played_alternately(schedule: Scheduler, *, lanes: int) -> list[str]:
    """Let lanes take and settle in turn, so that one of them is always playing; the order jobs were begun in."""
    order: list[str] = []
    waiting: dict[int, asyncio.Task[Job | None]] = {}

    async def step(lane: int) -> bool:
        if lane in schedule.held:
            await over(schedule, lane)
        if lane not in waiting:
            waiting[lane] = asyncio.create_task(schedule.take(lane))
        await turns()
        for one, task in list(waiting.items()):
            if task.done():
                del waiting[one]
                if (job := task.result()) is None:
                    return False
                order.append(job.task.task_id)
        return True

    async with asyncio.timeout(20):
        turn = 0
        while await step(turn % lanes):
            turn += 1
    for task in waiting.values():
        task.cancel()
    return order


# --- what is said of waiting ---------------------------------------------------------------------------


async def test_who_is_in_the_way_is_told_of_every_lane_that_waits_and_of_no_other() -> None:
    jobs = [reader("1"), reader("2"), writer("3", "forum"), writer("4", "shop", "forum"), writer("5")]
    schedule = Scheduler(jobs, Journals().sharing())
    for lane in range(3):
        await taken(schedule, lane)
    assert schedule.waits == {}
    await asking(schedule, 3)
    await asking(schedule, 4)
    assert schedule.waits == dict.fromkeys((3, 4), "tasks 1, 2, 3 use shop, forum")
    await over(schedule, 2)
    assert schedule.waits == dict.fromkeys((3, 4), "tasks 1, 2 use shop")
    await over(schedule, 0)
    await over(schedule, 1)
    assert ids(schedule.held[3]) == ["4"]
    assert schedule.waits == {4: "task 4 uses shop"}


async def test_a_site_that_is_being_put_back_is_told_of_too() -> None:
    hook = Hook(gated=True)
    async with Scheduler([writer("1")], Journals().sharing(), DirtySites(hook, ["shop"])) as schedule:
        await asking(schedule, 0)
        assert schedule.waits == {0: "shop is being reset"}
        hook.gate.set()
        await turns()
        assert schedule.waits == {} and ids(schedule.held[0]) == ["1"]


# --- resets -----------------------------------------------------------------------------------------


class Hook:
    """Notes what is put back; with a gate, only when it is opened."""

    def __init__(self, *, gated: bool = False) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.gate = asyncio.Event()
        self.error: ConfigError | SiteUnavailable | None = None
        if not gated:
            self.gate.set()

    async def __call__(self, instances: tuple[SiteInstance, ...], task: Task) -> None:
        self.calls.append(tuple(instance.url for instance in instances))
        await self.gate.wait()
        if self.error is not None:
            raise self.error


def changing(journals: Journals, job: Job, *, ended: bool) -> None:
    """Write that a job has sent a form."""
    begun = [replace(opened(of=job.task), instances=job.instances), acted(0), decided(1), acted(1)]
    journals.write(*begun)
    if ended:
        outcome = journals.outcomes[job.task.task_id, 0]
        journals.outcomes[job.task.task_id, 0] = replace(outcome, closed="MAX_STEPS", goes_on=False)


async def test_the_first_on_an_instance_finds_it_put_back_because_nobody_knows_its_state() -> None:
    hook = Hook()
    async with Scheduler([reader("1"), reader("2")], Journals().sharing(), DirtySites(hook, ["shop"])) as schedule:
        await taken(schedule, 0)
        await taken(schedule, 1)
    assert hook.calls == [("http://shop.a",)]


async def test_a_job_stays_in_the_queue_when_its_sites_cannot_be_marked_as_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageError("sites.log: the disk is full")

    upkeep = DirtySites(Hook(), [])
    monkeypatch.setattr(upkeep, "mark_in_use", refuse)
    schedule = Scheduler([writer("1")], Journals().sharing(), upkeep)
    with pytest.raises(StorageError):
        await schedule.take(0)
    assert ids(*schedule.pending) == ["1"] and not schedule.held


async def test_what_a_task_changed_is_put_back_when_it_is_over_and_nobody_waits_for_it_in_vain() -> None:
    hook, journals = Hook(), Journals()
    jobs = [writer("1"), reader("2", "forum"), writer("3"), reader("4", "forum")]
    async with Scheduler(jobs, journals.sharing(), DirtySites(hook, ["shop"])) as schedule:
        assert ids(await taken(schedule, 0)) == ["2"], "a lane plays elsewhere while the shop is put back"
        await turns()
        assert ids(await taken(schedule, 1)) == ["1"]
        assert hook.calls == [("http://shop.a",)]
        hook.gate.clear()
        changing(journals, schedule.held[1], ended=True)
        await over(schedule, 1)
        assert len(hook.calls) == 2
        assert ids(await taken(schedule, 1)) == ["4"]
        waiting = await asking(schedule, 2)
        assert not waiting.done()
        hook.gate.set()
        await turns()
        assert ids(schedule.held[2]) == ["3"]
        await over(schedule, 2)
    assert len(hook.calls) == 2, "task 3 left nothing behind on the shop"


async def test_one_that_comes_back_finds_its_site_reset_like_anybody_else() -> None:
    hook, journals = Hook(), Journals()
    async with Scheduler([writer("1"), writer("2")], journals.sharing(), DirtySites(hook, ["shop"])) as schedule:
        job = await taken(schedule, 0)
        assert job.clean == ("shop",)
        changing(journals, job, ended=False)
        schedule.reclaim(0)
        again = await taken(schedule, 1)
        assert (ids(again), again.clean, len(hook.calls)) == (["1"], ("shop",), 2)
        await schedule.settle(1, schedule.held[1], over=False)
        assert ids(await taken(schedule, 0)) == ["2"]
    assert len(hook.calls) == 3


async def test_with_checkpoints_one_that_goes_on_finds_what_it_left_and_somebody_else_does_not() -> None:
    hook, journals = Hook(), Journals()
    upkeep, sharing = DirtySites(hook, ["shop"]), journals.sharing(safe_to_open=["shop"])
    async with Scheduler([writer("1"), writer("2")], sharing, upkeep, keeps_sites=True) as schedule:
        changing(journals, await taken(schedule, 0), ended=False)
        schedule.reclaim(0)
        again = await taken(schedule, 1)
        assert (ids(again), again.clean, len(hook.calls)) == (["1"], (), 1)
        await schedule.settle(1, schedule.held[1], over=False)
        assert ids(await taken(schedule, 0)) == ["2"]
        await schedule.settle(0, schedule.held[0], over=False)
        back = await taken(schedule, 0)
        assert (ids(back), back.clean) == (["1"], ("shop",)), "the site was reset since"
    assert len(hook.calls) == 3


async def test_one_that_goes_on_after_one_of_its_sites_was_used_by_another_finds_all_of_them_reset() -> None:
    hook, journals = Hook(), Journals()
    upkeep, sharing = DirtySites(hook, ["shop", "forum"]), journals.sharing(safe_to_open=["shop", "forum"])
    posted = SideEffect(method="POST", url="http://forum.localhost/", status=None)
    async with Scheduler([writer("1", "shop", "forum"), writer("2")], sharing, upkeep, keeps_sites=True) as schedule:
        job = await taken(schedule, 0)
        begun = replace(opened(of=job.task), instances=job.instances)
        journals.write(begun, acted(0), decided(1), acted(1), decided(2), replace(acted(2), effects=(posted,)))
        await schedule.settle(0, schedule.held[0], over=False)
        assert ids(await taken(schedule, 0)) == ["2"]
        await schedule.settle(0, schedule.held[0], over=True)
        again = await taken(schedule, 0)
        assert (ids(again), set(again.clean)) == (["1"], {"shop", "forum"}), "both, or neither"


async def test_pages_that_may_change_something_when_they_are_opened_again_keep_no_site() -> None:
    hook, journals = Hook(), Journals()
    upkeep = DirtySites(hook, ["shop"])
    async with Scheduler([writer("1")], journals.sharing(), upkeep, keeps_sites=True) as schedule:
        changing(journals, await taken(schedule, 0), ended=False)
        schedule.reclaim(0)
        assert (await taken(schedule, 1)).clean == ("shop",)
    assert len(hook.calls) == 2


async def test_a_pending_action_that_may_have_been_performed_keeps_no_site() -> None:
    hook, journals = Hook(), Journals()
    upkeep = DirtySites(hook, ["shop"])
    async with Scheduler([writer("1")], journals.sharing(), upkeep, keeps_sites=True) as schedule:
        job = await taken(schedule, 0)
        journals.write(opened(of=job.task), acted(0), decided(1))
        schedule.reclaim(0)
        assert (await taken(schedule, 1)).clean == ("shop",)
    assert len(hook.calls) == 2


@pytest.mark.parametrize(("kept", "resets"), [(True, 1), (False, 2)])
async def test_what_an_earlier_start_left_is_known_from_the_disk(tmp_path: Path, *, kept: bool, resets: int) -> None:
    hook, journals, job = Hook(), Journals(), writer("1")
    upkeep = DirtySites(hook, ["shop"], log=SiteLog(tmp_path))
    async with Scheduler([job], journals.sharing(), upkeep, keeps_sites=True) as schedule:
        changing(journals, await taken(schedule, 0), ended=False)
    if not kept:  # the start ended in the middle of a reset
        upkeep.begins([SiteInstance("shop", "http://shop.a")])
    upkeep = DirtySites(hook, ["shop"], log=SiteLog(tmp_path))
    async with Scheduler([job], journals.sharing(safe_to_open=["shop"]), upkeep, keeps_sites=True) as schedule:
        assert (await taken(schedule, 0)).clean == (() if kept else ("shop",))
    assert len(hook.calls) == resets


async def test_an_instance_is_marked_as_dirty_on_the_disk_before_a_job_is_given_it(tmp_path: Path) -> None:
    log = SiteLog(tmp_path)
    upkeep = DirtySites(Hook(), ["shop"], log=log)
    async with Scheduler([writer("1")], Journals().sharing(), upkeep) as schedule:
        await taken(schedule, 0)
        assert [left.by for left in log.read().values()] == [(("1", 0),)]


def test_what_is_kept_of_an_instance_does_not_grow_with_the_jobs_that_change_it(tmp_path: Path) -> None:
    log, shop = SiteLog(tmp_path), SiteInstance("shop", "http://shop.a")
    upkeep = DirtySites(Hook(), ["shop"], when=ResetWhen.ASKED, log=log)
    upkeep.mark_clean([shop], took_s=1.0)
    for number in range(1000):
        upkeep.mark_in_use([shop], (f"task-{number}", 0), goes_on=False)
        upkeep.mark_dirty(shop, (f"task-{number}", 1))
    assert (tmp_path / "sites.jsonl").stat().st_size < 2_000
    (left,) = log.read().values()
    assert left.by == (("task-0", 0), ("task-0", 1)) and not left.is_as_left
    asks = replace(reader("1").task, require_reset=True)
    assert all(upkeep.needs_reset(shop, asks, keeps=job) for job in (*left.by, ("task-999", 0)))


def test_states_of_sites_in_a_file_that_is_too_large_are_unknown(tmp_path: Path) -> None:
    log = SiteLog(tmp_path)
    log.write({SiteInstance("shop", "http://shop.a"): SiteUse(by=(("1", 0),))})
    with (tmp_path / "sites.jsonl").open("r+b") as file:
        file.truncate(safe_files.MAX_SIDE_FILE_BYTES + 1)
    assert log.read() == {} and log.reset_times() == {}


async def test_a_job_one_of_whose_sites_cannot_be_reset_keeps_the_others() -> None:
    hook, journals = Hook(), Journals()
    job = writer("1", "shop", "forum")
    async with Scheduler([job], journals.sharing(), DirtySites(hook, ["shop"])) as schedule:
        changing(journals, await taken(schedule, 0), ended=False)
        schedule.reclaim(0)
        assert (await taken(schedule, 0)).clean == ()
    assert len(hook.calls) == 1


@pytest.mark.parametrize(("when", "resets"), [(ResetWhen.DIRTY, 2), (ResetWhen.EFFECTS, 1)])
async def test_a_job_without_recorded_effects_may_be_trusted_to_have_had_none(when: ResetWhen, resets: int) -> None:
    hook, journals = Hook(), Journals()
    async with Scheduler(
        [writer("1"), writer("2")], journals.sharing(), DirtySites(hook, ["shop"], when=when)
    ) as schedule:
        job = await taken(schedule, 0)
        outcome = journals.write(opened(of=job.task), acted(0))
        journals.outcomes["1", 0] = replace(outcome, closed="STOPPED", goes_on=False)
        await over(schedule, 0)
        assert (await taken(schedule, 0)).clean == ("shop",)
    assert len(hook.calls) == resets


async def test_sites_that_can_only_be_reset_all_at_once_are_held_all_by_who_may_change_one() -> None:
    hook = Hook()
    upkeep = DirtySites(hook, ["shop", "forum"], together=["shop", "forum"])
    sharing = Journals().sharing(together=["shop", "forum"])
    async with Scheduler([writer("1"), writer("2", "forum")], sharing, upkeep) as schedule:
        assert ids(await taken(schedule, 0)) == ["1"]
        assert not (await asking(schedule, 1)).done()
        await over(schedule, 0)
        assert ids(schedule.held[1]) == ["2"]
    assert {frozenset(call) for call in hook.calls} == {frozenset({"http://shop.a", "http://forum.a"})}


async def test_of_sites_of_its_own_a_lane_finds_every_one_reset() -> None:
    hook = Hook()
    sites = {"shop": ("shop",), "forum": ("forum",)}
    sharing = Journals().sharing(sites, of_lane=lambda site, lane: f"http://t{lane}.{site}")
    async with Scheduler([writer("1"), writer("2")], sharing, DirtySites(hook, sites)) as schedule:
        first, second = await taken(schedule, 0), await taken(schedule, 1)
        assert (first.clean, first.instances) == (("shop", "forum"), {})
        assert (ids(second), second.clean) == (["2"], ("shop", "forum"))
    assert hook.calls == [("http://t0.shop", "http://t0.forum"), ("http://t1.shop", "http://t1.forum")]


@pytest.mark.parametrize(
    ("wandered", "again"), [(False, {"http://t0.shop"}), (True, {"http://t0.shop", "http://t0.forum"})]
)
async def test_of_a_lanes_own_sites_those_are_reset_again_that_were_used(*, wandered: bool, again: set[str]) -> None:
    hook, journals = Hook(), Journals()
    sites = {"shop": ("shop",), "forum": ("forum",)}
    sharing = journals.sharing(sites, of_lane=lambda site, lane: f"http://t{lane}.{site}")
    async with Scheduler([writer("1"), writer("2")], sharing, DirtySites(hook, sites)) as schedule:
        job = await taken(schedule, 0)
        changing(journals, job, ended=True)
        if wandered:
            outcome = journals.outcomes["1", 0]
            journals.outcomes["1", 0] = replace(outcome, effects=(*outcome.effects, "http://forum.localhost/post"))
        await over(schedule, 0)
        await taken(schedule, 0)
    assert set().union(*map(set, hook.calls[1:])) == again


async def test_a_new_attempt_is_told_where_the_one_before_it_still_is() -> None:
    journals = Journals()
    async with Scheduler([writer("1")], journals.sharing()) as schedule:
        job = await taken(schedule, 0)
        assert job.leftovers == ()
        changing(journals, job, ended=True)
        await schedule.settle(0, schedule.held[0], over=False)
        assert (await taken(schedule, 0)).leftovers == ("shop",)


async def test_all_instances_of_a_task_are_put_back_together() -> None:
    hook = Hook()
    upkeep = DirtySites(hook, ["shop", "forum"])
    async with Scheduler([writer("1", "shop", "forum")], Journals().sharing(), upkeep) as schedule:
        await taken(schedule, 0)
    assert hook.calls == [("http://shop.a", "http://forum.a")]


async def test_as_many_instances_are_put_back_at_once_as_lanes_wait() -> None:
    hook = Hook(gated=True)
    jobs = [writer(str(number)) for number in range(8)]
    async with Scheduler(jobs, Journals().sharing(FOUR), DirtySites(hook, ["shop"])) as schedule:
        lanes = [await asking(schedule, lane) for lane in range(3)]
        assert len(hook.calls) == 3
        hook.gate.set()
        await turns()
        given = sorted(job.instances["shop"] for job in schedule.held.values())
        assert given == sorted(url for (url,) in hook.calls[:3])
        assert all(lane.done() for lane in lanes) and len(hook.calls) == 4, "the spare one is ready for the next job"


async def test_spare_instances_are_put_back_while_jobs_are_played_and_no_lane_waits() -> None:
    hook, journals = Hook(), Journals()
    jobs = [writer(str(number)) for number in range(5)]
    async with Scheduler(jobs, journals.sharing(FOUR), DirtySites(hook, ["shop"])) as schedule:
        first = await taken(schedule, 0)
        await turns()
        assert hook.calls == [("http://shop.a",), ("http://shop.b",)], "one lane plays, and one spare is ready"
        hook.gate.clear()  # from here on a reset does not end
        changing(journals, first, ended=True)
        await over(schedule, 0)
        assert (await taken(schedule, 0)).instances == {"shop": "http://shop.b"}
        await turns()
        assert hook.calls[2:] == [("http://shop.a",), ("http://shop.c",)], "what was left, and the next spare"
        hook.gate.set()


async def test_spare_instances_of_a_site_that_cannot_be_put_back_are_left_until_they_are_needed() -> None:
    hook, journals = Hook(), Journals()
    jobs = [writer(str(number)) for number in range(3)] + [reader("3", "forum")]
    async with Scheduler(jobs, journals.sharing(FOUR), DirtySites(hook, ["shop"])) as schedule:
        hook.error = SiteUnavailable("shop is down")
        await taken(schedule, 0)  # on the forum; the shop's first instance is tried for this lane
        assert (await taken(schedule, 1)).withheld == "shop is down"
        await turns()
        schedule.look_again()
        await turns()
        assert hook.calls == [("http://shop.a",)]


async def test_no_spare_instance_is_put_back_once_the_run_is_stopping() -> None:
    hook, journals = Hook(), Journals()
    stopping: list[bool] = []
    upkeep = DirtySites(hook, ["shop"])
    jobs = [writer("1"), writer("2")]
    async with Scheduler(jobs, journals.sharing(FOUR), upkeep, stopping=lambda: bool(stopping)) as schedule:
        hook.gate.clear()
        waiting = await asking(schedule, 0)
        stopping.append(True)
        hook.gate.set()
        await turns()
        assert hook.calls == [("http://shop.a",)] and waiting.result() is None


async def test_when_only_asked_for_only_tasks_that_ask_are_preceded_by_a_reset() -> None:
    hook, journals = Hook(), Journals()
    upkeep = DirtySites(hook, ["shop"], when=ResetWhen.ASKED)
    asks = [a_job("3", require_reset=True), a_job("4", require_reset=True)]
    async with Scheduler([writer("1"), *asks], journals.sharing(), upkeep) as schedule:
        changing(journals, await taken(schedule, 0), ended=True)
        await over(schedule, 0)
        assert hook.calls == []
        await taken(schedule, 0)
        await over(schedule, 0)
        await taken(schedule, 0)
    assert hook.calls == [("http://shop.a",), ("http://shop.a",)]


@pytest.mark.parametrize("leaving", [True, False])
async def test_a_hook_that_fails_ends_the_run(leaving: bool) -> None:
    hook, journals = Hook(), Journals()
    hook.error = None if leaving else ConfigError("no")
    with pytest.raises(ExceptionGroup) as failed:
        async with Scheduler([writer("1"), writer("2")], journals.sharing(), DirtySites(hook, ["shop"])) as schedule:
            changing(journals, await taken(schedule, 0), ended=True)
            hook.error = ConfigError("no")
            await over(schedule, 0)
            await taken(schedule, 0)
    assert failed.group_contains(ConfigError, match="no")


async def test_a_site_that_cannot_be_put_back_now_costs_the_task_an_attempt_and_nobody_else_anything() -> None:
    hook, journals = Hook(), Journals()
    hook.error = SiteUnavailable("shop is down")
    jobs = [writer("1"), writer("2", "forum")]
    async with Scheduler(jobs, journals.sharing(FOUR), DirtySites(hook, ["shop"])) as schedule:
        assert ids(await taken(schedule, 0)) == ["2"]
        withheld = await taken(schedule, 1)
        assert ids(withheld) == ["1"]
        assert (withheld.withheld, withheld.instances) == ("shop is down", {"shop": "http://shop.a"})
        hook.error = None
        await schedule.settle(1, withheld, over=False)
        again = await taken(schedule, 1)
        assert (again.withheld, again.instances) == ("", {"shop": "http://shop.b"}), "the next instance is tried"
    assert hook.calls == [("http://shop.a",), ("http://shop.b",)]


async def test_an_instance_that_was_left_and_could_not_be_put_back_is_tried_again_before_it_is_used() -> None:
    hook, journals = Hook(), Journals()
    async with Scheduler([writer("1"), writer("2")], journals.sharing(), DirtySites(hook, ["shop"])) as schedule:
        changing(journals, await taken(schedule, 0), ended=True)
        hook.error = SiteUnavailable("shop is down")
        await over(schedule, 0)
        hook.error = None
        assert (await taken(schedule, 0)).withheld == ""
    assert len(hook.calls) == 3


async def test_an_interrupted_run_leaves_the_sites_as_they_are() -> None:
    hook, journals = Hook(), Journals()
    stopping: list[bool] = []
    upkeep = DirtySites(hook, ["shop"])
    async with Scheduler([writer("1")], journals.sharing(), upkeep, stopping=lambda: bool(stopping)) as schedule:
        changing(journals, await taken(schedule, 0), ended=True)
        stopping.append(True)
        await over(schedule, 0)
    assert len(hook.calls) == 1
