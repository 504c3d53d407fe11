"""Hostile clients: one error each, and nobody else notices."""

import asyncio
import json
import socket
import struct
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed

from tests.plugins.environments.conftest import Client, Server, client
from tests.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.browser, pytest.mark.slow]

_DEEP: Any = None
for _ in range(900):
    _DEEP = [_DEEP]

RESETS: tuple[Any, ...] = (
    *(1, "x", [], [{}], True, _DEEP),
    *({"task": one} for one in ([], {}, True, 1.5, "", "../0", "0\x00", "0/../1", "x" * 200_000, "\ud800")),
    *({"seed": one} for one in ("1", 1.0, -1, 2**31, 10**400, [], {}, True)),
    *({"trial": one} for one in ("1", 0.5, -1, 10**6, [], True)),
    *({"episode_id": one} for one in ("", " ", "a/b", "..", "a\n", "é", "x" * 129, 7, [], {"$ne": ""})),
    *({"resume": one} for one in ("true", 1, [], {})),
    *({one: 1} for one in ("__class__", "task_name", "options", "", "x" * 10_000)),
    {"episode_id": "nobodys", "resume": True},
)
STEPS: tuple[Any, ...] = (
    *(1, "x", [], True, _DEEP),
    *({"action_str": one} for one in (None, 1, [], {}, "x" * 100_001, "\udfff")),
    *({"kind": one} for one in (None, 1, [], "", "perform", "cdp", "code", "__init__", "x" * 100_000)),
    *({"action_str": "x", "request_id": one} for one in ("", 1, [], "a b", "x" * 129)),
    *({"action_str": "x", "timeout_s": one} for one in ("1", -1, 0, 10**9, [], True)),
    *({"action_str": "x", one: 1} for one in ("reward", "done", "episode_id", "session_id")),
    {"action_str": "x", "metadata": 1},
    {"action_str": "x", "kind": "scroll"},
)


async def plays(one: Client, step: int) -> None:
    """Whoever else is connected goes on."""
    assert (await one.step("scroll [down]"))["observation"]["step"] == step


async def test_no_message_but_its_own_is_harmed(server: Server) -> None:
    assert len(RESETS) + len(STEPS) >= 60
    async with client(server) as honest, client(server) as hostile:
        await honest.reset(task="0")
        mine = (await honest.ask("state"))["data"]["episode_id"]
        for data in RESETS:
            assert (await hostile.refused("reset", data))["code"] == "VALIDATION_ERROR", str(data)[:200]
        for data in STEPS:
            assert (await hostile.refused("step", data))["code"] in ("VALIDATION_ERROR", "SESSION_ERROR"), str(data)[
                :200
            ]
        stolen = await hostile.refused("reset", {"episode_id": mine, "resume": True})
        assert stolen["code"] == "SESSION_ERROR"
        await plays(honest, 1)
    await until(lambda: server.health()["active_sessions"] == 0)


async def test_a_flood_is_answered_in_order_or_ended(server: Server) -> None:
    async with client(server) as honest, client(server) as hostile:
        await honest.reset(task="0")
        for _ in range(3000):
            await hostile.socket.send("{}")
        await plays(honest, 1)
        for _ in range(3000):
            assert json.loads(await hostile.socket.recv())["type"] == "error"
        await plays(honest, 2)
    await until(lambda: server.health()["active_sessions"] == 0)


async def test_half_open_and_silent_connections_cost_nothing(server: Server) -> None:
    place = urlsplit(server.url)
    silent = [socket.create_connection((place.hostname or "", place.port or 0)) for _ in range(40)]
    try:
        for one in silent[:20]:
            one.sendall(b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websock")
        async with client(server) as honest:
            await honest.reset(task="0")
            for one in silent[:20]:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.close()  # a reset, in the place of an orderly end
            await plays(honest, 1)
    finally:
        for one in silent:
            one.close()
    await until(lambda: server.health()["active_sessions"] == 0)


async def test_two_that_resume_the_same_episode_never_both_have_it(server: Server) -> None:
    async with client(server) as one:
        await one.reset(task="0", episode_id="wanted")
    async with client(server) as first, client(server) as second:
        wanted = {"episode_id": "wanted", "resume": True}
        answers = await asyncio.gather(first.ask("reset", wanted), second.ask("reset", wanted))
        assert sorted(answer["type"] for answer in answers) == ["error", "observation"]
    await until(lambda: server.health()["active_sessions"] == 0)


async def test_a_client_that_reads_nothing_holds_up_nobody(server: Server) -> None:
    async with client(server) as honest, client(server, max_queue=1) as slow:
        await honest.reset(task="0")
        await slow.reset(task="1")
        for _ in range(200):
            await slow.socket.send(json.dumps({"type": "reset", "data": {"frob": 1}}))
        await plays(honest, 1)
        slow.socket.transport.abort()
        with pytest.raises(ConnectionClosed):
            while True:
                await slow.socket.recv()
        await plays(honest, 2)
    await until(lambda: server.health()["active_sessions"] == 0)
