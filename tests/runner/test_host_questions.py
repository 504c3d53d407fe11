"""What agents ask the host of a run, from the agent in a worker to the host and back; and hosts with too few lanes."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from harness.api import AskHost, PluginFailed, WorkerHandle
from harness.choices import Dialect
from harness.errors import InfraError
from harness.llm.limiter import Limiter
from harness.llm.permits import RateLimiterServer
from harness.protocols import Phase, ProgressEvent
from harness.runner.executors import supervisor
from harness.runner.executors.ipc import MOST_DATA, encode_message, read_messages
from harness.runner.executors.remote_host import RemoteHost
from harness.runner.executors.supervisor import SupervisorConfig, Timeouts, run_supervised
from harness.runner.executors.worker_losses import WorkerLosses
from harness.runner.executors.worker_messages import HostAnswer, TakeJob
from harness.runner.pending import PendingPolicy
from harness.runner.scheduler import Scheduler
from harness.runner.shutdown import ShutdownSignal
from tests.runner.sites import a_job, a_setup
from tests.waiting import until

PICTURE = b"\n\x00" * 200_000
"""More than a pipe holds, and all that could be taken for an end of a message."""


class Host:
    """Keeps what is asked, and answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.gone: list[bytes] = []
        self.may_answer = asyncio.Event()

    async def answer(self, question: bytes) -> bytes:
        self.asked.append(question)
        if question == b"refuse":
            raise PluginFailed("no such question")
        is_told = False
        try:
            await self.may_answer.wait()
            is_told = True
        finally:
            if not is_told:
                self.gone.append(question)
        return question[::-1]


class Life:
    """A worker whose agents ask; it has no place where `begun` is False."""

    def __init__(self, *, begun: bool = True) -> None:
        self.begun = begun
        self.output = asyncio.StreamReader()
        self.host = RemoteHost(self._from_thread)
        self._heard = asyncio.StreamReader()
        self._hearing = asyncio.ensure_future(self._hear())
        self._loop = asyncio.get_running_loop()

    def send(self, data: bytes) -> None:
        self._heard.feed_data(data)

    async def kill(self) -> None:
        self.output.feed_eof()

    def _from_thread(self, data: bytes) -> None:
        self._loop.call_soon_threadsafe(self.output.feed_data, data)

    async def _hear(self) -> None:
        async for message, data in read_messages(self._heard):
            if isinstance(message, HostAnswer):
                self.host.hear(message, data)


class Run:
    """A hosted run, its workers and what it tells."""

    def __init__(self) -> None:
        self.lives: list[Life] = []
        self.told: list[ProgressEvent] = []
        self.stopping = ShutdownSignal()
        self.schedule = Scheduler((), is_open=True, stopping=self.stopping)

    def tell(self, event: ProgressEvent) -> None:
        self.told.append(event)

    @asynccontextmanager
    async def going_on(
        self, ask_host: AskHost, begun: Callable[[int], bool] = lambda number: True
    ) -> AsyncIterator[None]:
        @asynccontextmanager
        async def launch(number: int) -> AsyncIterator[WorkerHandle]:
            self.lives.append(life := Life(begun=begun(number)))
            yield life

        nobody: Any = AsyncExitStack
        supervision = SupervisorConfig(
            launch=launch,
            setup=a_setup,
            rate_limiter=lambda send: RateLimiterServer(Limiter(), send, time.monotonic),
            store=nobody,
            ask_host=ask_host,
            lanes=1,
            schedule=self.schedule,
            journals=nobody,
            progress=self,
            stopping=self.stopping,
            timeouts=Timeouts(silence_s=60, step_s=60, place_s=0.001, pause_s=0.001),
            losses=WorkerLosses(PendingPolicy(scoring=Dialect.corrected)),
        )
        running = asyncio.create_task(run_supervised(supervision, 2))
        await until(lambda: len(self.lives) == 2)
        try:
            yield
        finally:
            self.stopping.ask()
            self.schedule.look_again()
            for life in self.lives:
                await life.kill()
            await running


async def test_questions_are_answered_each_with_its_own_answer() -> None:
    run, host = Run(), Host()
    async with run.going_on(host.answer):
        first, second = (life.host for life in run.lives[:2])
        asking = [asyncio.create_task(one.ask(what)) for one in (first, second) for what in (b"ab", b"", PICTURE)]
        await until(lambda: len(host.asked) == 6)
        host.may_answer.set()
        assert await asyncio.gather(*asking) == [b"ba", b"", PICTURE[::-1]] * 2
        with pytest.raises(PluginFailed, match=r"^no such question$"):
            await first.ask(b"refuse")
        with pytest.raises(InfraError, match="can send 256 MB at once"):
            await first.ask(bytes(MOST_DATA + 1))
        assert await first.ask(b"xy") == b"yx", "others go on"
    assert host.gone == []


async def test_an_agent_that_does_not_wait_any_more_is_gone_for_the_host() -> None:
    run, host = Run(), Host()
    async with run.going_on(host.answer):
        asking = asyncio.create_task(run.lives[0].host.ask(b"ab"))
        await until(lambda: host.asked)
        asking.cancel()
        await until(lambda: host.gone == [b"ab"])
        early = asyncio.create_task(run.lives[0].host.ask(b"cd"))
        await asyncio.sleep(0)
        early.cancel()  # before it is known to be sent
        await asyncio.gather(early, return_exceptions=True)
        last = asyncio.create_task(run.lives[0].host.ask(b"ef"))
        await until(lambda: host.asked[-1] == b"ef" and host.gone == host.asked[:-1])
        host.may_answer.set()
        assert await last == b"fe"


async def test_a_question_of_a_lost_worker_is_gone_for_the_host_and_its_next_life_asks_again() -> None:
    run, host = Run(), Host()
    async with run.going_on(host.answer):
        lost = asyncio.create_task(run.lives[0].host.ask(b"ab"))
        await until(lambda: host.asked)
        await run.lives[0].kill()
        await until(lambda: host.gone == [b"ab"])
        await until(lambda: len(run.lives) == 3)
        host.may_answer.set()
        assert await run.lives[2].host.ask(b"ab") == b"ba", "with the same number as before"
        lost.cancel()


async def test_jobs_that_no_lane_is_left_for_are_told_while_a_worker_has_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "WATCH_EVERY_S", 0.001)
    run = Run()

    def stalled() -> list[str]:
        return [event.note for event in run.told if event.phase is Phase.stalled]

    async with run.schedule, run.going_on(Host().answer, begun=lambda number: number == 0):
        await run.schedule.equip(_same)
        run.lives[0].output.feed_data(encode_message(TakeJob(lane=0)))
        await until(lambda: any(event.phase is Phase.retrying for event in run.told))
        assert not run.schedule.lacks_lanes and stalled() == [], "the other worker's lane is free"
        await run.schedule.add(a_job("1"))
        await until(lambda: 0 in run.schedule.held)
        assert not run.schedule.lacks_lanes and stalled() == []
        await run.schedule.add(a_job("2"))
        assert run.schedule.lacks_lanes
        await until(lambda: len(stalled()) > 1)
        assert stalled()[0] == "worker 1 waits for resources on the cluster, and no other has a free lane"
        assert run.schedule.withdraw("2", 0)
        run.lives[1].begun = True


async def _same(job: Any) -> Any:
    return job
