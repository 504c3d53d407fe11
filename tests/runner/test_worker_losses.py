"""Workers that are lost: whose fault it was, and that one task cannot hold up the others.

The workers are played by the test, as are their deaths; schedule, supervisor and journals are the real ones.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from io import BytesIO
from typing import Any

import pytest

from harness.actions import Stop
from harness.api import WorkerHandle
from harness.choices import Dialect
from harness.episode.attempt import new_attempt_reason
from harness.episode.job import Job
from harness.errors import UsageError
from harness.journal.log import read
from harness.journal.store import RunFolder
from harness.llm.limiter import Limiter
from harness.llm.permits import RateLimiterServer
from harness.protocols import Phase, ProgressEvent
from harness.records import Episode, Record, Status
from harness.runner.executors.ipc import encode_message, read_messages_blocking
from harness.runner.executors.supervisor import (
    STARTS_WITHOUT_WORK,
    SupervisorConfig,
    Timeouts,
    run_supervised,
)
from harness.runner.executors.worker_losses import GivenJobs, WorkerLosses
from harness.runner.executors.worker_messages import (
    GiveJob,
    Message,
    Progressed,
    SettleJob,
    TakeJob,
    WorkerDone,
    WorkerSetup,
)
from harness.runner.pending import PendingPolicy
from harness.runner.scheduler import Scheduler
from harness.runner.shutdown import ShutdownSignal
from tests.journal.episodes import acted, closed, decided, failed, opened, scored, task
from tests.runner.sites import a_setup

ATTEMPTS = 3
STEPS = 3
Fate = Callable[[str, Episode | None], bool]
"""Task id and its episode (None = taken, and nothing written yet) to whether the worker dies there."""


class Life:
    """One life of a worker: its lanes take jobs, write what they do, and may take the worker with them. Fits
    `WorkerHandle`.
    """

    begun = True

    def __init__(self, scene: "Scene", number: int) -> None:
        self._scene = scene
        self._lanes = range(number * scene.lanes, (number + 1) * scene.lanes)
        self.output = asyncio.StreamReader()
        self._playing: dict[int, asyncio.Task[None]] = {}

    def send(self, data: bytes) -> None:
        ((message, _),) = read_messages_blocking(BytesIO(data))
        match message:
            case WorkerSetup():
                for lane in self._lanes:
                    self._say(TakeJob(lane=lane))
            case GiveJob(lane=lane, job=None):
                self._lanes = range(0, len(self._lanes) - 1)
                if not self._lanes:
                    self._say(WorkerDone())
                    self.output.feed_eof()
            case GiveJob(lane=lane, job=Job() as job):
                self._playing[lane] = asyncio.create_task(self._play(lane, job))

    async def kill(self) -> None:
        self.output.feed_eof()

    def _say(self, message: Message) -> None:
        self.output.feed_data(encode_message(message))

    async def end(self) -> None:
        for playing in self._playing.values():
            playing.cancel()
        await asyncio.gather(*self._playing.values(), return_exceptions=True)

    async def _play(self, lane: int, job: Job) -> None:
        if self._dies(job, None):
            return
        with self._scene.run.journal(job.task.task_id) as journal:
            self._tell(lane, job, Phase.restoring, journal.episode)
            while (record := following(job, journal.episode)) is not None:
                pending = journal.episode.pending is not None
                self._tell(lane, job, Phase.acting if pending else Phase.deciding, journal.episode)
                await asyncio.sleep(0)
                if self._dies(job, journal.episode):
                    return
                journal.append(record)
        self._playing.pop(lane)
        self._say(SettleJob(lane=lane, over=True, alone=False))
        self._say(TakeJob(lane=lane))

    def _dies(self, job: Job, episode: Episode | None) -> bool:
        dies = self._scene.fate(job.task.task_id, episode)
        if dies:
            self._scene.deaths[job.task.task_id] += 1
            self.output.feed_eof()
        return dies

    def _tell(self, lane: int, job: Job, phase: Phase, episode: Episode) -> None:
        news = ProgressEvent(lane=lane, task_id=job.task.task_id, phase=phase, step=len(episode.steps) + 1)
        self._say(Progressed(event=news))


def following(job: Job, episode: Episode) -> Record | None:
    """What comes after the last record of an episode of some steps."""
    if (why := new_attempt_reason(episode, {}, "c", reopen=job.reopens(episode.attempt))) is not None:
        return opened(episode.attempt + 1, why=why, of=job.task)
    if episode.arrival is None:
        return acted(0)
    if episode.closed is not None:
        return None if episode.scores else scored(dialect="corrected")
    step = len(episode.steps) + 1
    if episode.pending is not None:
        return closed() if isinstance(episode.pending.action, Stop) else acted(step)
    return decided(step, Stop(answer="yes") if step > STEPS else None)


class Scene:
    """A run whose workers die as `fate` has it."""

    def __init__(self, run: RunFolder, fate: Fate, *, lanes: int = 1) -> None:
        self.run = run
        self.fate = fate
        self.lanes = lanes
        self.deaths = Counter[str]()
        self.told: list[ProgressEvent] = []
        self.stopping = ShutdownSignal()

    def tell(self, news: ProgressEvent) -> None:
        self.told.append(news)

    async def play(self, *task_ids: str, workers: int = 1, is_open: bool = False, reopen_at: int | None = None) -> None:
        @asynccontextmanager
        async def launch(number: int) -> AsyncIterator[WorkerHandle]:
            life = Life(self, number)
            try:
                yield life
            finally:
                await life.end()

        nobody: Any = AsyncExitStack
        supervision = SupervisorConfig(
            launch=launch,
            setup=a_setup,
            rate_limiter=lambda send: RateLimiterServer(Limiter(), send, time.monotonic),
            store=nobody,
            ask_host=nobody,
            lanes=self.lanes,
            schedule=Scheduler(
                [Job(task=task(task_id), reopen_at=reopen_at) for task_id in task_ids],
                is_open=is_open,
                stopping=self.stopping,
            ),
            journals=lambda task, trial: self.run.journal(task.task_id, trial),
            progress=self,
            stopping=self.stopping,
            timeouts=Timeouts(silence_s=60, step_s=60, pause_s=0.001),
            losses=WorkerLosses(PendingPolicy(scoring=Dialect.corrected), clock=lambda: 8.0),
        )
        async with asyncio.timeout(120):
            await run_supervised(supervision, workers)

    def episode(self, task_id: str) -> Episode:
        return read(self.run.journal_path(task_id))


def write(run: RunFolder, *records: Record) -> None:
    """The journal of task 0."""
    with run.journal("0") as journal:
        for record in records:
            journal.append(record)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("lanes", "workers"), [(1, 1), (3, 1), (4, 2)])
async def test_a_task_that_kills_its_worker_each_time_uses_up_its_own_attempts_and_no_other_tasks(
    run: RunFolder, lanes: int, workers: int
) -> None:
    def poisonous(task_id: str, episode: Episode | None) -> bool:
        return task_id == "3" and episode is not None and episode.pending is not None and len(episode.steps) == 1

    scene = Scene(run, poisonous, lanes=lanes)
    others = [str(number) for number in range(12) if number != 3]
    await scene.play(*sorted([*others, "3"], key=int), workers=workers)
    episode = scene.episode("3")
    assert [(failed.type, failed.message) for failed in episode.failures] == [
        ("WorkerLost", "its worker was lost at step 2, while it ran no other task")
    ] * ATTEMPTS
    assert episode.attempt == 1 and episode.closed is None
    assert scene.deaths["3"] <= ATTEMPTS + 2
    ended = [news for news in scene.told if news.task_id == "3" and news.phase == "ended"]
    assert len(ended) == 1 and ended[0].score is None and "no other task" in ended[0].note
    for task_id in others:
        assert scene.episode(task_id).failures == () and "corrected" in scene.episode(task_id).scores


async def test_workers_that_are_lost_with_progress_between_cost_nothing(run: RunFolder) -> None:
    met = set[tuple[str, int, bool]]()

    def everywhere_once(task_id: str, episode: Episode | None) -> bool:
        if episode is None:
            return False
        place = (task_id, len(episode.steps), episode.pending is not None)
        known = place in met
        met.add(place)
        return not known

    scene = Scene(run, everywhere_once, lanes=2)
    await scene.play("0", "1", "2")
    assert scene.deaths.total() > 2 * STARTS_WITHOUT_WORK
    assert all(scene.episode(task_id).failures == () for task_id in "012")
    assert all("corrected" in scene.episode(task_id).scores for task_id in "012")


async def test_a_task_that_kills_its_worker_while_it_is_scored_is_unscored_with_the_reason(run: RunFolder) -> None:
    scene = Scene(
        run, lambda task_id, episode: task_id == "0" and episode is not None and bool(episode.closed), lanes=2
    )
    await scene.play("0", "1", "2")
    score = scene.episode("0").scores["corrected"]
    assert (score.status, score.value) == (Status.ERROR, None)
    assert score.verdicts[0].why == "3 workers were lost while they scored only this task"
    assert "corrected" in scene.episode("1").scores and scene.episode("2").scores["corrected"].value == 1.0


async def test_a_retry_that_ended_and_lost_its_worker_before_its_score_is_not_played_again(run: RunFolder) -> None:
    def dies_once(task_id: str, episode: Episode | None) -> bool:
        return episode is not None and episode.attempt == 2 and bool(episode.closed) and not scene.deaths

    write(run, opened(of=task("0")), acted(0), decided(1, Stop(answer="no")), closed(), scored(dialect="corrected"))
    scene = Scene(run, dies_once)
    await scene.play("0", reopen_at=1)
    assert scene.deaths.total() == 1
    assert scene.episode("0").attempt == 2 and "corrected" in scene.episode("0").scores


async def test_a_retry_of_a_task_that_kills_its_worker_each_time_is_given_up_like_its_first_try(run: RunFolder) -> None:
    write(run, opened(of=task("0")), acted(0), *[failed()] * ATTEMPTS)
    scene = Scene(run, lambda task_id, episode: episode is not None and len(episode.steps) == 1)
    await scene.play("0", reopen_at=1)
    assert scene.episode("0").attempt == 2 and len(scene.episode("0").failures) == ATTEMPTS
    assert scene.deaths.total() <= ATTEMPTS + 2


async def test_a_retry_whose_workers_die_before_it_begins_is_still_asked_for(run: RunFolder) -> None:
    write(run, opened(of=task("0")), acted(0), *[failed()] * ATTEMPTS)
    scene = Scene(run, lambda task_id, episode: episode is None and scene.deaths.total() < STARTS_WITHOUT_WORK - 1)
    await scene.play("0", reopen_at=1)
    assert scene.episode("0").attempt == 2 and "corrected" in scene.episode("0").scores


async def test_workers_that_die_before_they_write_anything_are_broken_and_end_the_run(run: RunFolder) -> None:
    scene = Scene(run, lambda task_id, episode: episode is None)
    with pytest.raises(ExceptionGroup) as failed:
        await scene.play("0", "1")
    (error,) = failed.value.exceptions
    assert isinstance(error, UsageError) and "ended 5 times before it began a task" in str(error)
    assert scene.deaths.total() == STARTS_WITHOUT_WORK


async def test_a_run_that_is_served_goes_on_when_its_workers_are_killed_again_and_again(run: RunFolder) -> None:
    def until_nine(task_id: str, episode: Episode | None) -> bool:
        if episode is not None and episode.closed:
            scene.stopping.ask()
        return episode is None and scene.deaths.total() < 9

    scene = Scene(run, until_nine)
    await scene.play("0", is_open=True)
    assert scene.deaths.total() == 9 and "corrected" in scene.episode("0").scores
    said = [event.note for event in scene.told if event.phase is Phase.stalled]
    assert len(said) == 9 - STARTS_WITHOUT_WORK + 1
    assert said[0].startswith("worker 0 ended 5 times before it began a task") and "again in 0.001 s" in said[0]
    assert "again in 0.016 s" in said[4], "each pause is twice as long"


async def test_while_one_worker_is_up_nobody_is_told_that_none_is(run: RunFolder) -> None:
    def one_of_two(task_id: str, episode: Episode | None) -> bool:
        if task_id == "1":
            scene.stopping.ask()
        return task_id == "0" and episode is None and not scene.stopping()

    scene = Scene(run, one_of_two)
    await scene.play("0", "1", workers=2, is_open=True)
    assert not [event for event in scene.told if event.phase is Phase.stalled]


async def test_a_suspect_is_alone_only_until_it_has_got_further(run: RunFolder) -> None:
    suspect, other = Job(task=task("1")), Job(task=task("2"))
    losses = WorkerLosses(PendingPolicy(scoring=Dialect.corrected))
    with run.journal("1") as journal:
        for record in (opened(of=suspect.task), acted(0), decided(1)):
            journal.append(record)
        for note in (
            "its worker was lost",
            "its worker was lost again; it runs alone on a worker until it gets further",
        ):
            assert losses.judge(suspect, journal, alone=False).note == note
        assert not journal.episode.failures
    company = GivenJobs(losses)
    await company.admit(0, suspect)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(company.admit(1, other))
        for phase, step, waits in (("restoring", 1, True), ("acting", 1, True), ("deciding", 2, False)):
            company.hear(ProgressEvent(lane=0, task_id="1", phase=phase, step=step))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert waiting.done() != waits
    assert set(company.jobs) == {0, 1}


async def test_episodes_of_a_hosted_run_that_wait_for_their_clients_hold_up_no_others(run: RunFolder) -> None:
    """A trainer sends the next step of none before all have answered, so none can get further while it is alone."""
    losses = WorkerLosses(PendingPolicy(scoring=Dialect.corrected))
    jobs = [Job(task=task(str(number))) for number in range(3)]
    for job in jobs:
        with run.journal(job.task.task_id) as journal:
            for record in (opened(of=job.task), acted(0), decided(1), acted(1)):
                journal.append(record)

    def suspects_after_a_loss(*, waited: bool) -> list[bool]:
        for job in jobs:
            with run.journal(job.task.task_id) as journal:
                assert losses.judge(job, journal, alone=False, waited=waited).begun
                assert not journal.episode.failures
        return [losses.is_suspect(job) for job in jobs]

    for _ in range(ATTEMPTS):
        assert suspects_after_a_loss(waited=True) == [False] * 3
    assert suspects_after_a_loss(waited=False) == [False] * 3
    assert suspects_after_a_loss(waited=False) == [True] * 3, "to restore one of them may be what kills workers"
    company = GivenJobs(losses, is_hosted=True)

    def hear(lane: int, phase: Phase) -> None:
        company.hear(ProgressEvent(lane=lane, task_id=str(lane), phase=phase, step=2))

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for lane, job in enumerate(jobs):
            waiting = group.create_task(company.admit(lane, job))
            await asyncio.sleep(0)
            assert waiting.done() == (lane == 0), "the one before is being restored"
            if lane:
                hear(lane - 1, Phase.deciding)
            await waiting
            assert list(company.active) == [lane] and company.waits(lane - 1) == (lane > 0)
            hear(lane, Phase.restoring)
    hear(0, Phase.acting)
    assert list(company.active) == [0, 2]


def test_a_task_that_kills_its_worker_when_limits_have_ended_it_is_given_up_too(run: RunFolder) -> None:
    """Its evidence is gathered without a further decision: that is not progress."""
    losses = WorkerLosses(PendingPolicy(scoring=Dialect.corrected), clock=lambda: 8.0)
    job = Job(task=task("1"))
    with run.journal("1") as journal:
        for record in (opened(of=job.task), acted(0), decided(1, None), acted(1)):
            journal.append(record)
        given_up = []
        for _ in range(ATTEMPTS + 1):
            losses.hear(ProgressEvent(lane=0, task_id="1", phase=Phase.gathering, step=2))
            given_up.append(losses.judge(job, journal, alone=True).over)
    assert given_up == [False] * ATTEMPTS + [True]
