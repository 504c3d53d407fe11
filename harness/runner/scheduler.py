"""Assigns the pending jobs to lanes: a queue that takes back jobs after infrastructure failures and locks sites.

On shared sites a lane gets the first job in order for which all instances are free, and locks all of them at once; no
job waits while it holds a lock, so there is no deadlock. A job that others overtook `MAX_SKIPS` times on its sites has
its instances reserved, the oldest such job first, so there is no starvation. Instances are reset in the background:
when a job leaves them, and where there are spare ones, before the next jobs want them. For one event loop only.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Self

from harness.episode.job import Job, unplaced
from harness.errors import InfraError
from harness.journal.index import EpisodeResult
from harness.journal.site_log import SiteInstance
from harness.records import Task
from harness.runner.dirty_sites import DirtySites
from harness.runner.lane_growth import LaneGrowth
from harness.runner.site_lock_table import SiteLockTable
from harness.runner.site_locks import LockableSites, LockPlanner, LockRequest
from harness.runner.site_outages import SiteOutages
from harness.runner.site_state import SiteState

logger = logging.getLogger(__name__)

# Enough for readers to go together before a writer, and few enough to bound the wait of every job.
MAX_SKIPS = 8


@dataclass(frozen=True, slots=True)
class _Stay:
    """The job of a lane, and its instances."""

    job: Job
    at: Mapping[str, str] = field(default_factory=dict)
    """Site to instance, of those it holds."""


class Scheduler:
    """Implements `JobSource`: jobs in order; one that is pending again goes to the end, so that a site or browser that
    fails gets time to recover.
    """

    def __init__(  # noqa: PLR0913 (what a queue is made of)
        self,
        jobs: Iterable[Job],
        sharing: LockPlanner | None = None,
        upkeep: DirtySites | None = None,
        *,
        outages: SiteOutages | None = None,
        keeps_sites: bool = False,
        is_open: bool = False,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Args:
            jobs: The pending jobs.
            sharing: The locks that jobs need on their sites; None = none.
            upkeep: Puts instances back to their seed, which needs `async with`; None = nothing does.
            outages: Holds instances back that are down for everybody; None = jobs are given them all the same.
            keeps_sites: Whether attempts go on upon what they left on their sites (`resume=checkpoint`), not after a
                reset.
            is_open: Whether lanes without a job wait for those that `add` brings, until the run is stopping.
            stopping: True once nothing new shall begin.
        """
        self._pending = deque(jobs)
        self._sharing = sharing or LockPlanner(LockableSites(instances={}), (), lambda *_: None)
        self._upkeep = upkeep or DirtySites(_nothing, ())
        self._outages = outages
        self._state = SiteState(self._sharing, self._upkeep, keeps_sites=keeps_sites)
        self.is_open = is_open
        self.growth: LaneGrowth | None = None
        """Which lanes may take a job; None = all."""
        self._stopping = stopping
        self._stays: dict[int, _Stay] = {}
        self._locks = SiteLockTable()
        self._used = Counter[str]()
        self._overtaken = Counter[Hashable]()
        """By key of the need: how often later jobs on the same sites went first."""
        self._waiting: dict[int, asyncio.Future[Job | None]] = {}
        self._change: Callable[[Job], Awaitable[Job]] | None = None
        self._is_equipped = asyncio.Event()
        self._resets = asyncio.TaskGroup()
        self._resetting: dict[object, Job | None] = {}
        """Running resets, and the job that waits for each one."""
        self._ahead: dict[object, Job] = {}
        """Running resets of spare instances, and the job each one is for; it may be played elsewhere."""
        self._unfit: set[str] = set()
        """Sites whose last reset failed: they are reset again when a job needs it, and not before."""
        self.waits: Mapping[int, str] = {}
        """Lanes without a job now, and which jobs hold their sites; for display, updated with every change."""
        self.played = 0
        """Jobs begun in this start; one that is begun again counts once."""

    def __len__(self) -> int:
        return len(self._pending)

    async def __aenter__(self) -> Self:
        await self._resets.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the resets that are running; one that fails cancels the body of the context."""
        await self._resets.__aexit__(kind, error, trace)

    @property
    def goes_on(self) -> bool:
        """Whether a lane that asks now would be given a job, at once or later."""
        return bool(self._pending) or (self.is_open and not self._stopping())

    @property
    def lacks_lanes(self) -> bool:
        """Whether jobs are pending that no lane asks for; where one does, they wait for sites."""
        return bool(self._pending) and all(waiting.done() for waiting in self._waiting.values())

    async def add(self, job: Job) -> None:
        """A further job, which is the last one in the order, equipped as those before."""
        await self._is_equipped.wait()
        self._pending.append(job if self._change is None else await self._change(job))
        self._hand_out()

    def withdraw(self, task_id: str, trial: int) -> bool:
        """Take a job out of the queue; False = it is not in it, but with a lane, or over."""
        found = self._queued(task_id, trial)
        for job in found:
            self._pending.remove(job)
        if found:
            self._hand_out()  # its sites may have been kept for it
        return bool(found)

    def held_up(self, task_id: str, trial: int) -> str:
        """Which jobs use the sites that a queued job waits for while lanes are free, in words; "" = none.

        What it may wait for then is a lane, a reset or a site that is down, and ends without the end of another job.
        """
        if self._sharing.sites.of_lane is not None or self.lacks_lanes:
            return ""
        used = {url for stay in self._stays.values() for url in stay.at.values()}
        held = list[str]()
        for job in self._queued(task_id, trial):
            need = self._sharing.need(job)
            at = self._aim(need, 0)
            _, wanted = self._locks_for(job, need, at)
            held += [
                site
                for site, url in at.items()
                if used.issuperset(need.choice(site, self._sharing.sites.at(site, 0)))
                and not self._locks.allows(url, exclusive=wanted[url])
            ]
        return self._users(held)

    def _queued(self, task_id: str, trial: int) -> list[Job]:
        return [job for job in self._pending if (job.task.task_id, job.trial) == (task_id, trial)]

    def look_again(self) -> None:
        """Lanes that wait are given jobs if they may have some now; a run that is stopping has none for them."""
        self._hand_out()

    async def equip(self, change: Callable[[Job], Awaitable[Job]]) -> None:
        """Change each pending job before the first one is handed out, and later those that are added."""
        self._change = change
        self._pending = deque(await asyncio.gather(*map(change, self._pending)))
        self._is_equipped.set()

    @property
    def pending(self) -> tuple[Job, ...]:
        """The jobs that no lane has taken."""
        return tuple(self._pending)

    @property
    def believed(self) -> int:
        """The number of jobs that lock sites only because nothing is known about their tasks."""
        return sum(map(self._sharing.is_believed, self._pending))

    @property
    def held(self) -> Mapping[int, Job]:
        """Lane to its current job."""
        return {lane: stay.job for lane, stay in self._stays.items()}

    async def take(self, lane: int) -> Job | None:
        waiting: asyncio.Future[Job | None] = asyncio.get_running_loop().create_future()
        self._waiting[lane] = waiting
        self._hand_out()
        try:
            return await waiting
        finally:
            self._waiting.pop(lane, None)

    @property
    def site_pauses(self) -> Mapping[str, float]:
        """Site to the seconds for which jobs were not given one of its instances, as it was down."""
        return {} if self._outages is None else dict(self._outages.pauses)

    async def settle(
        self, lane: int, job: Job, *, over: bool, site_down: bool = False, outcome: EpisodeResult | None = None
    ) -> None:
        # A stopping run plays nothing again; the journal says what is pending.
        over = over or self._stopping()
        stay = self._leave(lane)
        if stay is not None:
            self._look_after(stay, over=over, site_down=site_down)
        if not over:
            self.played -= 1
            self._pending.append(unplaced(job))
        self._give_back(lane, stay, outcome, over=over)

    def reclaim(self, lane: int, *, last: bool = False) -> Job | None:
        """Put the job of a lost lane back into the queue: at its head, as it is half done, or at its end (`last`)."""
        stay = self._leave(lane)
        if stay is not None:
            self.played -= 1
            (self._pending.append if last else self._pending.appendleft)(unplaced(stay.job))
        self._give_back(lane, stay)
        return None if stay is None else stay.job

    def _leave(self, lane: int) -> _Stay | None:
        if (waiting := self._waiting.pop(lane, None)) is not None:
            waiting.cancel()
        if self.growth is not None and lane in self._stays:
            self.growth.ends(lane)
        return self._stays.pop(lane, None)

    def _look_after(self, stay: _Stay, *, over: bool, site_down: bool) -> None:
        """Hold the instances of a job that found a site gone back until they have been asked."""
        if self._outages is None:
            return
        if over and not site_down:
            self._outages.answered(stay.at.values())
        for instance in map(SiteInstance._make, stay.at.items() if site_down else ()):
            if self._outages.suspect(instance):
                self._resets.create_task(self._follow(instance, self._outages))

    async def _follow(self, instance: SiteInstance, outages: SiteOutages) -> None:
        await outages.follow(instance, lambda: self.goes_on and not self._stopping())
        self._hand_out()

    def _is_down(self, urls: Iterable[str]) -> bool:
        return self._outages is not None and self._outages.holds(urls)

    def _give_back(
        self, lane: int, stay: _Stay | None, outcome: EpisodeResult | None = None, *, over: bool = False
    ) -> None:
        if stay is not None:
            outcome = self._sharing.learn(stay.job, outcome, over=over)
            self._locks.release(lane, stay.at.values())
            if outcome is not None:
                self._state.note_use(stay.job, stay.at, outcome)
                # A reset would hold up a run that is stopping; the sites stay marked as dirty.
                if not outcome.goes_on and not self._stopping():
                    self._put_back(stay)
        self._hand_out()

    def _put_back(self, stay: _Stay) -> None:
        left = (SiteInstance(site, url) for site, url in stay.at.items() if self._locks.allows(url, exclusive=True))
        if due := tuple(instance for instance in left if self._upkeep.is_due(instance)):
            self._reset(due, stay.job)

    def _hand_out(self) -> None:
        """Assign jobs to waiting lanes, to the longest waiting one first."""
        for lane, waiting in list(self._waiting.items()):
            if waiting.done():
                continue
            if not self.goes_on or self._stopping():
                waiting.set_result(None)
            elif not self._pending:
                break
            elif not self._admits(lane):
                continue
            elif (stay := self._next(lane)) is not None:
                self._stays[lane] = stay
                if self.growth is not None:
                    self.growth.begins(lane)
                self.played += 1
                self._locks.hold(lane, _by_url(self._sharing.need(stay.job), stay.at))
                waiting.set_result(stay.job)
            else:
                assert self._stays or self._resetting or self._outages, "a job waits although its sites are free"
                if self._sharing.sites.of_lane is None:
                    break  # no other lane can be given anything either
        self._prepare()
        waiting_lanes = [
            lane
            for lane, waiting in self._waiting.items()
            if not waiting.done() and self._pending and self._admits(lane)
        ]
        self.waits = dict.fromkeys(waiting_lanes, self._in_the_way()) if waiting_lanes else {}

    def _admits(self, lane: int) -> bool:
        return self.growth is None or self.growth.admits(lane)

    def _prepare(self) -> None:
        """While jobs are played, reset spare instances for those that come next, so that no lane waits for a reset."""
        if not self._upkeep.resettable or self._stopping() or self._sharing.sites.of_lane is not None:
            return
        kept: dict[str, bool] = {}
        # By identity: a `Job` holds mappings and cannot be hashed.
        prepared = {id(job) for job in (*self._resetting.values(), *self._ahead.values())}
        # As many as are being played: no more can follow at once when these have ended.
        for job in islice(self._pending, len(self._stays)):
            if id(job) in prepared:
                continue
            need = self._sharing.need(job)
            # With any lane, as shared sites are the same for all.
            at = self._aim(need, 0, kept)
            kept |= _by_url(need, at)
            unclean = () if len(at) < len(need.exclusive) else self._state.unclean(job, at)
            free = all(self._locks.allows(one.url, exclusive=True) for one in unclean)
            if unclean and free and self._unfit.isdisjoint(one.site for one in unclean):
                self._ahead[self._reset(unclean, job)] = job

    def _in_the_way(self) -> str:
        """The jobs that hold the sites of the first pending job, in words."""
        if self._sharing.sites.of_lane is not None:
            return "its sites are being reset"
        there = self._sharing.need(self._pending[0]).exclusive
        if down := [site for site in there if self._is_down(self._sharing.sites.instances.get(site, ()))]:
            return f"{', '.join(down)} {'is' if len(down) == 1 else 'are'} down"
        return self._users(there) or f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} being reset"

    def _users(self, sites: Iterable[str]) -> str:
        """The jobs that are on some of these sites, in words; "" = none is."""
        on = {
            stay.job.task.task_id: [site for site in sites if site in stay.at]
            for stay in self._stays.values()
            if not stay.at.keys().isdisjoint(sites)
        }
        if not on:
            return ""
        used = ", ".join(site for site in sites if any(site in there for there in on.values()))
        return f"task{'s' * (len(on) > 1)} {', '.join(on)} {'uses' if len(on) == 1 else 'use'} {used}"

    def _next(self, lane: int) -> _Stay | None:
        """Take the first job from the queue that the lane can run now."""
        passed: dict[Hashable, LockRequest] = {}
        kept: dict[str, bool] = {}
        prepared = {id(job) for job in self._resetting.values()}
        for number, job in enumerate(self._pending):
            # It takes no site: the lane only records the failure, since the scheduler has no journal.
            if job.withheld:
                del self._pending[number]
                return _Stay(job)
            need = self._sharing.need(job)
            # What needs the same and stands before it could not be placed, either.
            if need.key in passed or id(job) in prepared:
                continue
            at = self._place(job, lane, kept)
            if at is not None:
                given = self._given(job, at)  # first, as the disk may refuse what it writes
                del self._pending[number]
                self._count(need, passed.values())
                self._used.update(at.values())
                return _Stay(given, at)
            passed[need.key] = need
            # One job only: if each reserved instances, jobs on several sites would block each other on idle ones.
            if not kept and self._overtaken[need.key] >= MAX_SKIPS:
                aimed = self._aim(need, lane)
                kept = {} if self._is_down(aimed.values()) else _by_url(need, aimed)
        return None

    def _given(self, job: Job, at: Mapping[str, str]) -> Job:
        given = self._state.given(job, at)
        left = self._sharing.left_over(job, given.clean)
        since = self._sharing.used_since(job)
        return replace(given, instances=self._sharing.played_at(job, at), leftovers=left, used_since=since)

    def _count(self, granted: LockRequest, passed: Iterable[LockRequest]) -> None:
        del self._overtaken[granted.key]  # a `Counter` lets a key be deleted that it lacks
        self._overtaken.update(need.key for need in passed if need.conflicts(granted))

    def _aim(self, need: LockRequest, lane: int, kept: Mapping[str, bool] | None = None) -> dict[str, str]:
        """The instance of each site that the job would get, without those reserved for another job."""
        aimed: dict[str, str] = {}
        for site, alone in need.exclusive.items():
            urls = need.choice(site, self._sharing.sites.at(site, lane))
            free = [url for url in urls if kept is None or url not in kept or not (alone or kept[url])]
            if free:
                aimed[site] = min(free, key=partial(self._rank, site))
        return aimed

    def _rank(self, site: str, url: str) -> tuple[bool, int, bool, int]:
        """The least is the best instance: up, free, then clean, so that nobody waits for a reset, then rarely used."""
        dirty = not self._upkeep.is_clean(SiteInstance(site, url))
        return self._is_down((url,)), self._locks.load(url), dirty, self._used[url]

    def _place(self, job: Job, lane: int, kept: Mapping[str, bool]) -> dict[str, str] | None:
        """Where a lane can run a job now; None while its sites are locked or being reset."""
        need = self._sharing.need(job)
        at = self._aim(need, lane, kept)
        if len(at) < len(need.exclusive) or self._is_down(at.values()):
            return None
        unclean, wanted = self._locks_for(job, need, at)
        if not all(self._locks.allows(url, exclusive=alone) for url, alone in wanted.items()):
            return None
        if unclean:
            # One reset for each lane that waits; further ones would be for jobs that no lane can begin yet.
            asking = sum(not waiting.done() for waiting in self._waiting.values())
            if sum(job is not None for job in self._resetting.values()) < asking:
                self._reset(unclean, job, wanted_at=self._sharing.played_at(job, at))
            return None
        return at

    def _locks_for(
        self, job: Job, need: LockRequest, at: Mapping[str, str]
    ) -> tuple[tuple[SiteInstance, ...], dict[str, bool]]:
        """What has to be reset before a job can begin there, and the locks that it needs until then."""
        unclean = self._state.unclean(job, at)
        return unclean, _by_url(need, at) | dict.fromkeys((instance.url for instance in unclean), True)

    def _reset(
        self, instances: tuple[SiteInstance, ...], job: Job, *, wanted_at: Mapping[str, str] | None = None
    ) -> object:
        """Reset instances that no job uses, and give what holds their locks meanwhile.

        `wanted_at` is where a job that waits would be played, as it is recorded.
        """
        holder = object()
        urls = dict.fromkeys((instance.url for instance in instances), True)

        async def reset() -> None:
            try:
                # On the disk before the hook runs: a reset that is killed half-way leaves no known state.
                self._upkeep.begins(instances)
                begun = time.monotonic()
                await self._upkeep.hook(instances, job.task)
                self._upkeep.mark_clean(instances, took_s=time.monotonic() - begun)
                self._unfit -= {one.site for one in instances}
            except InfraError as error:
                logger.warning("task %s: %s", job.task.task_id, error)
                self._used.update(urls.keys())  # others of their sites come first now
                self._unfit |= {one.site for one in instances}
                if wanted_at is not None:
                    self._withhold(replace(job, instances=wanted_at, withheld=str(error)), job)
            finally:
                del self._resetting[holder]
                self._ahead.pop(holder, None)
                self._locks.release(holder, urls)
            self._hand_out()

        self._locks.hold(holder, urls)
        self._resetting[holder] = None if wanted_at is None else job
        self._resets.create_task(reset())
        return holder

    def _withhold(self, withheld: Job, job: Job) -> None:
        """Make a lane record that a job cannot run; it is pending again then, as after any failure."""
        for number, other in enumerate(self._pending):  # it may have been withdrawn meanwhile
            if other is job:
                self._pending[number] = withheld


async def _nothing(instances: tuple[SiteInstance, ...], task: Task) -> None:
    """The reset where no site is reset."""


def _by_url(need: LockRequest, at: Mapping[str, str]) -> dict[str, bool]:
    """Instance to whether its lock is exclusive; two sites may have one address."""
    wanted: dict[str, bool] = {}
    for site, url in at.items():
        wanted[url] = wanted.get(url, False) or need.exclusive[site]
    return wanted
