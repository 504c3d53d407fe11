"""Other people's programs play on the server: what they ship themselves is what drives it."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.plugins.environments.clients.connection import URL, Connection, EnvironmentFailed
from tests.e2e.conftest import environment
from tests.plugins.environments.conftest import Server, client
from tests.plugins.environments.stand import stand
from tests.waiting import alive, until, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.browser]

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "tasks" / "demo.json"


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not find_spec(package), reason=f"{package} is not installed: make test-environments")


def free(server: Server) -> None:
    wait_until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.slow
@needs("gymnasium")
@pytest.mark.filterwarnings("ignore")
def test_gymnasium_finds_nothing_wrong(server: Server) -> None:
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make("harness.plugins.environments.clients.gym:cairn/demo.0", url=server.url)
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=1)
    seen, reward, terminated, truncated, info = env.step("stop [x]")
    assert (reward, terminated, truncated, info["mask_sample"]) == (0.0, True, False, False)
    assert "Thimble" in seen["text"]
    env.close()
    free(server)


@pytest.mark.slow
@needs("gymnasium")
@pytest.mark.filterwarnings("ignore")
def test_a_vector_of_environments(server: Server) -> None:
    import gymnasium

    import harness.plugins.environments.clients.gym

    ids = {name for name in gymnasium.registry if name.startswith("cairn/demo.")}
    assert ids == {f"cairn/demo.{entry['task_id']}" for entry in json.loads(DEMO.read_bytes())}
    tasks = ("0", "1")
    made: list[Callable[[], Any]] = [
        lambda one=one: gymnasium.make(f"cairn/demo.{one}", url=server.url) for one in tasks
    ]
    both = gymnasium.vector.SyncVectorEnv(made)
    seen, infos = both.reset(seed=3)
    assert list(infos["task"]) == ["0", "1"] and seen["goal"][0] != seen["goal"][1]
    _, rewards, ended, _, _ = both.step(("stop [x]", "scroll [down]"))
    assert list(ended) == [True, False] and not any(rewards)
    both.close()
    assert harness.plugins.environments.clients.gym.register
    free(server)


@pytest.mark.slow
@needs("gymnasium")
@pytest.mark.filterwarnings("ignore")
def test_without_an_address_a_server_of_its_own_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(URL, raising=False)
    program = (
        "import gymnasium\n"
        "env = gymnasium.make('harness.plugins.environments.clients.gym:cairn/demo.1')\n"
        "seen, info = env.reset()\n"
        "print('task', info['task'])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "task 1\n", done.stderr


@needs("gymnasium")
@pytest.mark.slow
def test_the_first_program_of_the_page_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(URL, raising=False)
    page = (ROOT / "docs" / "pages" / "environments.md").read_text()
    program = page.partition('```python title="random_clicks.py"\n')[2].partition("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment()
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["0.0"] * 3, "nobody clicks the answer by chance"


@pytest.mark.slow
def test_the_connection_goes_on_when_the_server_is_killed(serve: Callable[..., Server]) -> None:
    server = serve("task=demo", "environments=1", "--port=0")
    one = Connection(server.url)
    assert one.reset(task="0")["observation"]["step"] == 0
    one.step("scroll [down]")
    port = server.url.rpartition(":")[2]
    server.kill()
    server.given = ("task=demo", "environments=1", f"--port={port}")
    server.start()
    assert one.step("scroll [up]")["observation"]["step"] == 2
    assert one.step("stop []")["done"]
    one.close()
    assert server.actions("0") == ["scroll [down]", "scroll [up]"]


@pytest.mark.slow
@needs("gymnasium")
@pytest.mark.filterwarnings("ignore")
def test_an_episode_that_reaches_a_limit_is_truncated(serve: Callable[..., Server]) -> None:
    import gymnasium
    import httpx

    server = serve("task=demo", "environments=1", "limits.max_steps=1")
    env = gymnasium.make("harness.plugins.environments.clients.gym:cairn/demo.0", url=server.url)
    env.reset()
    _, _, terminated, truncated, info = env.step("scroll [down]")
    assert (terminated, truncated, info["closed"], info["mask_sample"]) == (False, True, "MAX_STEPS", False)
    env.close()
    with httpx.Client(base_url=server.url, timeout=600) as http:
        http.post("/nemo/reset", json={"task": "0"})
        call = {"type": "function_call", "name": "scroll", "arguments": '{"direction": "down"}', "call_id": "c1"}
        step = http.post("/nemo/step", json={"output": [call]}).json()
        assert (step["terminated"], step["truncated"], step["mask_sample"]) == (False, True, False)

        def asked(url: str, method: str, **params: Any) -> Any:
            return http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).json()["result"]

        task = asked("/cube", "cube/spawn", task_config={"metadata": {"id": "0"}})
        asked(task, "cube/reset")
        step = asked(task, "cube/step", name="scroll", arguments={"direction": "down"})
        assert (step["done"], step["truncated"]) == (True, True)


@pytest.mark.slow
def test_trl_calls_tools_and_asks_for_the_reward(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.plugins.environments.clients.trl import CairnTools, reward

    monkeypatch.setenv(URL, server.url)
    one, other = CairnTools(), CairnTools()
    assert "Thimble" in one.reset(task="0", prompt="a column of the dataset") and "Front page" in other.reset(task="1")
    assert "does not exist" in one.click("99999") or "99999" in one.click("99999")
    assert one.scroll("down") and one.stop("x") == "The task has ended."
    assert reward(environments=[one, other]) == [0.0, 0.0], "a task that was not ended is not solved"
    tools = [name for name in vars(CairnTools) if not name.startswith("_") and name != "reset"]
    assert all(getattr(CairnTools, name).__doc__ for name in tools)
    free(server)


_CHECKS = """
[checks]
not_a_server_error.expected-statuses = ["2xx", "4xx", "503", "504"]

