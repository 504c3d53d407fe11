"""What is left of sessions when clients, workers, browsers and the server itself are killed."""

import asyncio
import signal
from collections.abc import Callable

import psutil
import pytest
from websockets.exceptions import ConnectionClosed

from harness.runner.executors.supervisor import STARTS_WITHOUT_WORK
from harness.runs import Run
from tests.plugins.environments.conftest import Server, client
from tests.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.browser]


@pytest.mark.slow
async def test_a_killed_server_goes_on_where_the_journal_ends(serve: Callable[..., Server]) -> None:
    server = serve("task=demo", "environments=1")
    async with client(server) as one:
        await one.reset(task="0", episode_id="x", seed=7)
        await one.step("scroll [down]", request_id="a")
        server.kill()
        with pytest.raises(ConnectionClosed):
            await one.socket.recv()
    server.start()
    async with client(server) as one:
        assert (await one.reset(episode_id="x", resume=True))["observation"]["step"] == 1
        assert (await one.step("scroll [down]", request_id="a"))["observation"]["step"] == 1
        assert (await one.step("scroll [down]", request_id="b"))["observation"]["step"] == 2
        assert (await one.step("stop []"))["done"]
    episode = Run(server.folder).episode("0")
    assert episode.record.opened is not None and episode.record.opened.seed == 7
    assert [step.name for step in episode.steps] == ["scroll", "scroll", "stop"]


@pytest.mark.slow
async def test_a_session_survives_its_worker_and_its_browser(serve: Callable[..., Server]) -> None:
    server = serve("task=demo", "environments=1")
    async with client(server) as one:
        await one.reset(task="0")
        await one.step("scroll [down]")
        for process in server.workers():
            process.kill()
        assert (await one.step("scroll [up]"))["observation"]["step"] == 2
        for process in server.browsers():
            process.kill()
        assert (await one.step("scroll [down]"))["observation"]["step"] == 3
        for process in server.workers():
            process.kill()
        assert (await one.step("stop []"))["done"]
    assert server.actions("0") == ["scroll [down]", "scroll [up]", "scroll [down]"]
    await until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.slow
async def test_what_is_lost_for_good_is_an_error_and_never_a_reward(serve: Callable[..., Server]) -> None:
    server = serve("task=demo", "environments=1", "resume.max_attempts=1")
    async with client(server) as one:
        await one.reset(task="0", episode_id="x")
        for process in server.browsers():
            process.kill()
        lost = await one.refused("step", {"action_str": "click [5]"})
        assert lost["mask_sample"] is True and lost["failure_class"] and lost["failure_reason"], lost
        again = await one.refused("step", {"action_str": "click [5]"})
        assert again["failure_class"] == lost["failure_class"], "it stays what it was"
    await until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.slow
async def test_a_server_outlives_workers_that_are_killed_while_nobody_plays(serve: Callable[..., Server]) -> None:
    """More often in a row than would end a run: then a client that waits is told, and a later one plays."""
    server = serve("task=demo", "environments=1", "workers=1")
    for _ in range(STARTS_WITHOUT_WORK):
        await until(server.workers)
        for process in server.workers():
            await until(lambda process=process: _is_up(process))
            process.kill()
            process.wait()
    async with client(server) as one:
        answer = await one.ask("reset", {"task": "0", "episode_id": "x"})
        if answer["type"] == "error":
            assert answer["data"]["failure_class"] == "WorkerLost" and answer["data"]["mask_sample"], answer
            answer = await one.ask("reset", {"task": "0", "episode_id": "x", "resume": True})
        assert answer["type"] == "observation", answer
        assert (await one.step("stop []"))["done"]
    await until(lambda: server.health()["active_sessions"] == 0)


def _is_up(worker: psutil.Process) -> bool:
    """Whether it asked for a job: its browser has been started."""
    return any("headless" in one.name() or "chrom" in one.name() for one in worker.children(recursive=True))


@pytest.mark.slow
async def test_clients_that_are_gone_leave_no_slot_taken(serve: Callable[..., Server]) -> None:
    server = serve("task=demo", "environments=2", "--grace=0.2")
    for _ in range(3):
        for moment in (0.0, 0.1):
            async with client(server) as one:
                await one.reset()
            async with client(server) as one:
                asking = asyncio.create_task(one.ask("reset"))
                await asyncio.sleep(moment)
                one.socket.transport.abort()
                await asyncio.gather(asking, return_exceptions=True)
    await until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.slow
async def test_an_idle_session_ends_and_can_be_resumed(serve: Callable[..., Server]) -> None:
    server = serve("task=demo", "environments=1", "--lease=0.5")
    async with client(server) as one:
        await one.reset(task="0", episode_id="x")
        told = await one.socket.recv()
        assert "asked nothing for 0.5 s" in str(told)
        with pytest.raises(ConnectionClosed):
            await one.socket.recv()
    await until(lambda: server.health()["active_sessions"] == 0)
    async with client(server) as one:
        assert (await one.reset(episode_id="x", resume=True))["observation"]["step"] == 0


@pytest.mark.slow
async def test_a_server_that_is_asked_to_end_says_so_to_its_clients(serve: Callable[..., Server]) -> None:
    server = serve("task=demo", "environments=1")
    async with client(server) as one:
        await one.reset(task="0", episode_id="x")
        await one.step("scroll [down]", request_id="a")
        code = await asyncio.to_thread(server.kill, signal.SIGTERM)
        assert '"failure_class": "shutdown"' in str(await one.socket.recv())
    assert code == 0, server.out
    server.start()
    async with client(server) as one:
        assert (await one.reset(episode_id="x", resume=True))["observation"]["step"] == 1
