"""How long a worker may take for what: waiting for a site has no deadline of its own, restoring has; and be silent."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from harness.api import WorkerHandle
from harness.choices import Dialect
from harness.episode.job import Job
from harness.episode.recorder import JournalWriter
from harness.errors import JournalLocked
from harness.journal.log import Journal
from harness.journal.store import RunFolder
from harness.llm.limiter import Limiter
from harness.llm.permits import RateLimiterServer
from harness.protocols import Phase, ProgressEvent
from harness.records import Task
from harness.runner.executors import supervisor
from harness.runner.executors.ipc import encode_message
from harness.runner.executors.supervisor import Launch, SupervisorConfig, Timeouts, run_supervised
from harness.runner.executors.worker_losses import LossVerdict, WorkerLosses
from harness.runner.executors.worker_messages import Message, Progressed, SettleJob, TakeJob, WorkerDone
from harness.runner.pending import PendingPolicy
from harness.runner.scheduler import Scheduler
from harness.runner.shutdown import ShutdownSignal
from tests.runner.sites import a_job, a_setup
from tests.waiting import until

STEP_S = 0.05


class Talking:
    """A worker that takes a job, restores, and then is in a phase for far longer than a step may take."""

    begun = True

    def __init__(self, phase: Phase) -> None:
        self.killed = False
        self.output = asyncio.StreamReader()
        self._say(TakeJob(lane=0), said(Phase.restoring, "1"), said(phase))
        asyncio.get_running_loop().call_later(STEP_S * 10, self._end)

    def send(self, data: bytes) -> None:
        return

    async def kill(self) -> None:
        self.killed = True
        self.output.feed_eof()

    def _end(self) -> None:
        if not self.killed:
            self._say(SettleJob(lane=0, over=True, alone=False), WorkerDone())
            self.output.feed_eof()

    def _say(self, *messages: Message) -> None:
        for message in messages:
            self.output.feed_data(encode_message(message))


def said(phase: Phase, task_id: str = "") -> Progressed:
    return Progressed(event=ProgressEvent(lane=0, task_id=task_id, phase=phase))


class Nothing:
    """Stands for whoever is not asked here."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self

    async def __aenter__(self) -> "Nothing":
        return self

    async def __aexit__(self, *_: object) -> None:
        return


@pytest.mark.parametrize(("phase", "killed"), [(Phase.waiting, False), (Phase.restoring, True)])
async def test_a_lane_that_waits_for_its_site_is_not_taken_for_one_that_hangs(
    phase: Phase, killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "WATCH_EVERY_S", STEP_S / 5)
    worker = Talking(phase)
    stopping = ShutdownSignal()

    @asynccontextmanager
    async def launched() -> AsyncIterator[WorkerHandle]:
        yield worker
        if worker.killed:
            stopping.ask()

    def launch(number: int) -> AbstractAsyncContextManager[WorkerHandle]:
        return launched()

    await run_supervised(a_supervision(launch, stopping, Timeouts(silence_s=60, step_s=STEP_S)), 1)
    assert worker.killed == killed


class Clock:
    """Stands still until it is moved, and counts how often it is read."""

    def __init__(self) -> None:
        self.now, self.reads = 0.0, 0

    def __call__(self) -> float:
        self.reads += 1
        return self.now


class Puppet:
    """A worker that says what it is told to."""

    begun = True

    def __init__(self) -> None:
        self.output = asyncio.StreamReader()
        self.killed = False

    def send(self, data: bytes) -> None:
        return

    async def kill(self) -> None:
        self.killed = True
        self.output.feed_eof()

    def say(self, *messages: Message) -> None:
        for message in () if self.killed else messages:
            self.output.feed_data(encode_message(message))


