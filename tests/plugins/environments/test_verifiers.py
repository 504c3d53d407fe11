"""verifiers' own evaluation, with its OpenEnv taskset, solves demo tasks on the server."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.plugins.environments.conftest import Server
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.browser,
    pytest.mark.skipif(not find_spec("verifiers"), reason="verifiers is not installed: make test-environments"),
]

PLANS = {
    "0": ("type {searchbox 'Search products'} [Storm Lantern] [1]", "stop [$44.50]"),
    "1": (
        *("click {link 'Boards'}", "click {link 'Night Trains'}", "select {combobox 'Sort by'} [Most votes]"),
        *("click {button 'Apply'}", "stop [The compartment door that would not lock]"),
    ),
    "2": (
        *("type {searchbox 'Search products'} [Ridge Flask] [1]", "click {link 'Ridge Flask 1 l'}"),
        *("clear {spinbutton 'Quantity'} [2] [0]", "click {button 'Add to cart'}", "stop []"),
    ),
    "3": ("click {link 'Issues'}", "click {checkbox 'bug'}", "click {button 'Apply filters'}", "stop []"),
    "4": (
        *("type {searchbox 'Search posts'} [cello] [1]", "click {link 'Travelling with a cello'}"),
        *("click {button 'Upvote'}", "stop []"),
    ),
}


def action(seen: dict[str, Any]) -> str:
    """The next one of the plan; of elements that look the same, the last."""
    line = PLANS[seen["task"]][seen["step"]]

    def found(one: re.Match[str]) -> str:
        pattern = r"\[(\d+)\] " + re.escape(one[1])
        return f"[{re.findall(pattern, seen['text'])[-1]}]"

    return re.sub(r"\{(.*?)\}", found, line)


class Model(BaseHTTPRequestHandler):
    """An endpoint of chat completions, which streams."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = asked["messages"][-1]["content"]
        said = said if isinstance(said, str) else "".join(part.get("text", "") for part in said)
        reply = json.dumps({"action_str": action(json.loads(said)["observation"])})
        head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "stub"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        delta = {"role": "assistant", "content": reply}
        parts: list[dict[str, Any]] = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {**head, "choices": [], "usage": usage},
        ]
        body = "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


@pytest.fixture
def model() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_five_demo_tasks_are_solved(server: Server, model: str, tmp_path: Path) -> None:
    resets = ", ".join(f'{{task = "{task}"}}' for task in PLANS)
    (tmp_path / "eval.toml").write_text(
        f'model = "stub"\npush = false\nnum_rollouts = 1\nmax_concurrent = 2\noutput_dir = "{tmp_path}/out"\n'
        f'[client]\nbase_url = "{model}"\napi_key_var = "STUB_KEY"\n'
        f'[env.taskset]\nid = "openenv"\nbase_url = "{server.url}"\nresets = [{resets}]\n'
        '[env.player.runtime]\ntype = "subprocess"\n[env.player.harness]\nid = "null"\n'
    )
    program = Path(sys.executable).with_name("vf-eval")
    done = subprocess.run(
        [program, "@", tmp_path / "eval.toml"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "STUB_KEY": "x"},
    )
    (traces,) = (tmp_path / "out").rglob("traces.jsonl")
    found = [trace for line in traces.read_text().splitlines() for trace in json.loads(line)["traces"]]
    rewards = [trace["rewards"]["openenv_reward"]["score"] for trace in found if trace["rewards"]]
    assert rewards == [1.0] * 5, done.stdout[-3000:]
    wait_until(lambda: server.health()["active_sessions"] == 0)
