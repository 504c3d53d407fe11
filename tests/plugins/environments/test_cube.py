"""CUBE's JSON-RPC: the documented shapes, field by field, and cube-standard's own client where `make test-environments`
could install it."""

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.plugins.environments.conftest import Server, client
from tests.waiting import until, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.browser]

ROOT = Path(__file__).resolve().parents[3]
CUBE_PYTHON = Path(os.environ.get("CAIRN_CUBE_PYTHON", ROOT / ".venv-cube" / "bin" / "python"))

OWN_CLIENT = """
import sys
from cube.benchmark import BenchmarkMetadata
from cube.client import BenchmarkClient
from cube.core import ActionSchema, Content, EnvironmentOutput, ImageContent, Observation
from cube.task import TaskMetadata

bench = BenchmarkClient(sys.argv[1])
assert BenchmarkMetadata.model_validate(bench.info()).num_tasks == 40
assert [TaskMetadata.model_validate(one).id for one in bench.tasks(offset=2, limit=2)] == ["2", "3"]
config, = bench.task_configs(task_id="0")
task = bench.spawn(config)
schemas = [ActionSchema.model_validate(one) for one in task.tools_list()]
assert {"click", "stop", "final_step"} <= {one.name for one in schemas}
assert all(one.validate_param_descriptions()[0] for one in schemas), schemas
first = Observation.model_validate(task.reset()["obs"])
assert "goal" in [one.name for one in first.contents] and first.error is None
seen = EnvironmentOutput.model_validate(task.step("scroll", {"direction": "down"}, action_id="c1"))
assert not seen.done and {one.tool_call_id for one in seen.obs.contents} == {"c1"}
wrong = EnvironmentOutput.model_validate(task.step("frobnicate", {"x": 1}))
assert wrong.error is not None and not wrong.done and wrong.obs.error is not None
assert Observation.model_validate(task.tools_call("scroll", {"direction": "up"})).to_llm_messages()
assert Content.model_validate(task.privileged_info()).data == {}
assert "going on" in task.status()
last = EnvironmentOutput.model_validate(task.step("final_step"))
assert last.done and last.reward == task.evaluate()["reward"] == task.evaluate()["reward"] == 0.0
task.close()
task.close()
bench.shutdown()
print("played")
"""


