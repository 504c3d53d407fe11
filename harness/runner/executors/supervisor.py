"""Supervises worker processes: a worker may die, hang or be frozen, and the run continues.

A launch (`processes`, `ray`) starts a worker process and carries its bytes. A worker that exits or misses its
heartbeats is ended with its process tree; its jobs are pending again, and their journals say where they continue. If a
job that runs alone loses several workers at the same point, this counts as a failure of the job, as a browser crash
does, and the job is given up after `resume.max_attempts` (`worker_losses`).
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AbstractContextManager, closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from harness import __version__
from harness.api import AskHost, WorkerHandle
from harness.episode.job import Job
from harness.episode.recorder import JournalWriter
from harness.errors import HarnessError, JournalLocked, ShutdownRequested, UsageError
from harness.llm.permits import (
    AcquirePermit,
    EndPermit,
    PermitReply,
    RateLimiterServer,
    ReportOutage,
    ReportRejection,
)
from harness.protocols import Phase, Progress, ProgressEvent
from harness.records import Task
from harness.runner.executors.ipc import encode_message, read_messages
from harness.runner.executors.remote_store import StoreServer
from harness.runner.executors.worker_losses import GivenJobs, LossVerdict, WorkerLosses
from harness.runner.executors.worker_messages import (
    AppendRecord,
    CloseJournal,
    DropQuestion,
    ErrorInfo,
    GiveJob,
    Heartbeat,
    Hello,
    HostAnswer,
    HostQuestion,
    MeasureArtifact,
    Message,
    OpenJournal,
    Progressed,
    PutArtifact,
    ReadArtifact,
    SettleJob,
    StopWorker,
    StoreRequest,
    TakeJob,
    WorkerDone,
    WorkerFailed,
    WorkerSetup,
)
from harness.runner.scheduler import Scheduler
from harness.runner.shutdown import ShutdownSignal
from harness.working_time import working_s

logger = logging.getLogger(__name__)

WATCH_EVERY_S = 0.5
RETRY_EVERY_S = 0.05
"""Between two looks whether a journal is free."""
PLACE_LOOKS = 20
"""A worker that has no place yet after so many looks says so."""
START_S = 60.0
"""Until a worker is first heard; on a busy machine its imports alone take longer than it may later be silent."""
STARTS_WITHOUT_WORK = 5
"""A worker that dies so often before it takes a job is broken, not unlucky."""
LONGEST_PAUSE_S = 60.0
# On a busy machine, an import of NLTK silenced a worker, and each one after it at the same answer.
PATIENCE = 8
"""So many times as long as the first life of a worker may a later one be silent at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """When a worker is given up."""

    silence_s: float
    """Without a heartbeat; longer than any pause a healthy process makes."""
    step_s: float
    """One step of an episode; waiting for the model is not counted."""
    task_s: float | None = None
    """One stay on a task."""
    place_s: float = 30.0
    """Until a worker that has no place counts as down, where the run goes on without it."""
    pause_s: float = 1.0
    """Before the next start of a worker that keeps dying without a job, where the run goes on without it; each further
    pause is twice as long, up to `LONGEST_PAUSE_S`."""


@dataclass
class Counters:
    """What workers did, dead ones included."""

    browser_starts: int = 0
    newest: dict[int, int] = field(default_factory=dict)
    down: set[int] = field(default_factory=set)
    """Workers that are not started for a while."""

    def take(self, worker: int, starts: int) -> None:
        self.browser_starts += starts - self.newest.get(worker, 0)
        self.newest[worker] = starts

    def restarted(self, worker: int) -> None:
        self.newest.pop(worker, None)


Launch = Callable[[int], AbstractAsyncContextManager[WorkerHandle]]
"""Starts the worker process of a number; leaving the context has ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorConfig:
    """What all supervisors of a run share."""

    launch: Launch
    setup: Callable[[int], WorkerSetup]
    """Worker number to what it is made from."""
    rate_limiter: Callable[[Callable[[PermitReply], None]], RateLimiterServer]
    """Serves the run's rate limiter to a worker; takes the function that sends to the worker."""
    store: Callable[[], StoreServer]
    """Writes for a worker that cannot reach the run folder."""
    ask_host: AskHost
    lanes: int
    schedule: Scheduler
    journals: Callable[[Task, int], AbstractContextManager[JournalWriter]]
    progress: Progress
    stopping: ShutdownSignal
    timeouts: Timeouts
    losses: WorkerLosses


