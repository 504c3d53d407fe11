"""Requests that are meant to do harm, or are a model's own words: each costs nobody but whoever sends it."""

import json
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError

from harness.actions import CairnActionSet
from harness.plugins.environments.agent import action_of
from harness.plugins.environments.ledger import Ledger
from harness.plugins.environments.problem import Problem
from harness.plugins.environments.wire import Order
from tests.plugins.environments.stand import stand
from tests.waiting import until

DEEP = json.dumps({"direction": json.loads("[" * 30 + "]" * 30)})


async def test_arguments_that_are_nested_without_end_cost_no_lane(tmp_path: Path) -> None:
    deep = json.loads("[" * 600 + "]" * 600)
    async with stand(tmp_path) as there:
        async with there.client() as one:
            await one.reset(task="0")
            refused = await one.refused("step", {"kind": "click", "target": deep})
            assert refused["code"] == "VALIDATION_ERROR" and "nested" in refused["message"]
            assert (await one.step("scroll [down]"))["observation"]["step"] == 1
        await until(lambda: there.served.slots.taken == 0)


@pytest.mark.parametrize("own", [{"timeout_s": 1e-9}, {"request_id": "r"}, {"metadata": {"timeout_s": 1e-9}}])
async def test_a_models_arguments_are_those_of_its_action_only(tmp_path: Path, own: dict[str, object]) -> None:
    """Else a model masks what it has done badly, as if the infrastructure had failed."""
    arguments = {"direction": "down", **own}
    async with stand(tmp_path, slots=3) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:

        async def rpc(path: str, method: str, **params: object) -> httpx.Response:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return await http.post(path, json=body)

        await http.post("/nemo/reset", json={"task": "0"})
        call = {"type": "function_call", "name": "scroll", "arguments": json.dumps(arguments), "call_id": "c"}
        nemo = (await http.post("/nemo/step", json={"output": [call]})).json()
        assert nemo["mask_sample"] is False
        made = (await rpc("/mcp", "openenv/session/create", task="0")).json()["result"]
        call = {"name": "scroll", "arguments": arguments, "session_id": made["session_id"]}
        mcp = (await rpc("/mcp", "tools/call", **call)).json()["result"]
        config = (await rpc("/cube", "cube/task_configs", task_id="0")).json()["result"][0]
        address = (await rpc("/cube", "cube/spawn", task_config=config)).json()["result"]
        await rpc(address, "cube/reset")
        cube = (await rpc(address, "cube/step", name="scroll", arguments=arguments)).json()["result"]
        assert mcp["structuredContent"]["observation"]["step"] == cube["info"]["step"] == 1
        orders = [one["order"] for one in there.lanes.orders]
        assert [(one["arguments"], one["memory"]) for one in orders] == [(arguments, None)] * 3


async def test_an_action_that_there_is_not_is_one_step_when_it_is_sent_again(tmp_path: Path) -> None:
    async with stand(tmp_path) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:

        async def rpc(path: str, method: str, **params: object) -> Any:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return (await http.post(path, json=body)).json()["result"]

        config = (await rpc("/cube", "cube/task_configs", task_id="0"))[0]
        address = await rpc("/cube", "cube/spawn", task_config=config)
        await rpc(address, "cube/reset")
        for _ in range(2):
            assert (await rpc(address, "cube/step", name="fly", request_id="r"))["info"]["step"] == 1
        assert len(there.lanes.orders) == 1


async def test_halves_of_surrogate_pairs_and_unfinished_addresses_are_answered(tmp_path: Path) -> None:
    async with stand(tmp_path) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:
        assert (await http.post("/reset", content=rb'{"\ud800": 1}')).status_code == 422
        listed = await http.post("/mcp", content=rb'{"jsonrpc": "2.0", "id": "\ud800", "method": "tools/list"}')
        assert listed.status_code == 200 and rb'"\ud800"' in listed.content
        assert (await http.get("/health", headers={"host": "["})).status_code == 401


async def test_a_row_of_nemo_gym_has_columns_that_are_not_ours(tmp_path: Path) -> None:
    """Its agent sends the whole row: always the model's parameters, and whatever the data set has beside them."""
    row = {"responses_create_params": {"input": []}, "task": "1", "seed": 7, "agent_ref": {"name": "mine"}, "n": 1}
    async with stand(tmp_path) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:
        begun = (await http.post("/nemo/reset", json=row)).json()["info"]["episode_id"]
        with Ledger(tmp_path) as ledger:
            [entry] = ledger.entries.values()
        assert (entry.episode_id, entry.task_id, entry.seed) == (begun, "1", 7)
        assert (await http.post("/nemo/reset", json={"task": "0", "n": 1})).status_code == 422


async def test_what_a_model_of_nemo_gym_thinks_is_not_its_action(tmp_path: Path) -> None:
    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "I click [1]."}]}
    said = {"type": "message", "content": [{"type": "output_text", "text": "stop [x]"}]}
    async with stand(tmp_path) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:
        await http.post("/nemo/reset", json={"task": "0"})
        await http.post("/nemo/step", json={"output": [thought, said]})
        assert [one["order"]["text"] for one in there.lanes.orders] == ["stop [x]"]


