"""Applications that others wrote: their tasks are played on them, and resets put them back."""

import json
import signal
import subprocess
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from typing import Any
from urllib.request import urlopen

import pytest

from harness.journal.log import read
from harness.plugins.site_sets import folder
from harness.plugins.site_sets.http_request import ask
from tests.e2e.conftest import PROJECT, Start, command, environment
from tests.plugins.site_sets.apps.conftest import Apps
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TASKS = json.loads((PROJECT / "tasks" / "apps.json").read_bytes())


def play(start: Any, apps: Apps, *overrides: str) -> Start:
    done: Start = start(
        *("task=apps", f"sites=from:{apps.served}", "workers=1", "executor.lanes=2", *overrides), timeout_s=1500
    )
    return done


def test_all_tasks_are_passed_by_their_plans_and_lanes_use_both_instances(apps: Apps, start: Any) -> None:
    done = play(start, apps, "llm=scripted")
    assert done.code == 0, (done.err, done.out)
    assert done.summary["passed"] == done.summary["tasks"] == len(TASKS), done.out
    assert sum(bool(task["mutates"]) for task in TASKS) >= 20
    opened = [read(path).opened for path in done.folder.glob("*.traj.jsonl")]
    used = {address for one in opened if one is not None for address in one.instances.values()}
    assert len(used) == 6, "two of each site"


def test_no_task_is_passed_by_doing_nothing(apps: Apps, start: Any) -> None:
    done = play(start, apps, "agent=null")
    assert done.summary["passed"] == 0, done.out


def test_a_reset_puts_back_every_byte_and_the_sites_are_clean_while_nobody_visits_them(apps: Apps) -> None:
    reset = apps.type("reset")
    assert reset.code == 0, reset
    rows = apps.rows()
    assert [row["state"] for row in rows] == ["healthy"] * 6, rows
    for row in rows:
        assert folder.digest(apps.state / "services" / row["instance"] / "data") == row["digest"], row
        assert row["digest"] == next(one for one in rows if one["instance"] == f"{row['instance'][:-1]}0")["digest"]


def test_the_tracker_has_closed_its_databases_when_its_answer_begins(apps: Apps) -> None:
    """SQLite writes and removes files then, and what is there when a reset is over is what clean means."""
    site = json.loads(apps.served.read_bytes())["tracker"]["url"]
    databases = apps.state / "services" / "tracker@0" / "data" / "db"
    for _ in range(30):
        status, _ = ask(f"{site}/@@file/style.css", timeout_s=60, reads_body=False)
        assert status == 200 and not list(databases.glob("*-wal"))


def test_what_an_application_writes_beside_its_state_is_not_in_its_data(apps: Apps) -> None:
    for name in ("tracker", "wiki", "store"):
        unit = apps.state / "services" / f"{name}@0"
        assert any((unit / "scratch").iterdir())
        assert not list((unit / "data").rglob("*.pyc")) and not list((unit / "data").rglob("*.py"))


def test_the_sites_are_those_of_the_packages_that_are_named(apps: Apps) -> None:
    served = json.loads(apps.served.read_bytes())
    for site, said in (("tracker", "Roundup"), ("wiki", "MoinMoin"), ("store", "oscar")):
        path = "/Home" if site == "wiki" else "/catalogue/" if site == "store" else "/"
        address = served[site]["url"].replace(f"{site}.localhost", "127.0.0.1") + path
        with urlopen(address, timeout=60) as answer:
            assert said in answer.read().decode(), site


def test_each_task_has_a_plan_and_fits_the_schema_of_webarena() -> None:
    plans = json.loads((PROJECT / "tasks" / "apps.plans.json").read_bytes())
    assert [plan["task_id"] for plan in plans] == [task["task_id"] for task in TASKS]
    assert len(TASKS) >= 30
    kinds = {kind for task in TASKS for kind in task["eval"]["eval_types"]}
    assert kinds == {"string_match", "url_match", "program_html"}


def test_a_run_that_is_killed_again_and_again_does_each_thing_once(apps: Apps, start: Any, tmp_path: Path) -> None:
    """The evaluators of these tasks count orders, notes and wish lists."""
    overrides = ("task=apps", f"sites=from:{apps.served}", "llm=scripted", "workers=1", "executor.lanes=2")
    chosen = [4, 7, 8, 25, 29, 45, 47, 51]
    words = command(*overrides, f"task.ids={chosen}", root=tmp_path / "results")
    for steps in (3, 9, 16, 24):
        with subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=DEVNULL, stderr=DEVNULL) as run:
            wait_until(partial(has_done, steps, tmp_path / "results", run), within_s=300)
            assert run.poll() is None, "it had ended before it was killed"
            run.send_signal(signal.SIGKILL)
    done = start(*overrides, f"task.ids={chosen}", timeout_s=900)
    assert done.code == 0, (done.err, done.out)
    assert done.summary["passed"] == done.summary["tasks"] == len(chosen), done.out


def has_done(steps: int, results: Path, run: "subprocess.Popen[bytes]") -> bool:
    """Whether so many actions were recorded, or the run has ended."""
    done = sum(path.read_bytes().count(b'"acted"') for path in results.glob("run/*.traj.jsonl"))
    return done >= steps or run.poll() is not None
