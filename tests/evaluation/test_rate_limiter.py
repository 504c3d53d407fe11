"""Limits from the settings, the line people see, and waits that end with the run."""

import asyncio

import pytest
from rich.console import Console

from harness.errors import ShutdownRequested
from harness.evaluation.builder import build_rate_limiter
from harness.evaluation.model_builder import LaneLimiter
from harness.llm.limiter import Limiter, LimiterStats
from harness.llm.permits import PermitRequest
from harness.protocols import Phase, ProgressEvent
from harness.reports.display import LiveStats, PlainDisplay
from harness.reports.summary import Invocation
from harness.reports.table import _limited
from harness.runner.shutdown import ShutdownSignal
from harness.settings.models import JudgeSettings, LlmSettings, RateLimits


async def test_configured_limits_are_those_of_the_limiter() -> None:
    limited = build_rate_limiter(LlmSettings(max_concurrency=1), JudgeSettings())
    await limited.acquire(PermitRequest())
    waiting = asyncio.ensure_future(limited.acquire(PermitRequest()))
    await asyncio.sleep(0)
    assert (limited.flow().in_flight, limited.flow().waiting) == (1, 1)
    waiting.cancel()


async def test_a_wait_for_a_turn_ends_when_the_run_does_and_is_counted_only_when_granted() -> None:
    stopping, shared = ShutdownSignal(), Limiter(RateLimits(max_concurrency=1))
    lane = LaneLimiter(rate_limiter=shared, lane=4, stopping=stopping)
    await lane.acquire(PermitRequest())
    waiting = asyncio.ensure_future(lane.acquire(PermitRequest()))
    await asyncio.sleep(0)
    assert shared.flow().waiting == 1
    stopping.ask()
    with pytest.raises(ShutdownRequested):
        await waiting
    assert (shared.flow().sent, shared.flow().waiting) == (1, 0)
    with pytest.raises(ShutdownRequested):
        await lane.acquire(PermitRequest())


async def test_a_second_request_to_stop_changes_nothing_while_a_wait_still_ends() -> None:
    stopping = ShutdownSignal()
    cleaning = asyncio.Event()

    async def takes_its_time() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await cleaning.wait()

    waiting = asyncio.create_task(stopping.wait_for(takes_its_time()))
    await asyncio.sleep(0)
    stopping.ask()
    await asyncio.sleep(0.01)
    stopping.ask()
    cleaning.set()
    with pytest.raises(ShutdownRequested):
        await waiting


async def test_a_timeout_of_what_is_waited_for_is_no_stop() -> None:
    async def is_late() -> None:
        raise TimeoutError("the site did not answer")

    with pytest.raises(TimeoutError, match="the site did not answer"):
        await ShutdownSignal().wait_for(is_late())


def test_what_goes_to_the_model_is_said_while_lanes_wait() -> None:
    console = Console(record=True, width=200)
    flow = LimiterStats(in_flight=12, last_minute=58, waiting=20)
    with PlainDisplay(console, LiveStats(2, lambda: flow)) as display:
        display.tell(ProgressEvent(lane=0, task_id="7", phase=Phase.ended, step=3, score=1.0))
    assert console.export_text().rstrip().endswith("model: 12 in flight, 58/min, 20 queued")


@pytest.mark.parametrize(
    ("invocation", "says"),
    [
        (Invocation(model_requests=9), ""),
        (Invocation(model_refused=2, model_waited_s=0.4), " (2 rejected with 429)"),
        (Invocation(model_refused=2, model_waited_s=63.2), " (2 rejected with 429, 63 s queued in the rate limiter)"),
    ],
)
def test_the_summary_says_what_limits_cost_when_they_did(invocation: Invocation, says: str) -> None:
    assert _limited(invocation) == says
