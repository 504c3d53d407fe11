"""Episodes that are played over OpenEnv's WebSocket, on the demo's sites, in a real browser."""

import asyncio
import json
from collections.abc import Callable

import httpx
import jsonschema
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from harness.runs import Run
from tests.plugins.environments.conftest import Client, Server, client
from tests.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.browser]


async def all_free(server: Server) -> None:
    """Whatever happened, every slot is given back."""
    await until(lambda: server.health()["active_sessions"] == 0)


async def test_an_episode_has_pages_a_state_and_a_score(server: Server) -> None:
    async with client(server) as one:
        first = await one.reset(task="0")
        assert (first["reward"], first["done"]) == (None, False)
        seen = first["observation"]
        assert seen["step"] == 0 and "Thimble and Oak" in seen["text"] and seen["goal"]
        second = await one.step("scroll [down]")
        assert second["observation"]["step"] == 1 and not second["done"]
        state = await one.ask("state")
        assert state["type"] == "state"
        assert state["data"]["step_count"] == 1 and state["data"]["episode_id"] == seen["episode_id"]
        end = await one.step("stop [nothing]")
        assert (end["reward"], end["done"]) == (0.0, True)
        schema = server.get("/schema").json()
        for answer in (first, second, end):
            jsonschema.validate(answer["observation"], schema["observation"])
        jsonschema.validate({"action_str": "scroll [down]"}, schema["action"])
        jsonschema.validate((await one.ask("state"))["data"], schema["state"])
        assert (await one.ask("state"))["data"]["reward"] == 0.0, "it may be asked for again"
        over = await one.refused("step", {"action_str": "scroll [down]"})
        assert over["code"] == "VALIDATION_ERROR" and "ended" in over["message"]
    await all_free(server)
    episode = Run(server.folder).episode("0", 0)
    assert episode.status == "failed" and [step.name for step in episode.steps] == ["scroll", "stop"]


@pytest.mark.slow
async def test_an_action_that_is_none_is_a_step_that_says_why(server: Server) -> None:
    async with client(server) as one:
        await one.reset(task="1")
        seen = (await one.step("frobnicate [1]"))["observation"]
        assert seen["last_action_error"] and "unknown action" in seen["error"] and seen["step"] == 1
        answer = await one.ask("step", {"kind": "scroll", "direction": "down"})
        assert answer["data"]["observation"]["step"] == 2
        assert not answer["data"]["observation"]["last_action_error"]
    await all_free(server)


async def test_a_request_that_was_answered_is_not_performed_again(server: Server) -> None:
    async with client(server) as one:
        first = await one.reset(task="2")
        done = await one.step("scroll [down]", request_id="a")
        again = await one.step("scroll [down]", request_id="a")
        assert again == done
        await one.step("scroll [up]", request_id="b")
        earlier = await one.step("scroll [down]", request_id="a")
        assert earlier["observation"]["step"] == 1 and earlier["observation"]["text"] == done["observation"]["text"]
        other = await one.refused("step", {"action_str": "scroll [up]", "request_id": "a"})
        assert other["code"] == "VALIDATION_ERROR" and "another action" in other["message"]
        end = await one.step("stop []", request_id="c")
        assert await one.step("stop []", request_id="c") == end
    trial = first["observation"]["trial"]
    assert len(server.actions("2", trial)) == 2
    await all_free(server)


async def test_an_episode_is_resumed_on_another_socket(server: Server) -> None:
    async with client(server) as one:
        seen = (await one.reset(task="3", episode_id="mine"))["observation"]
        assert seen["episode_id"] == "mine"
        await one.step("scroll [down]", request_id="a")
        async with client(server) as other:
            own = (await other.reset(task="4"))["observation"]["episode_id"]
            refused = await other.refused("reset", {"episode_id": "mine", "resume": True})
            assert refused["code"] == "SESSION_ERROR" and "held by another" in refused["message"]
            taken = await other.refused("reset", {"episode_id": "mine", "task": "4"})
            assert "has begun" in taken["message"]
            state = (await other.ask("state"))["data"]
            assert state["episode_id"] == own, "what is refused takes nothing away"
    async with client(server) as one:
        lives = await one.reset(episode_id="mine", resume=True)
        assert lives["observation"]["step"] == 1
        await one.ask("step", {"action_str": "scroll [down]", "request_id": "b"})
        await one.socket.send(json.dumps({"type": "close"}))
        with pytest.raises(ConnectionClosed):
            await one.socket.recv()
    await all_free(server)
    async with client(server) as one:  # it was given back, so the page is restored
        again = await one.reset(episode_id="mine", resume=True, task="3")
        assert again["observation"]["step"] == 2
        assert (await one.step("scroll [down]", request_id="b"))["observation"]["step"] == 2
        wrong = await one.refused("reset", {"episode_id": "mine", "resume": True, "task": "7"})
        assert "task=3" in wrong["message"]
        end = await one.reset(episode_id="mine", resume=True)
        assert not end["done"]
        ended = await one.step("stop []")
        assert (await one.reset(episode_id="mine", resume=True)) == ended
    await all_free(server)


@pytest.mark.slow
async def test_capacity_is_said_with_figures_and_a_free_slot_goes_to_the_next(server: Server) -> None:
    async with client(server) as one, client(server) as two, client(server) as three:
        await asyncio.gather(one.reset(task="5"), two.reset(task="5"))
        full = await three.refused("reset", {"task": "5"})
        assert full["code"] == "CAPACITY_REACHED"
        assert (full["active_sessions"], full["max_sessions"]) == (2, 2)
        await one.socket.send(json.dumps({"type": "close"}))
        seen = await _begun(three, task="5")
        assert seen["trial"] >= 2, "each has a trial of its own"
    await all_free(server)


