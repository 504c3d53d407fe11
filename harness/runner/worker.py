"""A worker: one browser and several lanes, each of which runs one job after the other."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from harness.episode.background import SerialWriter, cancellation_as_error
from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.episode.recorder import EpisodeDeps, JournalWriter
from harness.errors import BrowserLost, EpisodeLeft, InfraError, SiteUnavailable, said_by
from harness.journal.index import EpisodeResult, result_of
from harness.protocols import EnvironmentFactory, Phase, ProgressEvent
from harness.records import Task
from harness.runner.pending import PendingPolicy, is_finished

logger = logging.getLogger(__name__)


class JobSource(Protocol):
    """The source of jobs for a lane, in this process or in the supervisor."""

    async def take(self, lane: int) -> Job | None:
        """The next job for a lane, or None when nothing is waiting."""
        ...

    async def settle(
        self, lane: int, job: Job, *, over: bool, site_down: bool = False, outcome: EpisodeResult | None = None
    ) -> None:
        """Say that a lane has left a job; one that has not ended is pending again.

        Args:
            over: Whether the job has ended.
            site_down: Whether a site was gone.
            outcome: What its journal holds now; None = who needs it reads it there.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """How a job was left."""

    over: bool
    """False = it is still pending, and is to be played again in this start."""
    alone: bool
    """It is to be played in a separate browser."""
    site_down: bool = False
    """A site of its was gone."""
    outcome: EpisodeResult | None = None
    """What its journal holds now; None = nothing yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """The dependencies of its lanes; the browser starts when the first episode needs it."""

    deps: Callable[[int], Awaitable[EpisodeDeps]]
    """Lane number to what its episodes share, made for the first one: most lanes of a small run never have a job."""
    pool: EnvironmentFactory
    journals: Callable[[Task, int], AbstractContextManager[JournalWriter]]
    """Opens the journal of a (task, trial) for writing."""
    policy: PendingPolicy

    async def run_lane(self, lane: int, jobs: JobSource) -> None:
        """Run jobs until none is pending or the run is stopping.

        Raises:
            InfraError: The lane was cancelled without a request; the caller has to put its job back.
        """
        # A `TaskGroup` takes a cancelled lane for one that has ended, and its job would be lost without a word.
        with cancellation_as_error(f"lane {lane} ended"):
            await self._run_lane(lane, jobs)

    async def _run_lane(self, lane: int, jobs: JobSource) -> None:
        deps: EpisodeDeps | None = None
        while deps is None or not deps.stopping():
            job = await jobs.take(lane)
            if job is None:
                break
            if deps is None:
                # Only when it has a job: the constructor of an agent may load a model.
                deps = await self.deps(lane)
            left = await self._run(job, lane, deps)
            await jobs.settle(
                lane,
                replace(job, alone=left.alone or job.alone),
                over=left.over,
                site_down=left.site_down,
                outcome=left.outcome,
            )
        if deps is not None:
            deps.progress.tell(ProgressEvent(lane=lane, task_id="", phase=Phase.idle))

    async def _run(self, job: Job, lane: int, deps: EpisodeDeps) -> "_Left":
        """Run one job as far as possible."""
        async with self._opened(job, deps.write) as journal:
            runner = EpisodeRunner(deps, job, journal, lane=lane)
            note, alone, site_down = "", False, False
            try:
                if journal.episode.closed is None or job.reopens(journal.episode.attempt):
                    await runner.play(self.pool.open(job.task, lane, job.instances, alone=job.alone))
                await runner.score()
            except EpisodeLeft as error:
                if (left := result_of(journal.episode)) is not None:
                    deps.progress.tell(self._event(lane, left, over=True, note=said_by(error)))
                return _Left(over=True, alone=False, outcome=left)
            except InfraError as error:
                # Which of its episodes broke a browser shows when each is alone in one.
                note, alone = said_by(error), isinstance(error, BrowserLost)
                site_down = isinstance(error, SiteUnavailable)
            became = result_of(journal.episode)
            over = became is not None and is_finished(became, self.policy)
            if became is not None and (over or note):
                deps.progress.tell(self._event(lane, became, over=over, note=note))
        logger.info("task %s trial %d: %s", job.task.task_id, job.trial, "over" if over else f"still pending: {note}")
        return _Left(over=over, alone=alone, site_down=site_down, outcome=became)

    @asynccontextmanager
    async def _opened(self, job: Job, write: SerialWriter) -> AsyncIterator[JournalWriter]:
        """The job's journal; it is opened, read and closed by its writer."""
        opening = self.journals(job.task, job.trial)
        # Opening waits for the disk, too, and on the event loop it would hold up the other lanes.
        journal = await write(opening.__enter__)
        try:
            yield journal
        finally:
            await write(partial(opening.__exit__, None, None, None))

    def _event(self, lane: int, became: EpisodeResult, *, over: bool, note: str) -> ProgressEvent:
        score = became.scores.get(self.policy.dialect)
        return ProgressEvent(
            lane=lane,
            task_id=became.task_id,
            trial=became.trial,
            phase=Phase.ended if over else Phase.retrying,
            step=became.steps,
            note=note,
            usage=became.usage,
            score=None if score is None else score.value,
        )
