"""Runs on the sites of a set: every task that changes a site finds it at its seed, by the site's own log."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.journal.log import read
from tests.e2e.conftest import Start
from tests.plugins.site_sets.small_site import SmallSite

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SHOP = """
import http.server, pathlib, sqlite3, sys

port, data = int(sys.argv[1]), pathlib.Path(sys.argv[2])
db = sqlite3.connect(data / "orders.db", check_same_thread=False)
db.execute("CREATE TABLE IF NOT EXISTS orders (name TEXT)")
db.commit()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/start":
            self.note(f"start {self.count()}")
        self.answer("<form method=post action=/order><button>Order</button></form>")

    def do_POST(self):
        db.execute("INSERT INTO orders VALUES ('mug')")
        db.commit()
        self.note("order")
        self.answer("Ordered")

    def count(self):
        return db.execute("SELECT count(*) FROM orders").fetchone()[0]

    def note(self, line):
        with open(pathlib.Path(sys.argv[3]) / f"{port}.visits", "a") as log:
            log.write(f"{line}\\n")

    def answer(self, body):
        text = f"<!doctype html><title>Shop</title><h1>Orders: {self.count()}</h1>{body}"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        return


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
TASKS = 12


def task(number: int) -> dict[str, Any]:
    return {
        "task_id": number,
        "intent": f"Order a mug, number {number}",
        "sites": ["shopping"],
        "start_url": "__SHOPPING__/start",
        "mutates": True,
        "require_login": False,
        "require_reset": False,
        "storage_state": None,
        "geolocation": None,
        "intent_template": "Order a mug",
        "instantiation_dict": {},
        "intent_template_id": 1,
        "eval": {"eval_types": ["string_match"], "reference_answers": {"must_include": ["1"]}, "program_html": []},
    }


def write(folder: Path, tasks: int) -> list[str]:
    """The set, the tasks and their plans; the settings that play them."""
    (folder / "shop.py").write_text(SHOP)
    (folder / "tasks.json").write_text(json.dumps([task(number) for number in range(tasks)]))
    steps = [{"do": "click", "role": "button", "name": "Order"}, {"do": "stop", "answer": "1"}]
    (folder / "plans.json").write_text(json.dumps([{"task_id": number, "steps": steps} for number in range(tasks)]))
    return [
        *("task=webarena", f"task.path={folder / 'tasks.json'}", f"task.plans={folder / 'plans.json'}", "llm=scripted"),
        *("workers=1", "executor.lanes=2", f"sites=from:{folder / 'sites' / 'small' / 'sites.json'}"),
    ]


def test_tasks_that_change_a_site_find_it_at_its_seed_whatever_instance_they_are_on(
    start: Any, small: SmallSite, tmp_path: Path
) -> None:
    overrides = write(tmp_path, TASKS)
    sites = {"shopping": {"canonical": "http://onestopmarket.com"}}
    command = "exec {python} shop.py {port} {data} {set}"
    small.write({"app": {"command": command, "sites": sites, "stop_s": 2}})
    small.done("up", "--scale", "4")
    done: Start = start(*overrides)
    assert done.code == 0, (done.err, done.out)
    visits = [path.read_text().splitlines() for path in tmp_path.glob("*.visits")]
    starts = [line for lines in visits for line in lines if line.startswith("start")]
    assert starts == ["start 0"] * TASKS, "no task began on what another had left"
    assert [line for lines in visits for line in lines].count("order") == TASKS
    assert re.search(r"shopping sha256:[0-9a-f]{32}", done.out), "what was served is named"
    opened = [read(path).opened for path in done.folder.glob("*.traj.jsonl")]
    assert len({one.instances["shopping"] for one in opened if one is not None}) > 1, (
        "lanes do not wait for one instance"
    )


def test_a_run_with_another_version_of_the_site_is_refused(start: Any, small: SmallSite, tmp_path: Path) -> None:
    overrides = write(tmp_path, 1)
    sites = {"shopping": {"canonical": "http://onestopmarket.com"}}
    command = "exec {python} shop.py {port} {data} {set}"
    small.write({"app": {"command": command, "sites": sites, "stop_s": 2}})
    small.done("up")
    assert start(*overrides).code == 0
    small.done("down", "--all")
    small.write({"app": {"command": command, "sites": sites, "stop_s": 2, "prepare": ["echo new > {data}/catalogue"]}})
    small.done("up")
    (tmp_path / "tasks.json").write_text(json.dumps([task(number) for number in range(2)]))
    done = start(*overrides)
    assert done.code == 2 and "other versions (sites.shopping" in done.err, (done.err, done.out)
