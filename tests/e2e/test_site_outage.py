"""A site that is down for all lanes: no further attempts are spent on it, and the run goes on when it is back."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest

from harness.journal.log import read
from tests.e2e.conftest import Start

pytestmark = pytest.mark.browser
SHOP_TASKS, FORUM_TASKS = range(6), range(6, 9)


@dataclass
class Deployment:
    """Two sites on one server, told apart by their path; the first is down from its first page on, until all tasks of
    the second are played.
    """

    servers: list[ThreadingHTTPServer] = field(default_factory=list)
    lock: Any = field(default_factory=Lock)
    opened: int = 0
    forum: int = 0

    def answer(self, site: str, path: str) -> int:
        with self.lock:
            if site == "forum":
                self.forum += path == "/next"
                return 200
            is_down = self.opened > 0 and self.forum < len(FORUM_TASKS)
            self.opened += path == "/start"
            return 503 if is_down else 200


def _serve(deployment: Deployment, site: str) -> str:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(deployment.answer(site, self.path))
            page = b"<!doctype html><title>Site</title><h1>Site</h1><a href=/next>Next</a>"
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    deployment.servers.append(server)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def deployed(tmp_path: Path) -> Iterator[list[str]]:
    """The settings that play the tasks on it."""
    deployment = Deployment()
    urls = {"shopping": _serve(deployment, "shop"), "reddit": _serve(deployment, "forum")}
    (tmp_path / "sites.json").write_text(
        json.dumps({"embedded": False, **{site: {"url": url} for site, url in urls.items()}})
    )
    tasks = [_task(number, "shopping") for number in SHOP_TASKS] + [_task(number, "reddit") for number in FORUM_TASKS]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    steps = [{"do": "click", "role": "link", "name": "Next"}, {"do": "stop", "answer": "1"}]
    plans = [{"task_id": task["task_id"], "steps": steps} for task in tasks]
    (tmp_path / "plans.json").write_text(json.dumps(plans))
    yield [
        *("task=webarena", f"task.path={tmp_path / 'tasks.json'}", f"task.plans={tmp_path / 'plans.json'}"),
        *("llm=scripted", f"sites=from:{tmp_path / 'sites.json'}", "workers=1", "executor.lanes=2"),
        "browser.site_wait_s=0.2",
    ]
    for server in deployment.servers:
        server.shutdown()
        server.server_close()


def _task(number: int, site: str) -> dict[str, Any]:
    return {
        "task_id": number,
        "intent": f"Go on, number {number}",
        "sites": [site],
        "start_url": f"__{site.upper()}__/start",
        "mutates": False,
        "require_login": False,
        "require_reset": False,
        "storage_state": None,
        "geolocation": None,
        "intent_template": "Go on",
        "instantiation_dict": {},
        "intent_template_id": 1,
        "eval": {"eval_types": ["string_match"], "reference_answers": {"must_include": ["1"]}, "program_html": []},
    }


@pytest.mark.slow
def test_a_site_that_is_down_for_all_lanes_pauses_its_tasks_and_no_others(start: Any, deployed: list[str]) -> None:
    done: Start = start(*deployed)
    assert done.code == 0, (done.err, done.out)
    failures = {int(path.name.split(".")[0]): len(read(path).failures) for path in done.folder.glob("*.traj.jsonl")}
    assert all(failures[number] <= 1 for number in SHOP_TASKS), failures
    spent = [number for number in SHOP_TASKS if failures[number]]
    assert 1 <= len(spent) <= 2, "only those that were being played when it went down"
    assert not any(failures[number] for number in FORUM_TASKS), failures
    assert done.summary["invocation"]["site_pauses"].keys() == {"shopping"}
    assert "shopping is down (http://127.0.0.1:" in done.out + done.err
    assert "shopping answers again after" in done.out + done.err
    assert "tasks were paused while their site was down: shopping for" in done.out