[[operations]]
include-path-regex = "^/(reset|fork)$"
checks.positive_data_acceptance.enabled = false  # a task or an episode of this name need not exist

[[operations]]
include-path-regex = "^/(mcp|cube)$"
checks.negative_data_rejection.enabled = false  # an error of JSON-RPC is an answer
"""


async def test_schemathesis_finds_the_server_as_it_describes_itself(tmp_path: Path) -> None:
    """A fuzzer sends what `/openapi.json` allows, and what it does not, and compares the answers with it."""
    if not (program := Path(sys.executable).with_name("schemathesis")).exists():
        pytest.skip("schemathesis is not installed: make test-environments")
    (tmp_path / "schemathesis.toml").write_text(_CHECKS)
    options = ("--phases=coverage,fuzzing", "--generation-deterministic", "--max-examples=10", "--no-color")
    async with stand(tmp_path / "run", slots=4) as there:
        process = await asyncio.create_subprocess_exec(
            *(program, "run", f"{there.url}/openapi.json", *options, "--suppress-health-check=all"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
        )
        out = (await process.communicate())[0].decode()
        assert process.returncode == 0, out
        assert "10 selected / 10 total" in out and "10 passed" in out, out
        await until(lambda: there.served.slots.taken == 0)


@pytest.mark.slow
async def test_nemo_gym_steps_with_whole_responses(server: Server) -> None:
    import httpx

    async with httpx.AsyncClient(base_url=f"{server.url}/nemo", timeout=600) as http:
        row = {"responses_create_params": {"input": []}, "task": "0", "agent_ref": {"name": "mine"}}
        reset = (await http.post("/reset", json=row)).json()
        assert "What does" in reset["observation"]
        assert "Thimble" in reset["observation"] and reset["info"]["supports_explicit_close"]
        call = {"type": "function_call", "name": "scroll", "arguments": '{"direction": "down"}', "call_id": "c1"}
        body = {"response": {"output": [{"type": "reasoning"}, call]}, "_ng_step_request_id": "r1"}
        step = (await http.post("/step", json=body)).json()
        assert step["info"]["tool_outputs"][0]["call_id"] == "c1" and not step["terminated"]
        assert (await http.post("/step", json=body)).json() == step
        wrong = (await http.post("/step", json={"output": [{**call, "arguments": "{"}]})).json()
        assert wrong["info"]["tool_outputs"][0]["output"].startswith("the arguments of scroll must be one JSON object")
        said = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "stop [x]"}]}]}
        end = (await http.post("/step", json=said)).json()
        assert (end["reward"], end["terminated"], end["mask_sample"]) == (0.0, True, False)
        assert (await http.post("/close")).json() == {"status": "closed"}
        assert (await http.post("/close")).json() == {"status": "already_closed"}
        for useless in ([], {}, {"output": 1}):
            assert (await http.post("/step", json=useless)).status_code == 422
    await until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.slow
async def test_the_actions_are_tools_of_mcp(server: Server) -> None:
    import httpx

    async with httpx.AsyncClient(base_url=server.url, timeout=600) as http:

        async def ask(method: str, **params: Any) -> dict[str, Any]:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return (await http.post("/mcp", json=body)).json()  # type: ignore[no-any-return]

        tools = (await ask("tools/list"))["result"]["tools"]
        assert {"click", "type", "stop"} <= {tool["name"] for tool in tools}
        made = (await ask("openenv/session/create", task="0"))["result"]
        scrolled = await ask(
            "tools/call", name="scroll", arguments={"direction": "down"}, session_id=made["session_id"], request_id="r"
        )
        assert scrolled["result"]["structuredContent"]["observation"]["step"] == 1
        wrong = await ask("tools/call", name="frob", arguments={}, session_id=made["session_id"])
        assert wrong["error"]["code"] == -32602
        assert (await ask("openenv/session/close", session_id=made["session_id"]))["result"]["closed"]
        assert "error" in await ask("openenv/session/close", session_id=made["session_id"])
        assert (await ask("frob"))["error"]["code"] == -32601
        assert (await http.post("/mcp", content=b"{")).json()["error"]["code"] == -32600
    async with client(server) as one:
        await one.reset(task="0")
        call = {"name": "scroll", "arguments": {"direction": "down"}}
        data = {"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": call}
        answer = await one.ask("mcp", data)
        assert answer["type"] == "mcp" and answer["data"]["id"] == "x"
        assert answer["data"]["result"]["structuredContent"]["observation"]["step"] == 1
    await until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.slow
def test_a_server_of_its_own_ends_though_its_client_is_killed() -> None:
    program = (
        "import sys\n"
        "from harness.plugins.environments.clients.own_server import own_server\n"
        "print(own_server(('task=demo', 'environments=1')), flush=True)\n"
        "sys.stdin.read()\n"
    )
    given = {name: value for name, value in environment().items() if name != URL}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=given
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        left = [one.pid for one in psutil.Process(process.pid).children(recursive=True)]
        assert address.startswith("http://") and left
        process.kill()
    wait_until(lambda: not alive(left))


@needs("openenv")
def test_openenv_validates_the_folder_of_the_example(tmp_path: Path) -> None:
    folder = shutil.copytree(DEMO.parents[1] / "docs" / "examples" / "openenv", tmp_path / "cairn_demo")
    (folder / "uv.lock").touch()  # `uv lock` writes it
    program = Path(sys.executable).with_name("openenv")
    done = subprocess.run([program, "validate", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Ready for multi-mode deployment" in done.stdout, done.stdout + done.stderr


@needs("openenv")
def test_openenv_validates_the_server(server: Server) -> None:
    program = Path(sys.executable).with_name("openenv")
    done = subprocess.run([program, "validate", "--url", server.url], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report["passed"], done.stdout
    assert report["standard_profile"] == "openenv-http/1.x" and report["mode"] == "simulation"


@needs("openenv")
@pytest.mark.filterwarnings("ignore")
async def test_openenvs_own_client_plays(server: Server) -> None:
    from openenv import GenericEnvClient

    async with GenericEnvClient(base_url=server.url) as env:
        first = await env.reset(task="0", seed=1)
        assert not first.done and first.observation["task"] == "0"
        assert (await env.step({"action_str": "scroll [down]"})).observation["step"] == 1
        assert (await env.state())["step_count"] == 1
        last = await env.step({"action_str": "stop [x]"})
        assert (last.done, last.reward) == (True, 0.0)
        with pytest.raises(RuntimeError, match="'task_name' is unknown"):
            await env.reset(task_name="1")
    await until(lambda: server.health()["active_sessions"] == 0)


def test_a_server_that_is_not_there_is_no_sample() -> None:
    with pytest.raises(EnvironmentFailed) as failed:
        Connection("http://127.0.0.1:1", patience_s=0).reset(task="0")
    assert failed.value.mask
