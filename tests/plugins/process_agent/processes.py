"""Agents that are real processes, and an endpoint they ask through a real gateway; only the model is scripted."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.actions import CairnActionSet
from harness.agents.tools_agent import ToolBox
from harness.api import ChatSettings
from harness.llm.circuit_breaker import OutageWaiter
from harness.llm.endpoint import Endpoint
from harness.llm.exchange import Exchanger
from harness.llm.passthrough import Passthrough
from harness.llm.permits import Unlimited
from harness.loopback_server import serving
from harness.plugins.process_agent.process_plan import ProcessPlan
from harness.plugins.process_agent.session import ProcessAgent
from harness.records import Task
from harness.settings.models import EndpointSettings
from harness.settings.process_agent import ProcessSettings
from harness.testing import MemoryJournal, play
from tests.llm.test_endpoint_model import KEY, Waits

HEAD = """
import json, os, sys, time, urllib.error, urllib.request
task = json.load(sys.stdin)
def post(path, body, token=None):
    headers = {"Authorization": "Bearer " + (token or os.environ["CAIRN_TOKEN"])}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(os.environ["CAIRN_URL"] + path, data, headers)) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
def ask(text, **more):
    status, body = post("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": text}], **more})
    return json.loads(body)["choices"][0]["message"]["content"] if status == 200 else status
def act(name, **arguments):
    return json.loads(post("/actions/" + name, arguments)[1])
"""
"""What the scripts of tests begin with; it needs nothing but Python."""

THREE = (
    HEAD
    + """
said = ask(task["text"])
for number in range(3):
    result = act("goto", url="http://site.test/%d" % number)
    said += " " + ask(result["text"])
act("stop", answer=said)
"""
)
"""Asks, acts, asks, acts, asks, acts, asks, and stops with all it was told."""


@dataclass
class Model:
    """An endpoint: each request is answered by its number, and kept. Only chat completions are streamed."""

    seen: list[bytes] = field(default_factory=list)
    look: Callable[[bytes], None] = lambda body: None
    """Called before a request is answered."""
    status: int = 200

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.look(body)
        self.seen.append(body)
        streamed = scope["path"].endswith("/chat/completions") and json.loads(body).get("stream")
        kind = b"text/event-stream" if streamed else b"application/json"
        await send({"type": "http.response.start", "status": self.status, "headers": [(b"content-type", kind)]})
        answer = self._stream() if streamed else json.dumps(self._answer(scope["path"])).encode()
        await send({"type": "http.response.body", "body": answer})

    def _answer(self, path: str) -> dict[str, Any]:
        said = f"r{len(self.seen)}"
        usage = {"input_tokens": 10, "output_tokens": 1}
        if path.endswith("/messages"):
            return {"content": [{"type": "text", "text": said}], "stop_reason": "end_turn", "usage": usage}
        if path.endswith("/responses"):
            message = {"type": "message", "content": [{"type": "output_text", "text": said}]}
            return {"status": "completed", "output": [message], "usage": usage}
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        return {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 1}}

    def _stream(self) -> bytes:
        delta = {"model": "m", "choices": [{"delta": {"content": f"r{len(self.seen)}"}, "finish_reason": "stop"}]}
        counted = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 1}}
        return (
            b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in (delta, counted)) + b"data: [DONE]\n\n"
        )


FOUND = ("command", "sandbox", "hidden", "pictures", "volatile", "on_divergence", "model")
"""What a `ProcessPlan` has besides settings."""


@asynccontextmanager
async def agent_of(
    script: str, folder: Path, model: Model | None = None, **settings: Any
) -> AsyncIterator[ProcessAgent]:
    """An agent that runs `script`; with a model it can ask."""
    path = folder / "agent.py"
    path.write_text(script)
    found = {key: settings.pop(key) for key in FOUND if key in settings}
    made = ProcessPlan(
        settings=ProcessSettings(**{"timeout_s": 60.0, **settings}),
        **{"command": (sys.executable, str(path)), "model": "m", **found},
    )
    box = ToolBox(tuple(CairnActionSet().actions))
    if model is None:
        yield ProcessAgent(plan=made, box=box, passthrough=None, stopping=asyncio.Event().wait)  # type: ignore[arg-type]
        return
    async with serving(model) as port:
        endpoint = Endpoint(EndpointSettings(base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY))
        exchanger = Exchanger(endpoint, ChatSettings(model="m", timeout_s=20.0), retrier=Waits().retrier(), prices={})
        passthrough = Passthrough(exchanger, OutageWaiter(Unlimited(), max_outage_s=0.0))
        try:
            yield ProcessAgent(plan=made, box=box, passthrough=passthrough, stopping=asyncio.Event().wait)  # type: ignore[arg-type]
        finally:
            await passthrough.close()


async def spoken(
    tmp_path: Path, script: str, task: Task | None = None, **settings: Any
) -> tuple[list[Any], MemoryJournal]:
    """What the script has printed, one JSON value a line, and the journal."""
    journal = MemoryJournal()
    async with agent_of(script, tmp_path, **settings) as agent:
        await play(agent, "[1] link 'one'", "[1] link 'two'", task=task, journal=journal)
    written = journal.episode.exited[0].stdout
    assert written is not None
    return [json.loads(line) for line in journal.artifacts.read(written).splitlines()], journal