async def _begun(one: Client, **wanted: object) -> dict[str, int]:
    while (answer := await one.ask("reset", wanted))["type"] == "error":
        assert answer["data"]["code"] == "CAPACITY_REACHED"
    return answer["data"]["observation"]  # type: ignore[no-any-return]


MISTAKES = (
    ("reset", {"task": "nope"}, "there is no task 'nope'"),
    ("reset", {"task_name": "0"}, "'task_name' is unknown"),
    ("reset", {"seed": "7"}, "seed must be a whole number"),
    ("reset", {"seed": True}, "seed must be a whole number"),
    ("reset", {"seed": 1e3}, "seed must be a whole number"),
    ("reset", {"trial": -1}, "trial must be a whole number"),
    ("reset", {"episode_id": "../x"}, "episode_id must be"),
    ("reset", {"episode_id": "unknown", "resume": True}, "there is no episode"),
    ("reset", {"resume": 1}, "resume must be true or false"),
    ("reset", [], "data must be an object"),
    ("step", {"action_str": "scroll [down]"}, "reset first"),
    ("step", {"action_str": 7}, "action_str must be a text"),
    ("step", {"action_str": "\ud800"}, "surrogate"),
    ("step", {"action_str": "x" * 100_001}, "100,001 characters"),
    ("step", {"action": "click"}, "'action' is unknown"),
    ("step", {}, "the action is missing"),
    ("step", {"kind": "frob"}, "there is no action 'frob'"),
    ("step", {"action_str": "x", "timeout_s": 0}, "timeout_s must be"),
    ("step", {"action_str": "x", "request_id": 1}, "request_id must be"),
    ("frob", {}, "no message of type 'frob'"),
)


@pytest.mark.slow
async def test_mistakes_are_refused_by_name_and_the_session_goes_on(server: Server) -> None:
    async with client(server) as one:
        for kind, data, words in MISTAKES:
            refused = await one.refused(kind, data)
            assert words in refused["message"], (kind, data, refused)
            assert refused["code"] in ("VALIDATION_ERROR", "UNKNOWN_TYPE", "SESSION_ERROR")
        for text in ("{", "", "[1]", '"x"', "[" * 100_000, '{"type": ["reset"]}', b"\xff\x00", '{"data": {}}'):
            await one.socket.send(text)
            answer = json.loads(await one.socket.recv())
            assert answer["data"]["code"] in ("INVALID_JSON", "VALIDATION_ERROR", "UNKNOWN_TYPE"), text
        assert not (await one.reset(task="6"))["done"]
    await all_free(server)


@pytest.mark.slow
async def test_a_frame_that_is_too_large_ends_its_own_session_only(server: Server) -> None:
    async with client(server) as one, client(server) as other:
        await asyncio.gather(one.reset(task="8"), other.reset(task="8"))
        with pytest.raises(ConnectionClosed):
            await one.ask("step", {"action_str": "x" * (100 << 20)})
        assert (await other.step("scroll [down]"))["observation"]["step"] == 1
        await other.socket.send(json.dumps({"type": "close"}))
        with pytest.raises(ConnectionClosed):
            await other.socket.recv()
        await until(lambda: server.health()["active_sessions"] <= 1)  # the lost client may resume for a while


@pytest.mark.slow
async def test_over_http_each_request_has_an_episode_of_its_own(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=600) as http:
        reset = (await http.post("/reset", json={"task": "9"})).json()
        assert reset["observation"]["step"] == 0 and reset["done"] is False
        step = (await http.post("/step", json={"action": {"action_str": "scroll [down]"}})).json()
        assert step["observation"]["step"] == 1
        assert (await http.get("/state")).json()["episode_id"] is None
        assert (await http.post("/reset", json={"frob": 1})).status_code == 422
        assert (await http.post("/step", json={"action": "x"})).status_code == 422
        assert (await http.post("/reset", content=b"{")).status_code == 400
        assert (await http.post("/reset", content=b" " * (2 << 20))).status_code == 422
        tasks = (await http.get("/tasks")).json()["tasks"]
        assert len(tasks) == 40 and {"task", "goal", "sites"} == set(tasks[0])
        assert (await http.get("/metadata")).json()["version"]
        assert (await http.get("/openapi.json")).json()["info"]["version"]
        web = await http.get("/health", headers={"Origin": "http://evil.test"})
        rebound = await http.get("/health", headers={"Host": "evil.test"})
        assert (web.status_code, rebound.status_code) == (401, 401)


async def test_a_web_page_cannot_open_a_socket(server: Server) -> None:
    with pytest.raises(InvalidStatus):
        async with client(server, origin="http://evil.test"):
            pass


@pytest.mark.slow
async def test_a_token_is_asked_for(serve: Callable[..., Server]) -> None:
    server = serve("task=smoke", "environments=1", CAIRN_SERVE_TOKEN="hush")
    assert server.get("/health").status_code == 401
    allowed = {"Authorization": "Bearer hush"}
    assert server.get("/health", allowed).json()["status"] == "healthy"
    with pytest.raises(InvalidStatus):
        async with client(server):
            pass
    async with client(server, additional_headers=allowed) as one:
        assert (await one.reset())["observation"]["step"] == 0
