"""Sessions whose workers are on the nodes of a Ray cluster, and what becomes of them when a node dies."""

import asyncio
import signal
import socket
import struct
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from harness.runner.process_tree import find_orphans
from harness.runs import Run
from tests.e2e.conftest import environment
from tests.e2e.ray_nodes import RAY, TwoNodes, of_node, two_nodes
from tests.plugins.environments.conftest import READY, Client, Server, client
from tests.plugins.environments.test_verifiers import PLANS, action
from tests.waiting import alive, until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'cairn-harness[ray]'"),
]
SLOW_S = 300
"""A node's first worker imports all of Ray, on a machine that may be busy."""

MOST_FAILURES = 20
"""An episode that fails so often never goes on."""


class Rollout:
    """One episode, played as a trainer does: what fails is resumed, and never taken for a reward."""

    def __init__(self, server: Server, task: str) -> None:
        self.server, self.task = server, task
        self.turn: dict[str, Any] = {"done": False}
        self.failures: list[dict[str, Any]] = []

    async def begin(self, one: Client) -> None:
        """Begin it, or go on with it, on this connection."""
        while True:
            answer = await one.ask("reset", {"task": self.task, "episode_id": f"e{self.task}", "resume": True})
            if self._took(answer):
                return

    async def step(self, one: Client) -> bool:
        """One step; False = it was not answered."""
        seen = self.turn["observation"]
        data = {"action_str": action(seen), "request_id": f"{self.task}-{seen['step']}"}
        return self._took(await one.ask("step", data))

    async def finish(self, one: Client) -> None:
        """Play it to its end."""
        while not self.turn["done"]:
            if not await self.step(one):
                await self.begin(one)

    def check(self) -> None:
        """It was solved, and each step of its plan was done once."""
        assert (self.turn["done"], self.turn["reward"]) == (True, 1.0), self.turn
        episode = Run(self.server.folder).episode(self.task, 0)
        asked = [step.decided.memory["request_id"] for step in episode.steps]
        assert asked == [f"{self.task}-{number}" for number in range(len(PLANS[self.task]))]
        assert episode.record.attempt == 1

    def _took(self, answer: dict[str, Any]) -> bool:
        data = answer["data"]
        if answer["type"] == "error":
            assert data["mask_sample"] is True and data["failure_class"] and "reward" not in data, data
            self.failures.append(data)
            assert len(self.failures) < MOST_FAILURES, self.failures[-3:]
            return False
        self.turn = data
        return True


def serve_on(serve: Callable[..., Server], cluster: TwoNodes, *given: str) -> Server:
    where = ("executor=ray", f"executor.address={cluster.address}", "executor.shared_fs=false")
    return serve("task=demo", "--grace=1", *where, *given, **RAY)


async def test_a_node_that_is_killed_is_an_error_and_the_session_goes_on_elsewhere(
    serve: Callable[..., Server],
) -> None:
    async with two_nodes() as cluster:
        server = serve_on(serve, cluster, "environments=2")
        rollouts = [Rollout(server, task) for task in ("2", "4")]  # a cart, and a vote: twice would be seen
        async with client(server) as first, client(server) as second:
            pairs = dict(zip((first, second), rollouts, strict=True))
            await asyncio.gather(*(rollout.begin(one) for one, rollout in pairs.items()))
            await asyncio.gather(*(rollout.step(one) for one, rollout in pairs.items()))
            lost = of_node(cluster.raylets[0], server.folder)
            assert lost and of_node(cluster.raylets[1], server.folder), "as large as the cluster, not as this machine"
            await cluster.kill(cluster.raylets[0])
            await until(lambda: not alive(process.pid for process in lost), SLOW_S)
            steps = {one: asyncio.create_task(rollout.step(one)) for one, rollout in pairs.items()}
            (done,), _ = await asyncio.wait(steps.values(), return_when=asyncio.FIRST_COMPLETED)
            left = next(one for one, step in steps.items() if step is done)
            gone = second if left is first else first
            assert done.result() is True, "whose node lives notices nothing"
            assert await steps[gone] is False, "no lane is left for it"
            assert pairs[gone].failures[-1]["failure_class"] == "WorkerLost"
            assert "waits for resources on the cluster" in pairs[gone].failures[-1]["failure_reason"]
            await pairs[left].finish(left)
            await pairs[gone].begin(gone)
            assert pairs[gone].turn["observation"]["step"] == 1
            await pairs[gone].finish(gone)
            assert pairs[left].failures == []
        for rollout in rollouts:
            rollout.check()
        code = await asyncio.to_thread(server.kill, signal.SIGTERM)
        assert code == 0, server.out
        await until(lambda: find_orphans(server.folder) == [])