async def run_supervised(supervision: SupervisorConfig, workers: int) -> Counters:
    """Run `workers` worker processes until no job is pending or the run is stopping.

    Raises:
        UsageError: A worker says that the person must act, or workers do not come up.
    """
    counts = Counters()
    async with asyncio.TaskGroup() as group:
        for number in range(workers):
            group.create_task(Supervisor(supervision, number, counts, workers=workers).run())
    return counts


class Supervisor:
    """Keeps one worker process going."""

    def __init__(self, supervision: SupervisorConfig, number: int, counts: Counters, *, workers: int = 1) -> None:
        self._all = supervision
        self._number = number
        self._counts = counts
        self._lanes = range(number * supervision.lanes, (number + 1) * supervision.lanes)
        self._heard = 0.0
        self._silences = 0
        """Its lives that were ended for their silence."""
        self._spoke = False
        self._since: dict[int, tuple[Phase, float, float]] = {}
        self._company = self._nobody()
        self._workers = workers
        self._settled = False
        self._came_up = False
        """Whether a life of it has ever asked for a job: it is not a setting that keeps it from working."""
        self._done = False
        self._rate_limiter: RateLimiterServer | None = None
        self._asking: dict[int, asyncio.Task[None]] = {}
        """Questions of agents that are being answered."""

    async def run(self) -> None:
        fruitless = 0
        while not self._all.stopping() and (self._all.schedule.goes_on or self._holds()):
            ended = await self._one_life()
            # Before the jobs are taken back, which leaves neither.
            alone, holds = len(self._company.active) == 1, self._holds()
            until = working_s() + self._all.timeouts.silence_s
            begun = [await self._reclaim(lane, alone=alone, until=until) for lane in self._lanes]
            # A lane may have ended without a word, and left its job behind; or the worker alone was asked to end.
            if ended and not holds and not self._all.schedule.goes_on:
                return
            fruitless = 0 if self._settled or any(begun) else fruitless + 1
            if fruitless >= STARTS_WITHOUT_WORK:
                why = (
                    f"worker {self._number} ended {fruitless} times before it began a task; see run.log and worker.log"
                )
                if not (self._came_up and self._all.schedule.is_open):
                    raise UsageError(why)
                # Bounded, because a thousand doublings are too large for a float.
                doublings = min(fruitless - STARTS_WITHOUT_WORK, 10)
                await self._pause(why, min(LONGEST_PAUSE_S, self._all.timeouts.pause_s * 2**doublings))

    async def _pause(self, why: str, seconds: float) -> None:
        """Whoever serves a run must not end because of what keeps killing its workers: wait, and start it again."""
        logger.warning("%s; it is started again in %g s", why, seconds)
        self._counts.down.add(self._number)
        if len(self._counts.down) == self._workers:
            self._tell(Phase.stalled, f"{why}; it is started again in {seconds:g} s")
        with suppress(ShutdownRequested):
            await self._all.stopping.sleep(seconds)

    def _nobody(self) -> GivenJobs:
        return GivenJobs(self._all.losses, is_hosted=self._all.schedule.is_open)

    def _holds(self) -> bool:
        return any(lane in self._all.schedule.held for lane in self._lanes)

    async def _one_life(self) -> bool:
        """Run one process to its end; True when it left because no job was pending."""
        self._heard, self._spoke, self._since, self._done = working_s(), False, {}, False
        self._company, self._settled = self._nobody(), False
        # The new process counts from 0 again.
        self._counts.restarted(self._number)
        async with self._all.launch(self._number) as channel, self._all.store() as store:
            channel.send(encode_message(Hello(harness=__version__)))
            channel.send(encode_message(self._all.setup(self._number)))
            limiter = self._all.rate_limiter(lambda reply: channel.send(encode_message(reply)))
            # Closed with this life: permits that a dead worker held would stay taken.
            with closing(limiter) as self._rate_limiter:
                await self._attend(channel, store)
        logger.info("worker %d ended%s", self._number, "" if self._done else " before it had finished")
        return self._done

    async def _attend(self, channel: WorkerHandle, store: StoreServer) -> None:
        """Answer a worker process until it has ended."""
        async with asyncio.TaskGroup() as group:
            attending = {group.create_task(self._watch(channel)), group.create_task(self._tell_stop(channel))}
            async for message, data in read_messages(channel.output):
                self._heard, self._spoke = working_s(), True
                if (answering := self._answering(message, data, channel, store=store)) is None:
                    await self._hear(message)
                else:  # it may have to be waited for; others are heard meanwhile
                    attending.add(task := group.create_task(answering))
                    task.add_done_callback(attending.discard)
                    if isinstance(message, HostQuestion):
                        self._asking[message.id] = task
                        task.add_done_callback(partial(self._asking.pop, message.id))
            for task in attending:
                task.cancel()

    async def _watch(self, channel: WorkerHandle) -> None:
        """End the process when it is silent or one of its lanes is stuck; its messages then end, too."""
        if not await self._has_place(channel):
            await channel.kill()
            return
        while (why := self._overdue()) is None:  # noqa: ASYNC110 (what is waited for is that nothing happens)
            await asyncio.sleep(WATCH_EVERY_S)
        logger.warning("worker %d is stopped: %s", self._number, why)
        self._tell(Phase.retrying, f"worker stopped: {why}")
        await channel.kill()

    def _tell(self, phase: Phase, note: str) -> None:
        """Say something about the worker as a whole."""
        self._all.progress.tell(ProgressEvent(lane=self._lanes[0], task_id="", phase=phase, note=note))

    async def _has_place(self, channel: WorkerHandle) -> bool:
        """Wait until it has begun; False when it need not any more."""
        schedule, looks, each = self._all.schedule, 0, max(1, round(self._all.timeouts.place_s / WATCH_EVERY_S))
        note = f"worker {self._number} waits for resources on the cluster"
        while not channel.begun:
            if self._all.stopping() or not (schedule.goes_on or schedule.held):
                return False
            if (looks := looks + 1) == PLACE_LOOKS:
                self._tell(Phase.retrying, note)
            if schedule.is_open and schedule.lacks_lanes and looks % each == 0:
                self._tell(Phase.stalled, f"{note}, and no other has a free lane")
            await asyncio.sleep(WATCH_EVERY_S)
        self._heard = working_s()  # waiting for a place on a cluster is not silence
        return True

    def _overdue(self) -> str | None:
        now, timeouts = working_s(), self._all.timeouts
        # On a machine that is too busy to let it be heard, the next life would be ended at the same point, and so on.
        silence_s = timeouts.silence_s * min(2**self._silences, PATIENCE)
        silence_s = silence_s if self._spoke else max(START_S, silence_s)
        if now - self._heard > silence_s:
            self._silences += 1
            return f"no heartbeat for {silence_s:g} s"
        for lane, (phase, since, begun) in self._since.items():
            now = self._lane_time(lane)
            # Without `waiting`: how long a lane waits for its site is bounded by `browser.site_wait_s`.
            if phase in (Phase.acting, Phase.gathering, Phase.restoring) and now - since > timeouts.step_s:
                return f"lane {lane} has been {phase} for {timeouts.step_s:g} s"
            if timeouts.task_s is not None and phase != Phase.idle and now - begun > timeouts.task_s:
                return f"lane {lane} has been on one task for {timeouts.task_s:g} s"
        return None

    def _lane_time(self, lane: int) -> float:
        """A clock that stops while the lane waits in the rate limiter: such a wait does not mean that it hangs."""
        return working_s() - (self._rate_limiter.waited_s(lane) if self._rate_limiter else 0.0)

    async def _tell_stop(self, channel: WorkerHandle) -> None:
        await self._all.stopping.asked()
        channel.send(encode_message(StopWorker()))

    def _answering(
        self, message: Message, data: bytes | None, channel: WorkerHandle, *, store: StoreServer
    ) -> Coroutine[Any, Any, None] | None:
        """What has to be waited for; None = it is only heard."""
        match message:
            case TakeJob(lane=lane):
                self._came_up = True
                return self._give(channel, lane)
            case HostQuestion():
                return self._ask_host(channel, message, data or b"")
            case OpenJournal() | AppendRecord() | CloseJournal() | PutArtifact() | ReadArtifact() | MeasureArtifact():
                return self._answer(channel, store, message, data)
            case _:
                return None

    async def _hear(self, message: Message) -> None:
        match message:
            case SettleJob(lane=lane, over=over, alone=alone, site_down=site_down, outcome=outcome):
                self._company.leave(lane)
                self._since.pop(lane, None)  # it may wait long for its next job, whose time is its own
                self._settled = True
                self._counts.down.discard(self._number)
                job = replace(self._all.schedule.held[lane], alone=alone)
                await self._all.schedule.settle(lane, job, over=over, site_down=site_down, outcome=outcome)
            case Progressed(event=event):
                self._note(event)
                if self._all.stopping():  # `_tell_stop` goes first: a worker that is granted a permit after this knows
                    await asyncio.sleep(0)
            case Heartbeat(browser_starts=starts):
                self._counts.take(self._number, starts)
            case AcquirePermit() | EndPermit() | ReportOutage() | ReportRejection() if self._rate_limiter is not None:
                self._rate_limiter.hear(message)
            case DropQuestion(id=number):
                if (asking := self._asking.get(number)) is not None:
                    asking.cancel()
            case WorkerDone():
                self._done = True
            case WorkerFailed(error=error):
                raise error.error()

    async def _give(self, channel: WorkerHandle, lane: int) -> None:
        job = await self._all.schedule.take(lane)
        if job is not None:
            await self._company.admit(lane, job)
            if self._all.stopping():  # it may have waited long to be admitted
                self._company.leave(lane)
                self._all.schedule.reclaim(lane)
                job = None
        channel.send(encode_message(GiveJob(lane=lane, job=job)))

    async def _ask_host(self, channel: WorkerHandle, asked: HostQuestion, question: bytes) -> None:
        answer: bytes | None = None
        error: ErrorInfo | None = None
        try:
            answer = await self._all.ask_host(question)
        except HarnessError as failed:
            error = ErrorInfo.of(failed)
        channel.send(encode_message(HostAnswer(id=asked.id, error=error), answer))

    async def _answer(
        self, channel: WorkerHandle, store: StoreServer, request: StoreRequest, data: bytes | None
    ) -> None:
        channel.send(await store.answer(request, data))

    def _note(self, event: ProgressEvent) -> None:
        # It does not say what the lane does: taken for its phase, it would begin the time of the step anew.
        if event.phase == Phase.spending:
            return self._all.progress.tell(event)
        if event.task_id or event.phase in (Phase.idle, Phase.waiting, Phase.restoring):
            now = self._lane_time(event.lane)
            # A task that is played begins with `restoring`.
            begun = self._since.get(event.lane, (event.phase, now, now))[2] if event.phase != Phase.restoring else now
            self._since[event.lane] = (event.phase, now, begun)
        self._company.hear(event)
        self._all.progress.tell(event)

    async def _reclaim(self, lane: int, *, alone: bool, until: float) -> bool:
        """Take back what a lane of a lost worker was playing; whether the worker had begun it."""
        schedule, losses, job = self._all.schedule, self._all.losses, self._all.schedule.held.get(lane)
        # While the run stops, the loss of a worker says nothing of its jobs.
        if job is None or lane not in self._company.jobs or self._all.stopping():
            schedule.reclaim(lane)
            return False
        judge = partial(self._all.losses.judge, job, alone=alone, waited=self._company.waits(lane))
        loss = await self._judged(job, judge, until=until)
        if loss is not None and loss.over:
            await schedule.settle(lane, job, over=True)
        else:
            schedule.reclaim(lane, last=loss is None or losses.is_suspect(job))
        if loss is None:
            loss = LossVerdict(note="its worker was lost, and still has its journal open", begun=True)
        event = ProgressEvent(
            lane=lane,
            task_id=job.task.task_id,
            trial=job.trial,
            phase=Phase.ended if loss.over else Phase.retrying,
            step=loss.step,
            note=loss.note,
            usage=loss.usage,
        )
        self._all.progress.tell(event)
        return loss.begun

    async def _judged(
        self, job: Job, judge: Callable[[JournalWriter], LossVerdict], *, until: float
    ) -> LossVerdict | None:
        """What the loss of its worker means for a job; None = the worker still has its journal open.

        A worker elsewhere that is lost to us ends by itself, and some time after its connection.
        """
        while True:
            try:
                with self._all.journals(job.task, job.trial) as journal:
                    return judge(journal)
            except JournalLocked:
                if working_s() >= until or self._all.stopping():
                    return None
            await asyncio.sleep(RETRY_EVERY_S)
