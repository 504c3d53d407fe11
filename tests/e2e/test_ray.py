"""Workers in Ray actors: a node that is killed costs no episode and no decision, whichever way records reach the run
folder.
"""

import signal
from collections import Counter
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from harness.errors import ConfigError
from harness.plugins.clusters.ray_cluster import RayClusterSpec, on_cluster
from harness.runner.process_tree import find_orphans
from tests.e2e.ray_nodes import RAY, of_node, two_nodes
from tests.e2e.trouble import Play, TroubledSites, World, troubled_world
from tests.waiting import alive

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'cairn-harness[ray]'"),
]
TASKS = "task.ids=[0,3,12,19]"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with troubled_world(tmp_path, TroubledSites(), latency_ms=300) as world:
        yield world


def scores(play: Play) -> list[tuple[Any, ...]]:
    return sorted((r["task_id"], r["status"], r["score"], r["steps"]) for r in play.summary["results"])


async def asked(world: World) -> Counter[tuple[str, int]]:
    """How often each decision was asked for."""
    async with httpx.AsyncClient() as client:
        log = (await client.get(f"http://127.0.0.1:{world.endpoint_port}/__requests__")).json()
    return Counter((one["task_id"], one["step"]) for one in log)


@pytest.mark.parametrize("shared_fs", ["null", "false"], ids=["shared file system", "through the driver"])
async def test_a_node_killed_in_the_middle_costs_no_score_and_one_decision_at_most(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_fs: str
) -> None:
    for name, value in RAY.items():
        monkeypatch.setenv(name, value)
    async with world.playing(TASKS, "executor=inline", root=tmp_path / "reference") as reference:
        assert await reference.ended() == 0, reference.text
    before = await asked(world)
    async with two_nodes() as cluster:
        where = (
            "executor=ray",
            f"executor.address={cluster.address}",
            f"executor.shared_fs={shared_fs}",
            "workers=null",
            "executor.lanes=1",
        )
        async with world.playing(TASKS, *where) as play:
            await play.until(lambda: all(of_node(raylet, play.folder) for raylet in cluster.raylets))
            await play.until(lambda: play.decisions >= 5)
            lost = of_node(cluster.raylets[0], play.folder)
            assert any("chrom" in process.name() for process in lost)
            await cluster.kill(cluster.raylets[0])
            await play.until(lambda: not alive(process.pid for process in lost))
            assert await play.ended() == 0, play.text
    assert "2 workers × 1 lane: 2 cores on 2 nodes" in play.text, "as large as the cluster, not as this machine"
    assert scores(play) == scores(reference)
    twice = {decision: times for decision, times in (await asked(world) - before).items() if times > 1}
    assert sum(times - 1 for times in twice.values()) <= 1, "one lane was lost"
    assert find_orphans(play.folder) == []
    assert "Traceback" not in play.text


async def test_ctrl_c_leaves_the_records_and_nothing_else_and_the_run_goes_on(world: World) -> None:
    alone = ("executor=ray", "executor.shared_fs=false")
    async with world.playing(TASKS, *alone) as play:
        await play.until(lambda: play.decisions >= 2)
        (own,) = [
            connection for connection in psutil.Process(play.process.pid).net_connections() if listens(connection)
        ]
        assert own.laddr.ip.endswith("127.0.0.1"), "a cluster of its own is nobody else's business"
        play.process.send_signal(signal.SIGINT)
        assert await play.ended() == 130, play.text
        kept = play.decisions
    assert "Traceback" not in play.text
    assert find_orphans(play.folder) == []
    async with world.playing(TASKS, "executor=inline") as play:
        assert await play.ended() == 0, play.text
    assert play.summary["passed"] == 4
    assert play.summary["invocation"]["model_requests"] == play.decisions - kept


async def test_a_cluster_that_does_not_come_up_in_time_is_one_sentence(world: World) -> None:
    async with world.playing(TASKS, "executor=ray") as play:
        await play.until(lambda: bool(raylets(play)))
        for process in raylets(play):
            process.suspend()  # as slow as on a machine that is far too busy
        code = await play.ended()
    assert code == 2 and play.text.count("Ray does not start on this machine: ") == 1, play.text
    assert "Traceback" not in play.text and "internal error" not in play.text
    assert raylets(play) == []


def raylets(play: Play) -> list[psutil.Process]:
    """Of the run's own cluster; they carry the mark that all processes of a run inherit.

    One that has ended but that nobody has waited for yet does nothing any more.
    """
    running = [process for process in find_orphans(play.folder) if process.is_running()]
    return [one for one in running if one.name() == "raylet" and one.status() != psutil.STATUS_ZOMBIE]


def listens(connection: Any) -> bool:
    return bool(connection.status == psutil.CONN_LISTEN)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "head", "ray://head:10001", "head:port"])
async def test_an_address_where_no_cluster_is_is_told_at_once(tmp_path: Path, address: str) -> None:
    cluster = RayClusterSpec(address=address, workers=1, cpus=1)
    with (
        pytest.raises(ConfigError, match=f"^executor.address={address}"),
        on_cluster(cluster, (), tmp_path, silence_s=4),
    ):
        pass
