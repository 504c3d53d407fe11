"""Hostile clients of the environment server: one error each, and nobody else notices."""

import asyncio
import json
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from websockets.exceptions import ConnectionClosed

from tests.plugins.environments.conftest import Client, Server, client, serving
from tests.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.browser]

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
SCROLL = {"name": "scroll", "arguments": {"direction": "down"}}
CALL = {"type": "function_call", "name": "scroll", "arguments": '{"direction": "down"}', "call_id": "c"}


def rpc(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


HTTP: tuple[tuple[str, bytes], ...] = (
    *(("/reset", one) for one in (b"[]", b"1", b"\xff", b'{"task": 1e999}', b'{"task": NaN}', b"[" * 100_000, b'"x"')),
    *(("/reset", json.dumps(one).encode()) for one in ({"resume": True}, {"task": "0", "frob": 1}, {"seed": True})),
    *(("/step", json.dumps(one).encode()) for one in (1, {}, {"action": []}, {"action": {}}, {"action": {"kind": 1}})),
    ("/step", b'{"action": {"action_str": "x"}, "frob": 1}'),
    *(("/fork", json.dumps(one).encode()) for one in ([], {}, {"episode_id": "x"}, {"episode_id": "x", "step": 0})),
    *(("/fork", json.dumps({"episode_id": "x", "step": one}).encode()) for one in (-1, "0", True, 10**9)),
    *(("/fork", json.dumps({"episode_id": "x", "step": 0, "n": one}).encode()) for one in (0, -1, 257, "1")),
    *(("/nemo/reset", json.dumps(one).encode()) for one in ([], {"task": []}, {"task": "0", "verifier": 1})),
    *(("/nemo/step", json.dumps(one).encode()) for one in ([], {}, {"output": 1}, {"output": [1]}, {"response": {}})),
    *(
        ("/nemo/step", json.dumps({"output": [one]}).encode())
        for one in (CALL | {"arguments": "{"}, CALL | {"name": 1}, CALL)
    ),
    ("/nemo/step", json.dumps({"output": [{"type": "message", "content": [{"text": ["x"]}]}]}).encode()),
    ("/nemo/step", json.dumps({"output": [{"type": "message", "content": 5}]}).encode()),
    ("/nemo/step", json.dumps({"output": [CALL], "_ng_step_request_id": {}}).encode()),
)
"""Bodies that nobody can use, or that name sessions and episodes that are not the sender's."""
CALLS: tuple[tuple[str, Any], ...] = (
    *(
        ("/mcp", one)
        for one in (1, [], {}, {"jsonrpc": "1.0", "method": "tools/list"}, {"jsonrpc": "2.0", "method": 1})
    ),
    *(("/mcp", rpc("tools/call", one)) for one in ([], "x", {}, {"name": 1}, {"name": "scroll", "arguments": []})),
    *(("/mcp", rpc("tools/call", {**SCROLL, "session_id": one})) for one in (None, 1, "", "nobodys", [], "../x")),
    *(("/mcp", rpc("openenv/session/create", one)) for one in ({"task": "nobody"}, {"seed": "1"}, {"frob": 1})),
    *(("/mcp", rpc("openenv/session/close", {"session_id": one})) for one in (None, [], "nobodys")),
    *(
        ("/cube", one)
        for one in (1, [], {}, {"jsonrpc": "2.0", "method": []}, rpc("cube/info", []), rpc("x" * 10_000, {}))
    ),
    *(
        ("/cube", rpc("cube/spawn", {"task_config": one}))
        for one in (1, [], {}, {"metadata": []}, {"metadata": {"id": []}})
    ),
    *(("/cube", rpc("cube/tasks", {"offset": one})) for one in ("1", -1, True, 1.5, None, [])),
    *(
        ("/cube/nobodys", rpc(one, {}))
        for one in ("cube/reset", "cube/step", "cube/evaluate", "tools/call", "cube/status")
    ),
    *((f"/cube/{one}", rpc("cube/step", SCROLL)) for one in ("..", "%2e%2e", "%00", "x" * 4000)),
)
"""JSON-RPC requests of the same kinds: each is answered with an error that names no session of others."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two environments; every test leaves it as it found it, and in the end nothing has failed inside it."""
    os.environ.pop("CAIRN_SERVE_TOKEN", None)
    given = ("task=demo", "environments=2", "--queue=0.2", "--grace=1")
    with serving(tmp_path_factory.mktemp("hostile"), *given) as found:
        yield found
        assert "Traceback" not in found.out, found.out


async def plays(one: Client, step: int) -> None:
    """Whoever else is connected goes on."""
    assert (await one.step("scroll [down]"))["observation"]["step"] == step


@pytest.mark.sample(1)
@pytest.mark.parametrize("row", range(len(HTTP)))
def test_a_body_that_cannot_be_used_gets_one_error(server: Server, row: int) -> None:
    path, body = HTTP[row]
    answer = httpx.post(f"{server.url}{path}", content=body, timeout=600)
    assert answer.status_code in (400, 422, 503), answer.text
    detail = answer.json()["detail"]
    assert detail["code"] in ("INVALID_JSON", "VALIDATION_ERROR", "SESSION_ERROR") and "reward" not in detail
    assert len(answer.content) < 3000 and server.health()["active_sessions"] == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("row", range(len(CALLS)))
def test_a_call_that_cannot_be_done_gets_one_error(server: Server, row: int) -> None:
    path, body = CALLS[row]
    answer = httpx.post(f"{server.url}{path}", content=json.dumps(body), timeout=600)
    if answer.status_code in (401, 404, 405):  # such an address is none
        return
    error = answer.json()["error"]
    assert answer.status_code == 200 and "result" not in answer.json() and error["code"] < 0
    assert len(answer.content) < 5000 and server.health()["active_sessions"] == 0


def _raw(server: Server) -> socket.socket:
    place = urlsplit(server.url)
    return socket.create_connection((place.hostname or "", place.port or 0), timeout=600)


async def _huge_frame(server: Server, packed: str | None) -> None:
    async with client(server, compression=packed) as one:
        with pytest.raises(ConnectionClosed):
            await one.ask("step", {"action_str": "x" * (100 << 20)})


async def _many_fragments(server: Server) -> None:
    async with client(server) as one:
        with pytest.raises(ConnectionClosed):
            await one.socket.send("x" * (1 << 20) for _ in range(100))
            await one.socket.recv()


async def _pings(server: Server) -> None:
    async with client(server) as one:
        for _ in range(5000):
            await one.socket.ping()
        assert (await one.refused("step", {"action_str": "x"}))["code"] == "SESSION_ERROR"


async def _steps_ahead(server: Server) -> None:
    """Without a word of the answers: each is done in its turn."""
    async with client(server) as one:
        await one.reset(task="3")
        for number in range(6):
            action = f"scroll [{('down', 'up')[number % 2]}]"
            await one.socket.send(json.dumps({"type": "step", "data": {"action_str": action}}))
        steps = [json.loads(await one.socket.recv())["data"]["observation"]["step"] for _ in range(6)]
        assert steps == [1, 2, 3, 4, 5, 6]


async def _resets_and_gone(server: Server) -> None:
    for _ in range(20):
        async with client(server) as one:
            await one.socket.send(json.dumps({"type": "reset", "data": {"task": "2"}}))
            one.socket.transport.abort()


async def _many_connections(server: Server) -> None:
    opened = await asyncio.gather(*(asyncio.to_thread(_raw, server) for _ in range(150)))
    for one in opened:
        with suppress(OSError):
            one.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    for one in opened:
        one.close()


async def _slow_bodies(server: Server) -> None:
    opened = [_raw(server) for _ in range(20)]
    for one in opened:
        one.sendall(b"POST /reset HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n\r\n{")
    for one in opened:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()


async def _endless_body(server: Server) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b" " * (1 << 20)

    async with httpx.AsyncClient(timeout=600) as http:
        with suppress(httpx.WriteError):  # it stops to read
            assert (await http.post(f"{server.url}/reset", content=parts())).status_code == 422


async def _no_frames(server: Server) -> None:
    """After an honest handshake: reserved opcodes, frames without a mask, a length without an end."""
    key = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
    for frame in (b"\x8f\x00", b"\x83\x85aaaaxxxxx", b"\x81\x05hello", b"\x81\xff\x7f" + b"\xff" * 11, b"\xff" * 64):
        with _raw(server) as one:
            one.sendall(
                b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + key + b"\r\n"
            )
            assert (await asyncio.to_thread(one.recv, 4096)).startswith(b"HTTP/1.1 101")
            one.sendall(frame)
            with suppress(OSError):
                while await asyncio.to_thread(one.recv, 4096):  # until the server hangs up
                    pass


async def _other_action(server: Server) -> None:
    """A request id that was given for another action, over every protocol."""
    async with client(server) as one:
        await one.reset(task="4")
        await one.step("scroll [down]", request_id="a")
        assert "another action" in (await one.refused("step", {"action_str": "stop []", "request_id": "a"}))["message"]
        wrong = rpc("tools/call", {"name": "stop", "arguments": {"answer": ""}, "request_id": "a"})
        assert "error" in (await one.ask("mcp", wrong))["data"]
    async with httpx.AsyncClient(base_url=server.url, timeout=600) as http:
        await until(lambda: server.health()["active_sessions"] < 2)

        async def ask(path: str, body: Any) -> dict[str, Any]:
            return (await http.post(path, content=json.dumps(body))).json()  # type: ignore[no-any-return]

        await ask("/nemo/reset", {"task": "4"})
        await ask("/nemo/step", {"output": [CALL], "_ng_step_request_id": "a"})
        other = {**CALL, "arguments": '{"direction": "up"}'}
        told = await ask("/nemo/step", {"output": [other], "_ng_step_request_id": "a"})
        assert "another action" in told["detail"]["message"]
        await ask("/nemo/close", {})
        await until(lambda: server.health()["active_sessions"] < 2)
        spawn = rpc("cube/spawn", {"task_config": {"metadata": {"id": "4"}}})
        url = (await ask("/cube", spawn))["result"]
        await ask(url, rpc("cube/reset", {}))
        await ask(url, rpc("cube/step", {**SCROLL, "request_id": "a"}))
        told = await ask(url, rpc("cube/step", {"name": "final_step", "request_id": "a"}))
        assert "another action" in told["error"]["message"]
        await ask(url, rpc("cube/close", {}))


async def _others_sessions(server: Server) -> None:
    """A session of NeMo's cookie is none of MCP's for who does not know its name, nor an episode to be resumed."""
    async with httpx.AsyncClient(base_url=server.url, timeout=600) as owner, client(server) as thief:
        first = (await owner.post("/nemo/reset", json={"task": "5"})).json()
        episode = first["info"]["episode_id"]
        assert (await thief.refused("reset", {"episode_id": episode, "resume": True}))["code"] == "SESSION_ERROR"
        for name in (episode, "cairn_session", "0" * 32):
            asked = rpc("tools/call", {**SCROLL, "session_id": name})
            assert "error" in (await owner.post("/mcp", json=asked)).json()
            gone = await owner.post(f"/cube/{name}", json=rpc("cube/close", {}))
            assert gone.json()["result"] is None
        assert (await owner.post("/nemo/step", json={"output": [CALL]})).json()["terminated"] is False
        assert (await owner.post("/nemo/close")).json() == {"status": "closed"}


ATTACKS: dict[str, Callable[[Server], Awaitable[None]]] = {
    "frame of 100 MB": lambda server: _huge_frame(server, None),
    "frame of 100 MB, packed": lambda server: _huge_frame(server, "deflate"),
    "fragments": _many_fragments,
    "pings": _pings,
    "steps ahead": _steps_ahead,
    "resets and gone": _resets_and_gone,
    "many connections": _many_connections,
    "slow bodies": _slow_bodies,
    "endless body": _endless_body,
    "no frames": _no_frames,
    "request ids of other actions": _other_action,
    "sessions of others": _others_sessions,
}


@pytest.mark.hostile
@pytest.mark.parametrize("attack", ATTACKS)
async def test_who_plays_goes_on_beside_an_attack(server: Server, attack: str) -> None:
    async with client(server) as honest:
        await honest.reset(task="0")
        attacking = asyncio.ensure_future(ATTACKS[attack](server))
        await plays(honest, 1)
        await attacking
        await plays(honest, 2)
    await until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.hostile
async def test_there_is_no_other_way_in(server: Server) -> None:
    """Workers ask over the pipes on which they are told what to play."""
    async with client(server) as honest:
        await honest.reset(task="0")
        assert server.doors() == []
        assert server.process is not None
        sockets = psutil.Process(server.process.pid).net_connections(kind="unix")
        assert [one.laddr for one in sockets if one.laddr] == [], "nor a Unix socket with a name"
    await until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.hostile
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


@pytest.mark.hostile
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


@pytest.mark.hostile
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


@pytest.mark.hostile
async def test_two_that_resume_the_same_episode_never_both_have_it(server: Server) -> None:
    async with client(server) as one:
        await one.reset(task="0", episode_id="wanted")
    async with client(server) as first, client(server) as second:
        wanted = {"episode_id": "wanted", "resume": True}
        answers = await asyncio.gather(first.ask("reset", wanted), second.ask("reset", wanted))
        assert sorted(answer["type"] for answer in answers) == ["error", "observation"]
    await until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.hostile
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