@pytest.mark.parametrize("called", [{"arguments": "{"}, {"arguments": "[]"}, {"name": "fly"}, {"arguments": DEEP}])
async def test_a_call_of_nemo_gyms_model_that_cannot_be_read_is_a_step(tmp_path: Path, called: dict[str, str]) -> None:
    call = {"type": "function_call", "name": "scroll", "arguments": "{}", "call_id": "c", **called}
    async with stand(tmp_path) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:
        await http.post("/nemo/reset", json={"task": "0"})
        step = await http.post("/nemo/step", json={"output": [call], "_ng_step_request_id": "r"})
        assert step.status_code == 200 and step.json()["terminated"] is False
        [told] = there.lanes.orders
    with pytest.raises(ValueError, match=r"one JSON object|no action 'fly'|nested more than 16 levels"):
        action_of(Order(**told["order"]), CairnActionSet())


async def test_a_text_of_nemo_gyms_model_that_is_too_long_is_a_step(tmp_path: Path) -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "stop [x]" + " " * 200_000}]}
    async with stand(tmp_path) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:
        await http.post("/nemo/reset", json={"task": "0"})
        assert (await http.post("/nemo/step", json={"output": [said]})).status_code == 200
        [told] = there.lanes.orders
    with pytest.raises(ValueError, match="200,008 characters"):
        action_of(Order(**told["order"]), CairnActionSet())


async def test_a_failure_is_no_reward_of_nemo_gym(tmp_path: Path) -> None:
    """Its agent knows no `mask_sample`: only a status says that there is no sample."""
    async with stand(tmp_path) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:
        await http.post("/nemo/reset", json={"task": "0"})
        [play] = there.served._plays.values()
        play.failure = Problem.infrastructure("BrowserCrashed", "the browser is gone")
        there.served._give_back(play, "its browser is gone")
        said = {"type": "message", "content": [{"type": "output_text", "text": "stop [x]"}]}
        answer = await http.post("/nemo/step", json={"output": [said]})
        assert answer.status_code == 500 and "reward" not in answer.text
        detail = answer.json()["detail"]
        assert (detail["mask_sample"], detail["failure_class"]) == (True, "BrowserCrashed")
        assert (await http.post("/nemo/close")).json() == {"status": "closed"}


async def test_what_nobody_foresaw_is_an_error_that_masks_the_sample_and_ends_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> dict[str, Any]:
        raise KeyError("lost")

    async with stand(tmp_path) as there, there.client() as one:
        await one.reset(task="0")
        monkeypatch.setattr(there.served, "state", fails)
        said = await one.refused("state", {})
        assert (said["failure_class"], said["failure_reason"], said["mask_sample"]) == ("KeyError", "'lost'", True)
        with pytest.raises(ConnectionClosedError, match="1011"):
            await one.refused("state", {})


async def test_of_parallel_calls_of_nemo_gym_the_first_is_performed_and_all_get_an_output(tmp_path: Path) -> None:
    call = {"type": "function_call", "name": "scroll", "arguments": '{"direction": "down"}'}
    calls = [{**call, "call_id": name} for name in "abc"]
    async with stand(tmp_path) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:
        await http.post("/nemo/reset", json={"task": "0"})
        step = (await http.post("/nemo/step", json={"output": calls})).json()
        assert len(there.lanes.orders) == 1
    outputs = step["info"]["tool_outputs"]
    assert [one["call_id"] for one in outputs] == ["a", "b", "c"] and step["observation"] is None
    assert "was not performed" not in outputs[0]["output"]
    assert all(one["output"].startswith("This call was not performed") for one in outputs[1:])


async def test_a_notification_of_mcp_gets_no_response_and_a_ping_gets_one(tmp_path: Path) -> None:
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    pong = {"jsonrpc": "2.0", "id": 1, "result": {}}
    async with stand(tmp_path) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:
        answer = await http.post("/mcp", json=told)
        assert (answer.status_code, answer.content) == (202, b"")
        assert (await http.post("/mcp", json=ping)).json() == pong
        async with connect(f"{there.url.replace('http', 'ws')}/mcp") as opened:
            await opened.send(json.dumps(told))
            await opened.send(json.dumps(ping))
            assert json.loads(await opened.recv()) == pong


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1", 401), ("0.0.0.0", 200)])
async def test_other_machines_ask_by_any_name_but_web_pages_never(tmp_path: Path, host: str, status: int) -> None:
    async with stand(tmp_path, host=host) as there, httpx.AsyncClient(base_url=there.url) as http:
        assert (await http.get("/health", headers={"host": "trainer.example:8000"})).status_code == status
        assert (await http.get("/health", headers={"origin": "http://evil.test"})).status_code == 401


async def test_it_is_served_at_an_address_of_ipv6(tmp_path: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with stand(tmp_path, host="::1") as there, httpx.AsyncClient(base_url=there.url) as http:
        assert (await http.get("/health")).json()["status"] == "healthy"