async def test_steps_that_are_performed_while_a_node_is_killed_are_done_once(serve: Callable[..., Server]) -> None:
    async with two_nodes() as cluster:
        server = serve_on(serve, cluster, "environments=4", "executor.lanes=2")
        rollouts = [Rollout(server, task) for task in ("1", "2", "3", "4")]

        async def played(rollout: Rollout, begun: asyncio.Barrier) -> None:
            async with client(server) as one:
                await rollout.begin(one)
                await rollout.step(one)
                await begun.wait()
                await rollout.finish(one)

        async def killing(begun: asyncio.Barrier) -> None:
            await begun.wait()
            await cluster.kill(cluster.raylets[1])

        begun = asyncio.Barrier(len(rollouts) + 1)
        await asyncio.gather(killing(begun), *(played(rollout, begun) for rollout in rollouts))
        for rollout in rollouts:
            rollout.check()


async def test_a_cluster_that_is_not_there_is_one_sentence_before_any_client_comes(tmp_path: Path) -> None:
    given = ("serve", "task=demo", "--port=0", "executor=ray", "executor.address=127.0.0.1:1", f"run.root={tmp_path}")
    done = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "harness.main", *given),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(),
    )
    out, err = await done.communicate()
    assert done.returncode == 2 and READY.encode() not in out, out
    assert err.startswith(b"harness: executor.address=127.0.0.1:1: no answer (") and err.count(b"\n") == 1, err


GARBAGE = (b"", b"\x00" * 4096, b"GET / HTTP/1.1\r\n\r\n", b'{"task_id": "0", "steps": 0}\n', b"\xff" * (1 << 20))


async def test_strangers_at_the_ports_of_a_server_on_a_cluster_learn_and_hold_up_nothing(
    serve: Callable[..., Server],
) -> None:
    """Workers ask over Ray's own connections; the environment server opens no port for them."""
    server = serve("task=demo", "environments=1", "executor=ray", "executor.shared_fs=false")
    rollout = Rollout(server, "2")
    async with client(server) as one:
        await rollout.begin(one)
        ports = server.doors()
        strangers = [(found, data) for port in ports for data in GARBAGE if (found := reach(port)) is not None]
        assert strangers, "of Ray"
        try:
            said = [await asyncio.to_thread(say, *pair) for pair in strangers]
            half_open = [found for port in ports for _ in range(20) if (found := reach(port)) is not None]
            await rollout.finish(one)
            for stranger in half_open:
                stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                stranger.close()
        finally:
            for stranger, _ in strangers:
                stranger.close()
    rollout.check()
    assert rollout.failures == []
    assert await asyncio.to_thread(server.kill, signal.SIGTERM) == 0, server.out
    assert not [answer for answer in said if b"task" in answer or b"Ridge Flask" in answer]


def reach(place: tuple[str, int]) -> socket.socket | None:
    """None = Ray has closed it since it was listed, or answers nobody in time."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(place[0], place[0])
    try:
        return socket.create_connection((host, place[1]), timeout=2)
    except OSError:
        return None


def say(stranger: socket.socket, data: bytes) -> bytes:
    """Say it, and give what is answered within two seconds."""
    try:
        stranger.sendall(data)
        return stranger.recv(1 << 16)
    except OSError:
        return b""
