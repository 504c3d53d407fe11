"""Workers as supervised child processes: each may die, hang or be frozen, and the run goes on.

A worker that is gone, or silent for too long, is ended with everything it started; its jobs are owed again, and
their journals say where to go on. A job under which workers die again and again without getting one record further is
recorded as failed, so that one task cannot hold up a run for ever.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.errors import JournalError, UsageError
from harness.protocols import News, Progress
from harness.records import Failed, Task
from harness.runner.episode import Job, Log
from harness.runner.executors.wire import LINE_LIMIT, job_values, line, messages, news_of
from harness.runner.family import kill_tree
from harness.runner.schedule import Schedule
from harness.runner.stopping import Stopping

logger = logging.getLogger(__name__)

WATCH_EVERY_S = 0.5
START_S = 60.0
"""Until a worker is first heard; on a busy machine its imports alone take longer than it may later be silent."""
STARTS_WITHOUT_WORK = 5
"""A worker that dies so often before it takes a job is broken, not unlucky."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """When a worker is given up."""

    silence_s: float
    """Without a heartbeat; longer than any pause a healthy process makes."""
    step_s: float
    """One step of an episode; waiting for the model is not counted."""
    task_s: float | None = None
    """One stay on a task."""
    deaths: int = 3
    """Workers lost under one job without a new record, before the job counts as failed."""


@dataclass
class Counts:
    """What workers did, dead ones included."""

    model_requests: int = 0
    browser_starts: int = 0
    newest: dict[int, tuple[int, int]] = field(default_factory=dict)

    def take(self, worker: int, requests: int, starts: int) -> None:
        before = self.newest.get(worker, (0, 0))
        self.model_requests += requests - before[0]
        self.browser_starts += starts - before[1]
        self.newest[worker] = (requests, starts)

    def restarted(self, worker: int) -> None:
        self.newest.pop(worker, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervision:
    """What all supervisors of a run share."""

    command: Sequence[str]
    """Starts a worker process."""
    hello: Callable[[int], dict[str, Any]]
    """Worker number to what it is told first."""
    log: Path
    """Takes what workers write to stderr."""
    lanes: int
    schedule: Schedule
    journals: Callable[[Task, int], AbstractContextManager[Log]]
    progress: Progress
    stopping: Stopping
    terms: Terms
    clock: Callable[[], float] = time.time


async def run_processes(supervision: Supervision, workers: int) -> Counts:
    """Play with `workers` processes until nothing is owed or the run is stopping.

    Raises:
        UsageError: A worker says that the person must act, or workers do not come up.
    """
    counts = Counts()
    async with asyncio.TaskGroup() as group:
        for number in range(workers):
            group.create_task(Supervisor(supervision, number, counts).run())
    return counts


class Supervisor:
    """Keeps one worker process going."""

    def __init__(self, supervision: Supervision, number: int, counts: Counts) -> None:
        self._all = supervision
        self._number = number
        self._counts = counts
        self._lanes = range(number * supervision.lanes, (number + 1) * supervision.lanes)
        self._heard = 0.0
        self._spoke = False
        self._since: dict[int, tuple[str, float, float]] = {}
        self._deaths: Counter[tuple[str, int, int]] = Counter()
        self._idle: set[int] = set()

    async def run(self) -> None:
        fruitless = 0
        while not self._all.stopping() and (len(self._all.schedule) or self._holds()):
            taken = self._all.schedule.played
            ended = await self._one_life()
            for lane in self._lanes:
                await self._reclaim(lane)
            if ended:
                return
            fruitless = fruitless + 1 if self._all.schedule.played == taken else 0
            if fruitless >= STARTS_WITHOUT_WORK:
                raise UsageError(
                    f"worker {self._number} ended {fruitless} times before it began a task; run.log and worker.log say why"
                )

    def _holds(self) -> bool:
        return any(lane in self._all.schedule.held for lane in self._lanes)

    async def _one_life(self) -> bool:
        """Run one process to its end; True when it left because nothing was owed."""
        with self._all.log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *self._all.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                limit=LINE_LIMIT,
            )
        assert process.stdin is not None and process.stdout is not None
        self._heard, self._spoke, self._since, self._idle = time.monotonic(), False, {}, set()
        self._counts.restarted(self._number)
        self._send(process, line("hello", **self._all.hello(self._number)))
        try:
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(self._watch(process))
                telling = group.create_task(self._tell_stop(process))
                giving: set[asyncio.Task[None]] = set()
                async for message in messages(process.stdout):
                    if message["kind"] == "take":  # a job may have to be waited for; others are heard meanwhile
                        giving.add(group.create_task(self._give(process, message["lane"])))
                    await self._hear(process, message)
                for task in (watching, telling, *giving):
                    task.cancel()
        finally:
            kill_tree(process.pid)
            code = await process.wait()
        logger.info("worker %d ended with code %d", self._number, code)
        return code == 0

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """End the process when it is silent or one of its lanes is stuck; its pipe then ends, too."""
        while (why := self._overdue()) is None:  # noqa: ASYNC110 (what is waited for is that nothing happens)
            await asyncio.sleep(WATCH_EVERY_S)
        logger.warning("worker %d is ended: %s", self._number, why)
        self._all.progress.tell(News(lane=self._lanes[0], task_id="", phase="retrying", note=f"worker ended: {why}"))
        kill_tree(process.pid)

    def _overdue(self) -> str | None:
        now, terms = time.monotonic(), self._all.terms
        silence_s = terms.silence_s if self._spoke else max(START_S, terms.silence_s)
        if now - self._heard > silence_s:
            return f"no sign of life for {silence_s:g} s"
        for lane, (phase, since, begun) in self._since.items():
            if phase in ("acting", "gathering", "restoring") and now - since > terms.step_s:
                return f"lane {lane} has been {phase} for {terms.step_s:g} s"
            if terms.task_s is not None and phase != "idle" and now - begun > terms.task_s:
                return f"lane {lane} has been on one task for {terms.task_s:g} s"
        return None

    async def _tell_stop(self, process: asyncio.subprocess.Process) -> None:
        await self._all.stopping.asked()
        self._send(process, line("stop"))

    async def _hear(self, process: asyncio.subprocess.Process, message: dict[str, Any]) -> None:
        self._heard, self._spoke = time.monotonic(), True
        match message["kind"]:
            case "settle":
                lane = message["lane"]
                await self._all.schedule.settle(
                    lane, replace(self._all.schedule.held[lane], reopen=False), over=message["over"]
                )
            case "news":
                self._note(news_of(message))
            case "counts":
                self._counts.take(self._number, message["requests"], message["starts"])
            case "refused":
                raise (JournalError if message["journal"] else UsageError)(message["sentence"])

    async def _give(self, process: asyncio.subprocess.Process, lane: int) -> None:
        job = await self._all.schedule.take(lane)
        self._send(process, line("job", lane=lane, **job_values(job)))

    def _note(self, news: News) -> None:
        if news.task_id or news.phase == "idle":
            now = time.monotonic()
            begun = self._since.get(news.lane, ("", now, now))[2] if news.phase != "restoring" else now
            self._since[news.lane] = (news.phase, now, begun)
        self._all.progress.tell(news)

    def _send(self, process: asyncio.subprocess.Process, data: bytes) -> None:
        assert process.stdin is not None
        if not process.stdin.is_closing():
            process.stdin.write(data)

    async def _reclaim(self, lane: int) -> None:
        job = self._all.schedule.reclaim(lane)
        if job is None or self._all.stopping():
            return
        with self._all.journals(job.task, job.trial) as journal:
            self._count_death(job, journal)
        self._all.progress.tell(
            News(lane=lane, task_id=job.task.task_id, trial=job.trial, phase="retrying", note="its worker was lost")
        )

    def _count_death(self, job: Job, journal: Log) -> None:
        episode = journal.episode
        if episode.opened is None or episode.closed is not None:
            return
        place = (job.task.task_id, job.trial, len(episode.steps) * 2 + (episode.pending is not None))
        self._deaths[place] += 1
        if self._deaths[place] < self._all.terms.deaths:
            return
        del self._deaths[place]
        journal.append(
            Failed(
                attempt=episode.attempt,
                boundary="worker",
                type="WorkerLost",
                message=f"{self._all.terms.deaths} workers were lost at step {len(episode.steps) + 1}",
                at=self._all.clock(),
            )
        )