@pytest.mark.parametrize("next_job", ["is not there yet", "is only to be scored"])
async def test_the_time_on_a_task_ends_when_its_lane_has_left_it(
    next_job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, worker, stopping = Clock(), Puppet(), ShutdownSignal()
    monkeypatch.setattr(supervisor, "WATCH_EVERY_S", 0.001)
    monkeypatch.setattr(supervisor, "working_s", clock)

    @asynccontextmanager
    async def launch(number: int) -> AsyncIterator[WorkerHandle]:
        yield worker
        stopping.ask()

    async def passes(seconds: float) -> None:
        """Until the supervisor has looked at the worker several times."""
        clock.now += seconds
        seen = clock.reads
        await until(lambda: worker.killed or clock.reads > seen + 20)

    jobs = Scheduler([a_job("0")], is_open=True, stopping=stopping)
    await jobs.equip(_same)
    supervision = replace(
        a_supervision(launch, stopping, Timeouts(silence_s=1000, step_s=1000, task_s=10)), schedule=jobs
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(run_supervised(supervision, 1))
        worker.say(TakeJob(lane=0), said(Phase.restoring, "0"), said(Phase.deciding, "0"), said(Phase.ended, "0"))
        await until(lambda: jobs.held)
        worker.say(SettleJob(lane=0, over=True, alone=False), TakeJob(lane=0))
        await until(lambda: not jobs.held)
        await passes(11)
        if next_job == "is only to be scored":
            await jobs.add(a_job("1"))
            worker.say(said(Phase.scoring, "1"))
            await passes(9)
        was_killed = worker.killed
        stopping.ask()
        jobs.look_again()
        worker.say(WorkerDone())
        await worker.kill()
    assert not was_killed


async def test_a_worker_that_alone_is_asked_to_end_is_followed_by_another_one() -> None:
    """SIGTERM to one process: it finishes its steps, and says that it is done although jobs are pending."""
    lives = 0

    @asynccontextmanager
    async def launch(number: int) -> AsyncIterator[WorkerHandle]:
        nonlocal lives
        lives += 1
        yield Ends(supervision.schedule, SettleJob(lane=0, over=lives == 2, alone=False), WorkerDone())

    supervision = a_supervision(launch, ShutdownSignal(), Timeouts(silence_s=60, step_s=60))
    await run_supervised(supervision, 1)
    assert (lives, len(supervision.schedule)) == (2, 0)


class Silent:
    """A worker that takes a job and is never heard again."""

    begun = True

    def __init__(self) -> None:
        self.output = asyncio.StreamReader()
        self.output.feed_data(encode_message(TakeJob(lane=0)))

    def send(self, data: bytes) -> None:
        return

    async def kill(self) -> None:
        self.output.feed_eof()


async def test_a_worker_that_was_silent_may_be_so_for_longer_in_its_next_life(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "WATCH_EVERY_S", 0.001)
    monkeypatch.setattr(supervisor, "PATIENCE", 4)
    stopping, told = ShutdownSignal(), Told()

    @asynccontextmanager
    async def launch(number: int) -> AsyncIterator[WorkerHandle]:
        yield Silent()
        if len(told.notes) == 4:
            stopping.ask()

    timeouts = Timeouts(silence_s=0.01, step_s=60)
    supervision = a_supervision(launch, stopping, timeouts, jobs=9)
    with_journals = replace(supervision, progress=told, journals=lambda task, trial: run.journal(task.task_id, trial))
    await run_supervised(with_journals, 1)
    assert told.notes == [f"worker stopped: no heartbeat for {silence} s" for silence in (0.01, 0.02, 0.04, 0.04)]


class Ends(Silent):
    """A worker whose connection ends with these words, as soon as it is given a job."""

    def __init__(self, schedule: Scheduler, *words: Message) -> None:
        super().__init__()
        self._schedule, self._words = schedule, words

    def send(self, data: bytes) -> None:
        if self._schedule.held:
            self.output.feed_data(b"".join(map(encode_message, self._words)))
            self.output.feed_eof()


@pytest.mark.parametrize("is_freed", [True, False])
async def test_a_lost_worker_that_has_not_ended_yet_does_not_end_the_run(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, is_freed: bool
) -> None:
    monkeypatch.setattr(supervisor, "RETRY_EVERY_S", 0.001)
    lives, refusals, told = 0, 0, Told()

    @asynccontextmanager
    async def launch(number: int) -> AsyncIterator[WorkerHandle]:
        nonlocal lives
        lives += 1
        words = () if lives == 1 else (SettleJob(lane=0, over=True, alone=False), WorkerDone())
        yield Ends(supervision.schedule, *words)

    def journals(task: Task, trial: int) -> Journal:
        nonlocal refusals
        try:
            return run.journal(task.task_id, trial)
        except JournalLocked:
            if (refusals := refusals + 1) == 3 and is_freed:
                held.close()
            raise

    with run.journal("0") as held:
        timeouts = Timeouts(silence_s=60 if is_freed else 0.05, step_s=60)
        supervision = a_supervision(launch, ShutdownSignal(), timeouts)
        await run_supervised(replace(supervision, progress=told, journals=journals), 1)
    assert lives == 2
    assert refusals == 3 if is_freed else refusals > 1


@pytest.mark.parametrize("is_hosted", [True, False])
async def test_only_in_a_hosted_run_a_lane_that_decides_waits_for_somebody(run: RunFolder, is_hosted: bool) -> None:
    stopping, judged = ShutdownSignal(), list[tuple[bool, bool]]()

    class Losses(WorkerLosses):
        def judge(self, job: Job, journal: JournalWriter, *, alone: bool, waited: bool = False) -> LossVerdict:
            judged.append((alone, waited))
            stopping.ask()
            return super().judge(job, journal, alone=alone, waited=waited)

    @asynccontextmanager
    async def launch(number: int) -> AsyncIterator[WorkerHandle]:
        yield Ends(schedule, said(Phase.deciding, "0"))

    schedule = Scheduler([a_job("0")], is_open=is_hosted, stopping=stopping)
    supervision = replace(
        a_supervision(launch, stopping, Timeouts(silence_s=60, step_s=60)),
        schedule=schedule,
        losses=Losses(PendingPolicy(scoring=Dialect.corrected)),
        journals=lambda task, trial: run.journal(task.task_id, trial),
    )
    await run_supervised(supervision, 1)
    assert judged == [(not is_hosted, is_hosted)], "who waits for a client is neither alone nor a suspect"


async def _same(job: Job) -> Job:
    return job


class Told:
    """What was said of a worker as a whole."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def tell(self, event: ProgressEvent) -> None:
        if event.phase is Phase.retrying and not event.task_id:
            self.notes.append(event.note)


def a_supervision(launch: Launch, stopping: ShutdownSignal, timeouts: Timeouts, *, jobs: int = 1) -> SupervisorConfig:
    nothing: Any = Nothing()
    return SupervisorConfig(
        launch=launch,
        setup=a_setup,
        rate_limiter=lambda send: RateLimiterServer(Limiter(), send, time.monotonic),
        store=lambda: nothing,
        ask_host=nothing,
        lanes=1,
        schedule=Scheduler([a_job(str(number)) for number in range(jobs)]),
        journals=nothing,
        progress=nothing,
        stopping=stopping,
        timeouts=timeouts,
        losses=WorkerLosses(PendingPolicy(scoring=Dialect.corrected)),
    )