class Caller:
    """Sends JSON-RPC requests to an address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, method: str, **params: Any) -> Any:
        answer = self.whole({"jsonrpc": "2.0", "method": method, "params": params, "id": 7})
        assert answer["id"] == 7 and "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, **params: Any) -> dict[str, Any]:
        answer = self.whole({"jsonrpc": "2.0", "method": method, "params": params, "id": 7})
        assert answer["id"] == 7 and "result" not in answer, answer
        return answer["error"]  # type: ignore[no-any-return]

    def whole(self, body: object) -> dict[str, Any]:
        answer = httpx.post(self.url, content=json.dumps(body), timeout=600)
        assert answer.status_code == 200 and answer.json()["jsonrpc"] == "2.0"
        return answer.json()  # type: ignore[no-any-return]


def spawned(bench: Caller, task: str, seed: int | None = None) -> Caller:
    [config] = bench("cube/task_configs", task_id=task)
    return Caller(bench("cube/spawn", task_config={**config, "seed": seed}))


def named(obs: dict[str, Any]) -> dict[str, Any]:
    assert set(obs) == {"contents", "error", "_type"}
    assert all(set(one) == {"tool_call_id", "name", "data", "_type"} for one in obs["contents"])
    return {one["name"]: one["data"] for one in obs["contents"]}


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/", "/cube"])
def test_the_benchmark_lists_its_tasks(server: Server, path: str) -> None:
    bench = Caller(f"{server.url}{path}")
    about = bench("cube/info")
    assert {"name", "version", "description", "num_tasks", "authors", "license", "tags"} <= set(about)
    assert about["num_tasks"] == len(bench("cube/tasks")) == len(bench("cube/task_configs")) == 40
    assert [one["id"] for one in bench("cube/tasks", offset=1, limit=2)] == ["1", "2"]
    [one] = bench("cube/tasks", task_id="17")
    assert one["split"] == "test" and one["abstract_description"] and one["container_config"] is None
    assert bench("cube/shutdown") is None


@pytest.mark.slow
def test_a_task_is_played_to_its_score(server: Server) -> None:
    bench = Caller(server.url)
    task = spawned(bench, "0", seed=5)
    assert server.health()["active_sessions"] == 0, "an environment is taken by the reset"
    assert task("cube/status").startswith("no episode")
    first = task("cube/reset")
    assert set(first) == {"obs", "info"} and named(first["obs"])["goal"] and "Thimble" in named(first["obs"])["page"]
    step = task("cube/step", name="scroll", arguments={"direction": "down"}, action_id="call_0")
    assert set(step) == {"obs", "reward", "done", "truncated", "info", "error", "_type"}
    assert {one["tool_call_id"] for one in step["obs"]["contents"]} == {"call_0"}
    again = task("cube/step", name="scroll", arguments={"direction": "down"}, action_id="call_0")
    assert again["info"]["step"] == 2, (
        "models number their calls from 0 in each answer: an id of a call is not a request id"
    )
    refused = task("tools/call", name="click", arguments={"target": "99999"})
    assert refused["error"]["error_type"] == "ActionRefused" and "99999" in named(refused)["error"]
    unknown = task("cube/step", name="frob\ud800", arguments={"x": [1]})
    assert "frob" in unknown["error"]["exception_str"] and unknown["done"] is False
    score = task("cube/evaluate")
    assert (score["reward"], task("cube/evaluate")) == (0.0, score)
    assert task.error("cube/step", name="scroll", arguments={"direction": "up"})["code"] == -32602
    assert "done, reward 0.0" in task("cube/status")
    second = task("cube/reset")
    assert second["info"]["trial"] == first["info"]["trial"] + 1 and second["info"]["step"] == 0
    assert (task("cube/close"), task("cube/close")) == (None, None)
    assert "spawn it" in task.error("cube/step", name="scroll")["message"]
    wait_until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.slow
def test_a_step_with_a_request_id_is_done_once_and_an_episode_goes_on_in_another_task(server: Server) -> None:
    bench = Caller(server.url)
    task = spawned(bench, "1")
    place = task("cube/reset")["info"]["episode_id"]
    asked = {"name": "scroll", "arguments": {"direction": "down"}, "request_id": "r1"}
    assert task("cube/step", **asked)["info"]["step"] == 1
    assert task("cube/step", **asked)["info"]["step"] == 1
    other = spawned(bench, "1")
    assert "held by another" in other.error("cube/reset", episode_id=place, resume=True)["message"]
    task("cube/close")
    gone_on = other("cube/reset", episode_id=place, resume=True)
    assert (gone_on["info"]["episode_id"], gone_on["info"]["step"]) == (place, 1)
    assert other("cube/step", **asked)["info"]["step"] == 1
    assert spawned(bench, "2").error("cube/reset", episode_id=place, resume=True)["code"] == -32602
    other("cube/close")
    wait_until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.slow
async def test_a_failure_is_an_error_and_never_a_reward(server: Server) -> None:
    import asyncio

    bench = Caller(server.url)
    async with client(server) as one, client(server) as two:
        await asyncio.gather(one.reset(task="0"), two.reset(task="1"))
        task = await asyncio.to_thread(spawned, bench, "2")
        error = await asyncio.to_thread(task.error, "cube/reset")
        assert error["code"] == -32000 and error["data"]["code"] == "CAPACITY_REACHED"
        assert "reset first" in (await asyncio.to_thread(task.error, "cube/evaluate"))["message"]
    await until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.slow
def test_what_cannot_be_used_is_refused_by_name(server: Server) -> None:
    bench = Caller(server.url)
    task = spawned(bench, "0")
    assert bench.whole({})["error"]["code"] == task.whole({})["error"]["code"] == -32600
    assert bench.whole([])["error"]["code"] == -32600
    assert httpx.post(bench.url, content=b"{").json()["error"]["code"] == -32700
    assert bench.error("cube/frob")["code"] == task.error("cube/info")["code"] == -32601
    for method, params in (
        ("cube/tasks", {"frob": 1}),
        ("cube/tasks", {"offset": "1"}),
        ("cube/tasks", {"limit": -2}),
        ("cube/spawn", {}),
        ("cube/spawn", {"task_config": {"metadata": {"id": 7}}}),
        ("cube/spawn", {"task_config": {"metadata": {"id": "nobody"}}}),
        ("cube/spawn", {"task_config": {"metadata": {"id": "0"}, "seed": "x"}}),
        ("cube/spawn", {"task_config": {"metadata": {"id": "0"}}, "port": 9}),
    ):
        assert bench.error(method, **params)["code"] == -32602, (method, params)
    for method, params in (
        ("cube/reset", {"task": "1"}),
        ("cube/reset", {"seed": -1}),
        ("cube/step", {}),
        ("cube/step", {"name": ""}),
        ("cube/step", {"name": "scroll", "arguments": [1]}),
        ("cube/step", {"name": "scroll", "frob": 1}),
        ("cube/evaluate", {"frob": 1}),
    ):
        assert task.error(method, **params)["code"] == -32602, (method, params)
    assert Caller(f"{bench.url}/cube/nobody").error("cube/status")["code"] == -32000
    assert Caller(f"{bench.url}/cube/nobody")("cube/close") is None
    task("cube/close")


@pytest.mark.slow
def test_pictures_and_actions_that_are_written_as_text(serve: Any) -> None:
    server = serve(
        *("task=smoke", "environments=1", "observation.type=accessibility_tree+image", "action_set=playwright"),
        CAIRN_SERVE_TOKEN="hush",
    )
    assert httpx.post(server.url, json={}).status_code == 401
    bench = Caller(f"{server.url}/?token=hush")
    task = spawned(bench, bench("cube/tasks")[0]["id"])
    assert task.url.endswith("?token=hush")
    shown = named(task("cube/reset")["obs"])["screenshot"]
    assert [one["name"] for one in task("tools/list")] == ["act", "final_step"]
    done = task("cube/step", name="act", arguments={"action_str": "page.goto('about:blank')"})
    assert done["info"]["step"] == 1
    assert task.error("cube/step", name="click", arguments={"target": "1"})["code"] == -32602
    assert task("cube/step", name="final_step")["done"]
    assert base64.b64decode(shown.removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")
    task("cube/close")


@pytest.mark.skipif(not CUBE_PYTHON.exists(), reason="cube-standard is not installed: make test-environments")
def test_cubes_own_client_plays(server: Server) -> None:
    done = subprocess.run([CUBE_PYTHON, "-c", OWN_CLIENT, server.url], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("played\n"), done.stdout + done.stderr
    wait_until(lambda: server.health()["active_sessions"] == 0)
    assert json.loads((server.folder / "run.json").read_text())
