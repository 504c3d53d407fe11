"""A model whose every reply is another: what is decided the same a second time was not asked again."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from harness.loopback_server import serving
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripts import read_plans
from harness.tasks import load
from tests.e2e.conftest import PROJECT
from tests.e2e.trouble import CANONICAL

VARYING = ("elapsed_ms", "at", "crc")


class Sampled:
    """The scripted endpoint, with the number of the request before each reply; other prompts get that number only."""

    def __init__(self) -> None:
        intents = {task.task_id: task.intent for task in load(str(PROJECT / "tasks" / "demo.json"), CANONICAL)}
        placeholders = {f"__{name.upper()}__": base for name, base in CANONICAL.items()}
        plans = read_plans(PROJECT / "tasks" / "demo.plans.json", intents, placeholders=placeholders)
        self._app = endpoint_app(plans, ())
        self.asked: list[dict[str, Any]] = []
        """Bodies of the requests, in order."""
        self.held = 0
        """The number of the request that is never answered."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        self.asked.append(json.loads(body))
        number, answer = len(self.asked), bytearray()
        if number == self.held:
            await asyncio.Event().wait()
        if b"OBJECTIVE" not in body:
            verdict = "correct" if b"You grade the work" in body else ""
            answer += json.dumps(completion(f"sample {number}\n{verdict}".strip())).encode()
        else:
            await self._app(scope, _given(body), _into(answer))
            said = json.loads(answer)
            said["choices"][0]["message"]["content"] = f"Sample {number}. {said['choices'][0]['message']['content']}"
            answer[:] = json.dumps(said).encode()
        headers = [(b"content-type", b"application/json"), (b"x-request-id", b"request-%d" % number)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": bytes(answer)})


def completion(text: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return {"model": "scripted", "choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}


def _given(body: bytes) -> Any:
    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _into(answer: bytearray) -> Any:
    async def send(message: Any) -> None:
        answer.extend(message.get("body", b""))

    return send


@asynccontextmanager
async def sampled() -> AsyncIterator[tuple[Sampled, str]]:
    """The endpoint, and its address."""
    app = Sampled()
    async with serving(app) as port:
        yield app, f"http://127.0.0.1:{port}/v1"


def decisions(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """By journal: the `decided` lines, without times and without what they cost."""
    found = {}
    for path in sorted(folder.glob("*.traj.jsonl")):
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        found[path.name] = [
            {
                key: _tokens(value) if key in ("usage", "counted") else value
                for key, value in line.items()
                if key not in VARYING
            }
            for line in lines
            if line["kind"] == "decided"
        ]
    return found


def _tokens(usage: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in usage.items() if key.endswith("_tokens")}


def cached(folder: Path) -> list[list[bool]]:
    """By journal and step, whether the reply came from the cache."""
    return [[line["usage"].get("from_cache", 0) > 0 for line in lines] for lines in _decided(folder)]


def _decided(folder: Path) -> list[list[dict[str, Any]]]:
    paths = sorted(folder.glob("*.traj.jsonl"))
    read = ([json.loads(line) for line in path.read_bytes().splitlines()] for path in paths)
    return [[line for line in lines if line["kind"] == "decided"] for lines in read]
