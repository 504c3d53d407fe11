"""A worker: one browser, several lanes, each playing one owed job after the other."""

import logging
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from harness.errors import InfraError
from harness.protocols import EnvironmentPool, News
from harness.records import Episode, Task
from harness.runner.episode import EpisodeRunner, Job, Kit, Log
from harness.runner.plan import Policy, is_over
from harness.runner.schedule import Schedule

logger = logging.getLogger(__name__)


class Journals(Protocol):
    """Opens the journal of a (task, trial) for writing."""

    def __call__(self, task: Task, trial: int) -> AbstractContextManager[Log]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """Everything a lane needs; the browser starts when the first episode wants it."""

    kit: Kit
    pool: EnvironmentPool
    journals: Journals
    policy: Policy

    async def run_lane(self, lane: int, schedule: Schedule) -> None:
        """Play jobs until none is waiting or the run is stopping."""
        while not self.kit.stopping():
            job = schedule.take()
            if job is None:
                break
            if not await self._run(job, lane):
                schedule.give_back(replace(job, reopen=False))
        self.kit.progress.tell(News(lane=lane, task_id="", phase="idle"))

    async def _run(self, job: Job, lane: int) -> bool:
        """Play one job as far as it goes; False = still owed in this run."""
        with self.journals(job.task, job.trial) as journal:
            runner = EpisodeRunner(self.kit, job, journal, lane=lane)
            note = ""
            try:
                if journal.episode.closed is None or job.reopen:
                    await runner.play(self.pool.open(job.task, lane))
                await runner.score()
            except InfraError as error:
                note = str(error)
            over = is_over(journal.episode, self.policy)
            if over or note:
                self.kit.progress.tell(_news(job, lane, episode=journal.episode, note=note, policy=self.policy))
            logger.info("task %s: %s", job.task.task_id, "ended" if over else f"still owed {note}")
            return over or self.kit.stopping()


def _news(job: Job, lane: int, *, episode: Episode, note: str, policy: Policy) -> News:
    score = episode.scores.get(policy.dialect)
    return News(
        lane=lane,
        task_id=job.task.task_id,
        trial=job.trial,
        phase="ended" if is_over(episode, policy) else "retrying",
        step=len(episode.steps),
        note=note,
        usage=episode.total_usage,
        score=None if score is None else score.value,
    )
