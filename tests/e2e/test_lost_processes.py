"""What takes others with it when it dies: a worker with several tasks, the network of a browser, an embedded server."""

import signal
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from tests.e2e.test_crashes import PRICE, WISHLIST
from tests.e2e.trouble import Play, TroubledSites, World, troubled_world

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NETWORK = "--utility-sub-type=network.mojom.NetworkService"
STOPPED_S = 8.0


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with troubled_world(tmp_path, TroubledSites(), latency_ms=150) as world:
        yield world


async def test_a_task_that_kills_its_worker_is_unscored_within_one_start_and_the_others_are_played(
    world: World,
) -> None:
    playing: list[Play] = []

    def deadly(method: str, path: str) -> str | None:
        if method == "POST" and "wishlist" in path:
            for worker in playing[0].children("harness.evaluation.worker_main"):
                worker.kill()
            return "silence"
        return None

    world.sites.trouble = deadly
    others = (PRICE, 1, 2, 3)
    ids = f"task.ids=[{WISHLIST},{','.join(map(str, others))}]"
    async with world.playing(ids, "executor.lanes=2", "executor.silence_s=10") as play:
        playing.append(play)
        assert await play.ended() == 3, play.text
    assert play.failures(WISHLIST) == ["WorkerLost"] * 3
    assert [failure for task_id in others for failure in play.failures(task_id)] == []
    results = {result["task_id"]: result for result in play.summary["results"]}
    assert results[str(WISHLIST)]["status"] == "unscored"
    assert all(results[str(task_id)]["score"] is not None for task_id in others)
    assert "while it ran no other task" in play.text


async def test_a_worker_lost_seven_times_with_progress_between_costs_nothing(world: World) -> None:
    def recorded() -> int:
        path = play.folder / f"{WISHLIST}.traj.jsonl"
        data = path.read_bytes() if path.exists() else b""
        return data.count(b'"kind":"decided"') + data.count(b'"kind":"acted"')

    async with world.playing(f"task.ids=[{WISHLIST}]", "executor.lanes=1") as play:
        for _ in range(7):
            known = recorded()
            await play.until(lambda known=known: recorded() > known)  # type: ignore[misc]
            for worker in play.children("harness.evaluation.worker_main"):
                with suppress(psutil.NoSuchProcess):
                    worker.kill()
        assert await play.ended() == 0, play.text
    assert play.failures(WISHLIST) == []
    assert play.summary["passed"] == 1
    # Also those that killed workers had sent; some were killed with a permit, before they sent.
    assert play.summary["invocation"]["model_requests"] >= await asked(world)


async def asked(world: World) -> int:
    """How many requests to the model have arrived."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{world.endpoint_port}") as endpoint:
        return len((await endpoint.get("/__requests__")).json())


async def test_an_episode_whose_browser_lost_its_network_service_is_restored(world: World) -> None:
    async with world.playing(f"task.ids=[{WISHLIST}]") as play:
        await play.until(lambda: play.decisions >= 2)
        victims = play.children(NETWORK)
        assert victims
        for victim in victims:
            victim.kill()
        assert await play.ended() == 0, play.text
    assert play.failures(WISHLIST) == ["BrowserCrashed"]
    assert "Chromium's network service ended" in play.text
    assert play.episode(WISHLIST).scores["corrected"].value == 1.0


@pytest.mark.parametrize(
    ("word", "name"),
    [("harness.plugins.demo", "sites are"), ("harness.plugins.demo.model.model_server", "endpoint is")],
)
async def test_an_embedded_server_that_dies_is_started_again_and_the_run_goes_on(
    world: World, word: str, name: str
) -> None:
    embedded = ("sites.port=null", "llm.base_url=null", "llm.latency_ms=150")
    async with world.playing(f"task.ids=[{WISHLIST}]", *embedded) as play:
        await play.until(lambda: play.decisions >= 2)
        victims = [process for process in play.children(word) if word in process.cmdline()]
        assert len(victims) == 1
        victims[0].kill()
        assert await play.ended() == 0, play.text
    (line,) = [line for line in play.text.splitlines() if "restarted" in line]
    assert line.startswith("the ") and f"{name.split()[0]} ended with code -9 and {name.split()[1]} restarted" in line
    assert play.episode(WISHLIST).scores["corrected"].value == 1.0


async def test_a_signal_to_every_process_of_a_run_costs_neither_a_request_nor_an_attempt(world: World) -> None:
    """As Slurm and systemd end a run: the browser dies of it, and nothing else does."""
    async with world.playing(f"task.ids=[{WISHLIST}]") as play:
        while await asked(world) < 3:  # the third is about to be answered
            await play.until(lambda: True)
        for process in [*psutil.Process(play.process.pid).children(recursive=True), play.process]:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGTERM)
        assert await play.ended() == 130, play.text
        assert "stopping after the current steps" in play.text and "restarted" not in play.text
    async with world.playing(f"task.ids=[{WISHLIST}]") as play:
        assert await play.ended() == 0, play.text
    assert (play.failures(WISHLIST), await asked(world)) == ([], play.decisions)
    assert play.summary["passed"] == 1 and play.summary["doubts"] == 0


async def test_a_worker_that_alone_is_asked_to_end_is_replaced_after_its_step(world: World) -> None:
    async with world.playing(f"task.ids=[{WISHLIST}]") as play:
        await play.until(lambda: play.decisions >= 2)
        for worker in play.children("harness.evaluation.worker_main"):
            worker.terminate()
        assert await play.ended() == 0, play.text
    assert (play.failures(WISHLIST), play.summary["passed"]) == ([], 1)
    assert "stopping" not in play.text and "2 browser starts" in play.text


async def test_a_run_that_stood_still_is_charged_nothing_and_loses_no_worker(world: World) -> None:
    async with world.playing(f"task.ids=[{WISHLIST}]", "executor.silence_s=5") as play:
        await play.until(lambda: play.decisions >= 2)
        whole = [*psutil.Process(play.process.pid).children(recursive=True), psutil.Process(play.process.pid)]
        for process in whole:
            process.send_signal(signal.SIGSTOP)
        until = time.monotonic() + STOPPED_S
        await play.until(lambda: time.monotonic() > until)
        for process in reversed(whole):
            process.send_signal(signal.SIGCONT)
        assert await play.ended() == 0, play.text
    episode = play.episode(WISHLIST)
    assert play.failures(WISHLIST) == [] and "worker stopped" not in play.text
    longest_ms = max(max(step.decided.elapsed_ms, step.acted.elapsed_ms) for step in episode.steps)
    assert longest_ms < STOPPED_S * 1000
    assert episode.scores["corrected"].value == 1.0
