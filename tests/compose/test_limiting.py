"""Limits from the settings, the line people see, and waits that end with the run."""

import asyncio

import pytest
from rich.console import Console

from harness.compose.limiting import limiter
from harness.compose.model import LaneTurns, Requests
from harness.config import Config, LlmConfig
from harness.errors import ConfigError
from harness.llm.limiter import Flow, Limiter, Limits
from harness.llm.turns import Want
from harness.protocols import News
from harness.reports.display import Board, PlainDisplay
from harness.reports.summary import Invocation
from harness.reports.table import _limited
from harness.runner.stopping import Interrupted, Stopping


@pytest.mark.parametrize("name", ["max_concurrency", "requests_per_minute", "tokens_per_minute"])
def test_a_limit_that_lets_nothing_through_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"llm.{name}=0 lets nothing through"):
        limiter(Config(llm=LlmConfig(**{name: 0})))


async def test_configured_limits_are_those_of_the_limiter() -> None:
    limited = limiter(Config(llm=LlmConfig(max_concurrency=1)))
    await limited.take(Want())
    waiting = asyncio.ensure_future(limited.take(Want()))
    await asyncio.sleep(0)
    assert (limited.flow().in_flight, limited.flow().waiting) == (1, 1)
    waiting.cancel()


async def test_a_wait_for_a_turn_ends_when_the_run_does_and_is_counted_only_when_granted() -> None:
    stopping, requests, shared = Stopping(), Requests(), Limiter(Limits(max_concurrency=1))
    lane = LaneTurns(turns=shared, lane=4, requests=requests, stopping=stopping)
    await lane.take(Want())
    waiting = asyncio.ensure_future(lane.take(Want()))
    await asyncio.sleep(0)
    assert shared.flow().waiting == 1
    stopping.ask()
    with pytest.raises(Interrupted):
        await waiting
    assert (requests.made, shared.flow().waiting) == (1, 0)
    with pytest.raises(Interrupted):
        await lane.take(Want())


def test_what_goes_to_the_model_is_said_while_lanes_wait() -> None:
    console = Console(record=True, width=200)
    flow = Flow(in_flight=12, last_minute=58, waiting=20)
    with PlainDisplay(console, Board(2, lambda: flow)) as display:
        display.tell(News(lane=0, task_id="7", phase="ended", step=3, score=1.0))
    assert console.export_text().rstrip().endswith("model: 12 in flight, 58/min, waiting 20")


@pytest.mark.parametrize(
    ("invocation", "says"),
    [
        (Invocation(model_requests=9), ""),
        (Invocation(model_refused=2, model_waited_s=0.4), " (2 refused with 429)"),
        (Invocation(model_refused=2, model_waited_s=63.2), " (2 refused with 429, 63 s of waiting for turns)"),
    ],
)
def test_the_summary_says_what_limits_cost_when_they_did(invocation: Invocation, says: str) -> None:
    assert _limited(invocation) == says
