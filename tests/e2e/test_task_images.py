"""Tasks with pictures in their objective: fetched before anything is played, sent over each interface, stored once."""

import json
import os
import signal
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from PIL import Image

from harness.journal.log import read
from harness.journal.prompt_store import read_message
from harness.journal.store import ArtifactStore
from tests.e2e.conftest import PROJECT, Start
from tests.e2e.test_run import decided, running
from tests.waiting import wait_until

Starter = Callable[..., Start]
pytestmark = [pytest.mark.browser, pytest.mark.integration]


def picture(colour: str, kind: str = "PNG") -> bytes:
    data = BytesIO()
    Image.new("RGB", (64, 48), colour).save(data, kind)
    return data.getvalue()


RED, BLUE = picture("red"), picture("blue", "JPEG")


@contextmanager
def served(answer: Callable[[str, bytes], tuple[int, bytes]]) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """An HTTP server; gives its address, and what it was asked."""
    asked: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            asked.append((self.path, body))
            status, data = answer(self.path, body)
            self.send_response(status)
            kinds = {".html": "text/html", ".png": "image/png"}
            self.send_header("content-type", kinds.get(Path(self.path).suffix, "application/json"))
            if status == 302:
                self.send_header("location", data.decode())
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def homepage(path: str, body: bytes) -> tuple[int, bytes]:
    known = {"/static/red.png": (200, RED), "/text.png": (200, b"<html>"), "/away.png": (302, b"http://10.0.0.1/x.png")}
    return known.get(path, (404, b""))


def write_tasks(folder: Path, *images: Any) -> tuple[str, ...]:
    """A file with a task for each `image`, and its plan; gives the settings."""
    (folder / "blue.jpg").write_bytes(BLUE)
    task = {
        "sites": ["shop", "homepage"],
        "start_url": "__SHOP__/",
        "storage_state": None,
        "mutates": False,
        "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "$44.50"}},
    }
    tasks = [
        {**task, "task_id": number, "image": image, "intent": f"What does this cost ({number})?"}
        for number, image in enumerate(images)
    ]
    (folder / "mine.json").write_text(json.dumps(tasks))
    steps = [
        {"do": "click", "role": "link", "name": "Contact"},
        {"do": "type", "role": "searchbox", "name": "Search products", "text": "Storm Lantern", "enter": True},
        {"do": "stop", "answer": "$44.50"},
    ]
    (folder / "plans.json").write_text(json.dumps([{"task_id": task["task_id"], "steps": steps} for task in tasks]))
    return ("task.path=mine.json", "llm.plans=plans.json", "workers=1", "executor.lanes=1", "resume.max_attempts=1")


def at(url: str) -> tuple[str, ...]:
    return (f"+sites.homepage.url={url}", "+sites.homepage.read_only=true")


def sent(folder: Path, task: str) -> list[list[dict[str, Any]]]:
    artifacts = ArtifactStore(folder / "artifacts")
    return [
        [read_message(digest, artifacts) for digest in step.decided.prompt]
        for step in read(folder / f"{task}.traj.jsonl").steps
        if step.decided.prompt  # the second of two calls in one reply asks for nothing
    ]


def labels(messages: list[dict[str, Any]]) -> list[str]:
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    return [part["text"] for part in parts if part.get("text", "").startswith("PICTURE")]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("agent", "api"),
    [
        ("vision", "chat"),
        ("tools", "responses"),
        ("computer", "messages"),
        pytest.param("vision", "responses", marks=pytest.mark.slow),
        pytest.param("vision", "messages", marks=pytest.mark.slow),
        pytest.param("tools", "chat", marks=pytest.mark.slow),
        pytest.param("tools", "messages", marks=pytest.mark.slow),
        pytest.param("computer", "responses", marks=pytest.mark.slow),
    ],
)
def test_every_agent_that_sees_is_sent_them_over_every_interface(
    start: Starter, tmp_path: Path, agent: str, api: str
) -> None:
    settings = write_tasks(tmp_path, ["__HOMEPAGE__/static/red.png", "blue.jpg"])
    more = {"tools": ["observation.type=accessibility_tree+image"], "computer": [], "vision": []}
    with served(homepage) as (url, asked):
        done = start(
            f"agent={agent}", f"llm.api={api}", "fail_under=1.0", "executor=inline", *more[agent], *settings, *at(url)
        )
        assert done.code == 0, done.out + done.err
    assert [path for path, _ in asked].count("/static/red.png") == 1, "fetched once"
    prompts = sent(done.folder, "0")
    assert len(prompts) >= 2
    for messages in prompts:
        assert labels(messages) == ["PICTURE 1 OF THE OBJECTIVE:", "PICTURE 2 OF THE OBJECTIVE:"]
    opened = read(done.folder / "0.traj.jsonl").opened
    assert opened is not None and opened.images == tuple(sha256(one).hexdigest() for one in (RED, BLUE))
    assert opened.task.images == (f"{url}/static/red.png", "blue.jpg")
    stored = [path.read_bytes() for path in (done.folder / "artifacts").rglob("*") if path.is_file()]
    assert stored.count(RED) == stored.count(BLUE) == 1


