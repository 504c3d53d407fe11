"""Wrong usage: one sentence, exit code 2, no traceback, and nothing left behind."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.config import PROJECT
from tests.e2e.conftest import Start

Starter = Callable[..., Start]


def refused(done: Start, *words: str) -> None:
    assert done.code == 2, done.err
    assert "Traceback" not in done.err + done.out
    assert len(done.err.strip().splitlines()) == 1
    for word in words:
        assert word in done.err


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("task.path=nope.json", ["nope.json", "task.path"]),
        ("nope=1", ["nope"]),
        ("+browser.heedless=false", ["browser.heedless", "did you mean browser.headless"]),
        ("+sites.shop.login.feilds=1", ["sites.shop.login.feilds", "did you mean sites.shop.login.fields"]),
        ("task=nope", ["task/nope", "demo"]),
        ("workers=many", ["workers"]),
        ("workers=0", ["workers=0"]),
        ("run.retry=some", ["run.retry", "infra"]),
        ("fail_under=2", ["fail_under"]),
        ("llm.plans=nope.json", ["nope.json"]),
        ("task.ids=[9999]", ["9999"]),
        ("sites.shop.canonical=null", ["sites.shop.canonical"]),
    ],
)
def test_a_wrong_setting_is_one_sentence(start: Starter, override: str, words: list[str]) -> None:
    done = start(override)
    refused(done, *words)


def test_a_site_of_ones_own_can_be_added_with_its_url_alone(start: Starter) -> None:
    done = start("+sites.mysite.url=http://127.0.0.1:9", "task.limit=1", "run.dry=true")
    assert (done.code, done.err) == (0, "")


def test_a_refused_start_leaves_no_folder(start: Starter) -> None:
    done = start("task.path=nope.json")
    assert not done.folder.exists()


def test_a_task_without_a_field_is_named(start: Starter, tmp_path: Path) -> None:
    task = {"task_id": 7, "sites": ["shop"], "start_url": "__SHOP__", "eval": {"eval_types": ["url_match"]}}
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task]))
    refused(start(f"task.path={path}"), "tasks.json", "7", "intent")


def test_a_rejected_key_stops_the_run_at_once(start: Starter) -> None:
    done = start("task.limit=4", "llm.faults=[{do: '401'}]")
    refused(done, "401")


COUNTING = """
import sys
from hydra._internal.hydra import Hydra
from harness.cli import run

composed, theirs = [], Hydra.compose_config
Hydra.compose_config = lambda *given, **more: composed.append(1) or theirs(*given, **more)
assert run(sys.argv[1:]) == 2
print(len(composed))
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("asked", "times", "runs"),
    [
        ([], 1, 1),
        (["hydra.mode=RUN"], 2, 1),
        (["hydra.mode=MULTIRUN", "run.seed=1,2"], 2, 2),
        (["-m", "run.seed=1,2"], 2, 2),
    ],
)
def test_a_configuration_is_composed_once_unless_its_mode_is_in_question(
    tmp_path: Path, asked: list[str], times: int, runs: int
) -> None:
    given = [*asked, "task.path=nope.json", f"run.root={tmp_path}"]
    done = subprocess.run([sys.executable, "-c", COUNTING, *given], capture_output=True, text=True, check=False)
    assert done.stdout.split()[-1:] == [str(times)], done.stderr
    assert done.stderr.count("nope.json") == runs


def test_a_mode_set_in_a_file_is_heeded(tmp_path: Path) -> None:
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    config = tmp_path / "configs" / "config.yaml"
    config.write_text(config.read_text().replace("\nhydra:\n", "\nhydra:\n  mode: MULTIRUN\n"))
    script = f"import harness.cli, pathlib; harness.cli.PROJECT = pathlib.Path({str(tmp_path)!r})\n{COUNTING}"
    given = ["task.path=nope.json", f"run.root={tmp_path}", "run.seed=1,2"]
    done = subprocess.run([sys.executable, "-c", script, *given], capture_output=True, text=True, check=False)
    assert done.stderr.count("nope.json") == 2, done.stderr
