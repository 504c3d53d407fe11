"""All workers of a run share one limiter: seen from the endpoint, which writes down who came when."""

import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.trouble import TroubledSites, World, troubled_world

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TASKS = "task.ids=[0,1,2,3,4,5]"
"""Of the demo, none of which needs a login; over a dozen requests."""


async def told(world: World, what: str) -> Any:
    async with httpx.AsyncClient() as client:
        return (await client.get(f"http://127.0.0.1:{world.endpoint_port}/__{what}__")).json()


async def test_lanes_of_several_workers_together_never_ask_more_than_allowed_at_once(tmp_path: Path) -> None:
    async with troubled_world(tmp_path, TroubledSites(), latency_ms=300) as world:
        async with world.playing(TASKS, "llm.max_concurrency=2", "executor.lanes=3", "workers=2") as play:
            assert await play.ended() == 0, play.text
        assert play.summary["passed"] == 6
        assert (await told(world, "stats"))["most_at_once"] == 2
    assert play.summary["invocation"]["model_waited_s"] > 0


@pytest.mark.parametrize("kind", ["processes", "inline"])
async def test_a_configured_rate_holds_over_all_workers(tmp_path: Path, kind: str) -> None:
    async with troubled_world(tmp_path, TroubledSites()) as world:
        rate = "llm.requests_per_minute=60"
        async with world.playing(TASKS, rate, f"executor={kind}", "executor.lanes=2", "workers=2") as play:
            assert await play.ended() == 0, play.text
        times = [one["at_s"] for one in await told(world, "requests")]
    assert len(times) > 10
    late_s = 3.0  # a request may be long on its way from a busy machine, but they cannot all be
    assert times[-1] - times[0] >= (len(times) - 1) - late_s


async def test_a_rate_nobody_told_of_is_found_without_losing_a_decision(tmp_path: Path) -> None:
    limit = [{"do": "limit", "rpm": 60, "burst": 4}]
    async with troubled_world(tmp_path, TroubledSites(), faults=json.dumps(limit)) as world:
        async with world.playing(TASKS, "executor.lanes=3", "llm.max_attempts=1", "workers=2") as play:
            assert await play.ended() == 0, play.text
        log = await told(world, "requests")
    assert play.summary["passed"] == 6
    assert all(play.failures(task) == [] for task in range(6)), "with one attempt: a refusal is none"
    refused = [one for one in log if one["status"] == 429]
    assert 0 < len(refused) == play.summary["invocation"]["model_refused"] < len(log) / 2
    assert len(log) == play.summary["invocation"]["model_requests"]
    for one in refused:  # each asks for at least a second: only what was under way, one request a lane, still comes
        after = [other for other in log if 0 < other["at_s"] - one["at_s"] < 0.95]
        assert len(after) <= 6, "a worker did not hear of the wait another one was asked for"


async def test_a_worker_killed_with_its_turns_gives_them_back(tmp_path: Path) -> None:
    async with troubled_world(tmp_path, TroubledSites(), latency_ms=1500) as world:
        only = "llm.max_concurrency=1"
        async with world.playing("task.ids=[0,1]", only, "executor.lanes=2") as play:
            await play.until(lambda: play.decisions >= 1)
            for victim in play.children("harness.evaluation.worker_main"):
                victim.send_signal(signal.SIGKILL)
            assert await play.ended() == 0, play.text
    assert play.summary["passed"] == 2
    assert "worker was lost" in play.text


async def test_waiting_for_a_turn_is_no_work_and_misses_no_deadline(tmp_path: Path) -> None:
    async with troubled_world(tmp_path, TroubledSites()) as world:
        slow = ("llm.requests_per_minute=3", "executor.task_deadline_s=18")  # a busy machine works less than that
        async with world.playing("task.ids=[1]", *slow) as play:
            assert await play.ended() == 0, play.text
    waited_s = play.summary["invocation"]["model_waited_s"]
    assert waited_s > 36, "longer than the deadline, twice"
    assert play.summary["working_s"] < waited_s
    assert play.failures(1) == [] and "worker stopped" not in play.text