@pytest.mark.slow
def test_the_endpoint_receives_the_bytes(start: Starter, tmp_path: Path) -> None:
    settings = write_tasks(tmp_path, "blue.jpg")

    def stop(path: str, body: bytes) -> tuple[int, bytes]:
        message = {"role": "assistant", "content": "```stop [$44.50]```"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        return 200, json.dumps(whole | {"usage": usage}).encode()

    with served(stop) as (url, asked), served(homepage) as (pictures, _):
        llm = ("llm=openai", "llm.model=m", f"llm.base_url={url}/v1", "llm.api_key=key-for-a-test")
        done = start("agent=vision", "executor=inline", "fail_under=1.0", *llm, *settings, *at(pictures))
        assert done.code == 0, done.out + done.err
    ((_, body),) = asked
    assert f"data:image/jpeg;base64,{b64encode(BLUE).decode()}" in body.decode()


@pytest.mark.slow
def test_killed_and_resumed_it_is_not_fetched_again(start: Starter, tmp_path: Path) -> None:
    settings = ("agent=vision", *write_tasks(tmp_path, "__HOMEPAGE__/static/red.png"))
    folder = tmp_path / "results" / "run"
    with served(homepage) as (url, asked):
        with running(*settings, *at(url), "llm.latency_ms=500", root=tmp_path / "results") as process:
            wait_until(lambda: folder.exists() and decided(folder) >= 1)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        begun = read(folder / "0.traj.jsonl")
        assert begun.closed is None
        before = [path for path, _ in asked].count("/static/red.png")
        done = start(*settings, *at(url), "llm.latency_ms=500", "fail_under=1.0")
        assert done.code == 0, done.out + done.err
        assert [path for path, _ in asked].count("/static/red.png") == before == 1
    assert read(folder / "0.traj.jsonl").opened == begun.opened
    assert all(labels(messages) for messages in sent(folder, "0"))


REFUSED = {
    "__HOMEPAGE__/static/none.png": "/static/none.png cannot be fetched (its server answered 404",
    "__HOMEPAGE__/text.png": "/text.png cannot be read as a picture",
    "__HOMEPAGE__/away.png": "http://10.0.0.1/x.png is outside the addresses that may be asked",
    "http://127.0.0.1:9/x.png": "add 127.0.0.1 to task.hosts, or leave the task out",
    "missing.png": "missing.png cannot be read (No such file or directory)",
}


@pytest.mark.slow
def test_a_picture_that_cannot_be_had_refuses_its_task_and_no_other(start: Starter, tmp_path: Path) -> None:
    settings = write_tasks(tmp_path, *REFUSED, "blue.jpg")
    with served(homepage) as (url, _):
        done = start("agent=vision", *settings, *at(url), "executor=inline")
    assert done.code == 3 and "Traceback" not in done.err
    assert (done.summary["passed"], done.summary["unscored"]) == (1, len(REFUSED))
    said = done.out + done.err
    assert said.count(" is refused: ") == 3 and "2 more tasks are refused for such a reason" in said
    for task, why in enumerate(REFUSED.values()):
        (shown,) = [line for line in done.out.splitlines() if line.startswith(f"unscored: task {task}: ")]
        assert why in shown
        journal = (done.folder / f"{task}.traj.jsonl").read_text()
        assert '"kind":"failed"' in journal and '"kind":"decided"' not in journal and '"kind":"scored"' not in journal


def test_an_agent_that_is_shown_text_only_is_refused(start_here: Starter, tmp_path: Path) -> None:
    settings = write_tasks(tmp_path, None, "blue.jpg")
    refused = start_here(*settings, *at("http://127.0.0.1:9"))
    assert refused.code == 2 and not (refused.folder / "0.traj.jsonl").exists()
    assert (
        "1 of 2 tasks (the first is 1) have pictures in their objective, and agent=prompt is shown text" in refused.err
    )
    assert start_here(*settings, *at("http://127.0.0.1:9"), "task.ids=[0]", "run.dry=true").code == 0


@pytest.mark.slow
def test_a_class_of_your_own_has_to_say_that_it_shows_them(start: Starter, tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(
        "from harness.api import Decision, Stop\n\n\nclass Blind:\n    def __init__(self, model):\n        pass\n\n"
        "    async def decide(self, task, episode, observation, /):\n"
        "        return Decision(action=Stop(answer='$44.50'), memory=len(observation.task_images))\n\n\n"
        "class Seeing(Blind):\n    shows_task_images = True\n"
    )
    settings = (
        *write_tasks(tmp_path, "blue.jpg"),
        *at("http://127.0.0.1:9"),
        "agent.name=mine",
        "llm=none",
        "executor=inline",
    )
    settings = tuple(one for one in settings if not one.startswith("llm.plans"))
    env = {"PYTHONPATH": f"{PROJECT}:{tmp_path}"}
    blind = start(*settings, "agent._target_=counting.Blind", env=env)
    assert blind.code == 2 and "set shows_task_images = True" in blind.err
    seeing = start(*settings, "agent._target_=counting.Seeing", "fail_under=1.0", env=env)
    assert seeing.code == 0, seeing.out + seeing.err
    assert read(seeing.folder / "0.traj.jsonl").memory == 1
