"""The demo over every interface of a model, and what a model said found in the run folder, byte for byte."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from tests.e2e.conftest import Start

pytestmark = [pytest.mark.browser, pytest.mark.integration]

SECRET = "canary-of-a-header-0123456789"
CALLER = '''
import json
from hashlib import sha256

from harness.api import Click, Decision, Message, Stop, Target, Tool, resolve

TEXT = {"type": "string"}
TOOLS = [
    Tool(name="click", description="", parameters={"type": "object", "properties": {"id": TEXT}}),
    Tool(name="stop", description="", parameters={"type": "object", "properties": {"answer": TEXT}}),
]


class Caller:
    """Acts by calling tools, and remembers the sha256 of each answer of the endpoint."""

    def __init__(self, model):
        self._model = model

    async def decide(self, task, episode, observation, /):
        seen, done = observation.observation, [step.decided.action.render() for step in episode.steps]
        history = "\\n".join(f"{number}. {line}" for number, line in enumerate(done, start=1))
        user = f"OBSERVATION:\\n{seen.text}\\nURL:\\n{seen.url}\\nOBJECTIVE:\\n{task.intent}\\nPREVIOUS ACTIONS:\\n{history}"
        messages = (Message(role="system", content="click [id] clear [id]"), Message(role="user", content=user))
        reply = await self._model.ask(messages, TOOLS)
        (call,) = reply.tool_calls
        given = json.loads(call.arguments)
        action = Stop(answer=given["answer"]) if call.name == "stop" else Click(target=Target(id=given["id"]))
        memory = [*(episode.memory or []), sha256(reply.raw).hexdigest()]
        return Decision(action=resolve(action, observation.nodes), messages=messages, reply=reply, memory=memory)
'''


@pytest.mark.sample(1)
@pytest.mark.parametrize("api", ["responses", "messages", "chat"])
def test_the_demo_passes_over_every_interface(start: Callable[..., Start], api: str) -> None:
    ended = start(
        *(
            "task=smoke",
            "task.limit=3",
            f"llm.api={api}",
            "fail_under=1.0",
            "executor=inline",
            "+llm.headers.x-api-key=" + SECRET,
        ),
        env={"ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"},
    )
    assert ended.code == 0, ended.out + ended.err
    assert ended.summary["passed"] == ended.summary["tasks"] == 3
    is_cached = api != "messages"  # what is marked there is shorter than Anthropic caches
    assert (ended.summary["cache"]["read_tokens"] > 0) == ("prompt cache: " in ended.out) == is_cached
    for path in ended.folder.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert SECRET.encode() not in content and b"sk-ant-canary" not in content, path


@pytest.mark.slow
@pytest.mark.parametrize("api", ["messages", "responses", "chat"])
def test_a_reply_of_tool_calls_is_in_the_run_folder(start: Callable[..., Start], tmp_path: Path, api: str) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    ended = start(
        *(
            "agent._target_=caller.Caller",
            "agent.name=caller",
            "task.ids=[6]",
            "executor=inline",
            f"llm.api={api}",
            "llm.model=gpt-5",
        ),
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert ended.code == 0 and ended.summary["passed"] == 1, ended.out + ended.err
    lines = [json.loads(line) for line in (ended.folder / "6.traj.jsonl").read_bytes().splitlines()]
    decided = [line for line in lines if line["kind"] == "decided"]
    assert [line["action"]["kind"] for line in decided] == ["click", "stop"] and decided[-1]["reply"] == ""
    assert [line["response"] for line in decided] == decided[-1]["memory"], "the hash of what came over the wire"
    for line in decided:
        stored = (ended.folder / "artifacts" / line["response"][:2] / line["response"]).read_bytes()
        assert sha256(stored).hexdigest() == line["response"] and line["action"]["kind"].encode() in stored
