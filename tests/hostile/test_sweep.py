"""A sweep of the demo tasks with hostile ones among them: whoever is hostile is named, and nobody else notices."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.loopback_server import serving
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripts import read_plans
from harness.tasks import load
from tests.e2e.trouble import CANONICAL, PROJECT, Play, TroubledSites, World

pytestmark = [pytest.mark.browser, pytest.mark.hostile]

MOST_MB = 3000
HOSTILE = {
    "redaction": "<button>go</button><p>" + "cookie:" * 40_000 + "</p><p>" + "ésk-" * 20_000 + "</p>",
    "label": "<button onclick=\"this.ariaLabel = 'L'.repeat(18e6)\">go</button>",
    "endless": None,
    "tabs": "<button onclick='open(`/__wild__/calm`); open(`/__wild__/calm`)'>go</button>",
    "storage": (
        "<button onclick='let k = 0; setInterval(() => { for (let n = 0; n < 500; n++)"
        " localStorage[`k` + n] = `v` + k++ }, 20)'>go</button>"
    ),
    "memory": "<button onclick='const a = []; for (;;) a.push(new Uint8Array(5e6).fill(1))'>go</button>",
    "refused": "<button>go</button>",
    "bomb": "<button>go</button>",
    "calm": "<p>calm</p>",
}
"""Name of a page to what stands in it; of the last but one two, what the endpoint does is hostile."""
NUMBERS = {name: 100 + number for number, name in enumerate(name for name in HOSTILE if name != "calm")}
LOST = {
    "memory": "MB of memory; browser.max_memory_mb=1024",
    "refused": "content filter",
    "bomb": "is longer than 32 MB (llm.max_answer_mb)",
}
"""Those that end without a score, and what is told of them; the others are passed in spite of it all."""


class WildSites(TroubledSites):
    """The sites, and hostile pages beside them."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        head, _, name = scope["path"].rpartition("/")
        if head != "/__wild__":
            return await super().__call__(scope, receive, send)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        page = HOSTILE[name] or "<button>go</button>"
        body = f"<!doctype html><title>{name}</title>{page}".encode()
        is_endless = HOSTILE[name] is None
        await send({"type": "http.response.body", "body": body, "more_body": is_endless})
        while is_endless and (await receive())["type"] != "http.disconnect":
            pass


def intent(name: str) -> str:
    return f"Go on in spite of {name}, and say that it is done"


def written(folder: Path) -> tuple[Path, Path]:
    """The tasks of the demo and the hostile ones among them, and the plans of all."""
    tasks = json.loads((PROJECT / "tasks" / "demo.json").read_bytes())
    plans = json.loads((PROJECT / "tasks" / "demo.plans.json").read_bytes())
    for name, number in NUMBERS.items():
        answers = {"exact_match": "done"}
        evaluated = {"eval_types": ["string_match"], "reference_answers": answers, "reference_url": "", "program_html": []}  # fmt: skip
        task = {"task_id": number, "sites": ["shop"], "intent": intent(name), "start_url": f"__SHOP__/__wild__/{name}"}
        place = (number - 100) * 5
        tasks.insert(place, {**task, "storage_state": None, "require_login": False, "intent_template_id": number, "eval": evaluated})  # fmt: skip
        steps = [{"do": "click", "role": "button", "name": "go"}, {"do": "stop", "answer": "done"}]
        plans.append({"task_id": number, "steps": steps})
    paths = folder / "tasks.json", folder / "tasks.plans.json"
    for path, content in zip(paths, (tasks, plans), strict=True):
        path.write_text(json.dumps(content))
    return paths


def hostile_endpoint(tasks: Path, plans: Path) -> Any:
    """The scripted endpoint, that refuses one task's prompts and answers another's with a bomb."""
    placeholders = {f"__{name.upper()}__": base for name, base in CANONICAL.items()}
    intents = {task.task_id: task.intent for task in load(str(tasks), CANONICAL)}
    app = endpoint_app(read_plans(plans, intents, placeholders=placeholders), ())
    error = {"message": "stopped by the content filter", "code": "content_filter"}
    reply = {"choices": [{"message": {"content": "x" * 200_000_000}}]}
    said = {
        intent("refused").encode(): (400, [], json.dumps({"error": error}).encode()),
        intent("bomb").encode(): (200, [(b"content-encoding", b"gzip")], gzip.compress(json.dumps(reply).encode())),
    }

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        for words, (status, headers, data) in said.items():
            if words in body:
                head = [(b"content-type", b"application/json"), *headers]
                await send({"type": "http.response.start", "status": status, "headers": head})
                return await send({"type": "http.response.body", "body": data})  # type: ignore[no-any-return]

        async def again() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        await app(scope, again, send)

    return answer


def tree_mb(root: psutil.Process) -> float:
    """Proportional set size of a process and all below it: what they share counts once."""
    total = 0
    for process in [root, *root.children(recursive=True)]:
        with suppress(OSError):
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


async def sampled(play: Play, held: list[float]) -> None:
    while play.process.returncode is None:
        with suppress(psutil.NoSuchProcess):
            held.append(await asyncio.to_thread(tree_mb, psutil.Process(play.process.pid)))
        await asyncio.sleep(0.5)  # the sampling's own pace


def journals(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.traj.jsonl")}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    tasks, plans = written(tmp_path)
    async with AsyncExitStack() as closing:
        sites = WildSites()
        sites_port = await closing.enter_async_context(serving(sites))
        endpoint_port = await closing.enter_async_context(serving(hostile_endpoint(tasks, plans)))
        yield World(tmp_path, sites, sites_port, endpoint_port)


async def test_a_sweep_with_hostile_tasks_among_them(world: World) -> None:
    settings = (f"task.path={world.root}/tasks.json", "workers=2", "executor.lanes=2", "llm.max_attempts=2")
    held: list[float] = []
    async with world.playing(*settings) as play:
        sampling = asyncio.create_task(sampled(play, held))
        assert await play.ended(900) == 3, play.text
        await sampling
    results = {int(result["task_id"]): result for result in play.summary["results"]}
    hostile = set(NUMBERS.values())
    scores = {number: result["score"] for number, result in results.items() if number not in hostile}
    assert scores == dict.fromkeys(range(40), 1.0)
    for name, number in NUMBERS.items():
        result = results[number]
        if name in LOST:
            assert (result["status"], result["score"]) == ("unscored", None), (name, result)
            assert LOST[name] in result["why"] and f"task {number}" in play.text, (name, result)
        else:
            assert result["score"] == 1.0, (name, result)
    lost = {number for number in results if results[number]["status"] == "unscored"}
    assert lost == {NUMBERS[name] for name in LOST}
    counted = [failed.message for number in results for failed in play.episode(number).failures if not failed.shared]
    assert len(counted) == 3 * len(LOST), "nobody else used up an attempt"
    assert held and max(held) < MOST_MB, max(held)
    assert max(path.stat().st_size for path in play.folder.glob("*.traj.jsonl")) < 2_000_000

    before = journals(play.folder)
    async with world.playing(*settings) as again:
        assert await again.ended() == 3, again.text
    assert journals(again.folder) == before and len(before) == 48
    assert [(one["task_id"], one["score"]) for one in again.summary["results"]] == [
        (one["task_id"], one["score"]) for one in play.summary["results"]
    ]
