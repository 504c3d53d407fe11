"""How long a worker may take for what: waiting for a site has no deadline of its own, restoring has."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from harness.api import WorkerHandle
from harness.llm.limiter import Limiter
from harness.llm.permits import RateLimiterServer
from harness.protocols import ProgressEvent
from harness.runner.executors import supervisor
from harness.runner.executors.ipc import news_values
from harness.runner.executors.supervisor import SupervisorConfig, Timeouts, run_supervised
from harness.runner.executors.worker_losses import WorkerLosses
from harness.runner.pending import PendingPolicy
from harness.runner.scheduler import Scheduler
from harness.runner.shutdown import ShutdownSignal
from tests.runner.sites import a_job

STEP_S = 0.05


class Talking:
    """A worker that takes a job, restores, and then is in a phase for far longer than a step may take."""

    begun = True

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.killed = asyncio.Event()

    def send(self, data: bytes) -> None:
        return

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        yield {"kind": "take", "lane": 0}
        yield said("restoring", "1")
        yield said(self.phase)
        try:
            async with asyncio.timeout(STEP_S * 10):
                await self.killed.wait()
        except TimeoutError:
            yield {"kind": "settle", "lane": 0, "over": True, "alone": False}
            yield {"kind": "done"}

    async def kill(self) -> None:
        self.killed.set()


def said(phase: str, task_id: str = "") -> dict[str, Any]:
    return {"kind": "news", **news_values(ProgressEvent(lane=0, task_id=task_id, phase=phase))}


class Nothing:
    """Stands for whoever is not asked here."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self

    async def __aenter__(self) -> "Nothing":
        return self

    async def __aexit__(self, *_: object) -> None:
        return


@pytest.mark.parametrize(("phase", "killed"), [("waiting", False), ("restoring", True)])
async def test_a_lane_that_waits_for_its_site_is_not_taken_for_one_that_hangs(
    phase: str, killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "WATCH_EVERY_S", STEP_S / 5)
    worker = Talking(phase)
    stopping = ShutdownSignal()

    @asynccontextmanager
    async def launched() -> AsyncIterator[WorkerHandle]:
        yield worker
        if worker.killed.is_set():
            stopping.ask()

    def launch(number: int) -> AbstractAsyncContextManager[WorkerHandle]:
        return launched()

    nothing: Any = Nothing()
    supervision = SupervisorConfig(
        launch=launch,
        hello=lambda number: {},
        turns=lambda send: RateLimiterServer(Limiter(), send, time.monotonic),
        desk=lambda: nothing,
        lanes=1,
        schedule=Scheduler([a_job("1")]),
        journals=nothing,
        progress=nothing,
        stopping=stopping,
        terms=Timeouts(silence_s=60, step_s=STEP_S),
        losses=WorkerLosses(PendingPolicy(dialect="corrected", max_attempts=3)),
    )
    await run_supervised(supervision, 1)
    assert worker.killed.is_set() == killed
