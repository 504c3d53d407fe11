"""How long a worker may take for what: waiting for a site has no deadline of its own, restoring has."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from harness.api import WorkerHandle
from harness.choices import Dialect
from harness.llm.limiter import Limiter
from harness.llm.permits import RateLimiterServer
from harness.protocols import Phase, ProgressEvent
from harness.runner.executors import supervisor
from harness.runner.executors.ipc import encode_message
from harness.runner.executors.supervisor import SupervisorConfig, Timeouts, run_supervised
from harness.runner.executors.worker_losses import WorkerLosses
from harness.runner.executors.worker_messages import Message, Progressed, SettleJob, TakeJob, WorkerDone
from harness.runner.pending import PendingPolicy
from harness.runner.scheduler import Scheduler
from harness.runner.shutdown import ShutdownSignal
from tests.runner.sites import a_job, a_setup

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

    nothing: Any = Nothing()
    supervision = SupervisorConfig(
        launch=launch,
        setup=a_setup,
        rate_limiter=lambda send: RateLimiterServer(Limiter(), send, time.monotonic),
        store=lambda: nothing,
        ask_host=nothing,
        lanes=1,
        schedule=Scheduler([a_job("1")]),
        journals=nothing,
        progress=nothing,
        stopping=stopping,
        timeouts=Timeouts(silence_s=60, step_s=STEP_S),
        losses=WorkerLosses(PendingPolicy(scoring=Dialect.corrected)),
    )
    await run_supervised(supervision, 1)
    assert worker.killed == killed
