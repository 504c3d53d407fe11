"""Wrong usage: one sentence, exit code 2, no traceback, and nothing left behind."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra._internal.hydra import Hydra

from harness.config import PROJECT
from tests.e2e.conftest import Start

Starter = Callable[..., Start]


def refused(done: Start, *words: str) -> None:
    assert done.code == 2, done.err
    assert "Traceback" not in done.err + done.out
    assert len(done.err.strip().splitlines()) == 1
    for word in words:
        assert word in done.err


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("task.path=nope.json", ["nope.json", "task.path"]),
        ("nope=1", ["nope"]),
        ("+browser.heedless=false", ["browser.heedless", "did you mean browser.headless"]),
        ("+sites.shop.login.feilds=1", ["sites.shop.login.feilds", "did you mean sites.shop.login.fields"]),
        ("task=nope", ["task=nope is unknown", "demo"]),
        ("workers=many", ["workers"]),
        ("workers=0", ["workers=0"]),
        ("run.retry=some", ["run.retry", "infra"]),
        ("fail_under=2", ["fail_under"]),
        ("llm.plans=nope.json", ["nope.json"]),
        ("task.ids=[9999]", ["9999"]),
        ("sites.shop.canonical=null", ["sites.shop.canonical"]),
        ("run.id=..", ["run.id=..", "run.root"]),
        ("run.id=.", ["run.id=.", "run.root"]),
        ("run.id=/elsewhere", ["run.id=/elsewhere", "run.root"]),
    ],
)
def test_a_wrong_setting_is_one_sentence(start_here: Starter, override: str, words: list[str]) -> None:
    done = start_here(override)
    refused(done, *words)


def test_a_site_of_ones_own_can_be_added_with_its_url_alone(start_here: Starter) -> None:
    done = start_here("+sites.mysite.url=http://127.0.0.1:9", "task.limit=1", "run.dry=true")
    assert (done.code, done.err) == (0, "")


def test_a_refused_start_leaves_no_folder(start_here: Starter) -> None:
    done = start_here("task.path=nope.json")
    assert not done.folder.exists()


@pytest.mark.sample(1)
@pytest.mark.parametrize("setting", ["llm.plans", "llm.prices", "llm.faults"])
def test_a_start_that_is_refused_after_it_has_written_leaves_no_folder(
    start: Starter, tmp_path: Path, setting: str
) -> None:
    (tmp_path / "llm.plans").write_text('[{"task_id": 0, "steps": [{"do": "wave"}]}]')
    (tmp_path / "llm.prices").write_text("m: {prompt: 1}")
    value = "[{do: nonsense}]" if setting == "llm.faults" else tmp_path / setting
    done = start("task.limit=1", f"{setting}={value}")
    assert done.code == 2 and len(done.err.splitlines()) == 1
    assert not done.folder.exists()


def test_a_task_without_a_field_is_named(start_here: Starter, tmp_path: Path) -> None:
    task = {"task_id": 7, "sites": ["shop"], "start_url": "__SHOP__", "eval": {"eval_types": ["url_match"]}}
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task]))
    refused(start_here(f"task.path={path}"), "tasks.json", "7", "intent")


def test_a_rejected_key_stops_the_run_at_once(start: Starter) -> None:
    done = start("task.limit=4", "llm.faults=[{do: '401'}]")
    refused(done, "401")


@pytest.fixture
def composed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each composition of a configuration."""
    found: list[int] = []
    theirs = Hydra.compose_config

    def count(*given: Any, **more: Any) -> Any:
        found.append(1)
        return theirs(*given, **more)

    monkeypatch.setattr(Hydra, "compose_config", count)
    return found


@pytest.mark.parametrize(
    ("asked", "times", "runs"),
    [
        ([], 1, 1),
        (["hydra.run.dir=again"], 1, 1),
        (["hydra.searchpath=[file:///usr]"], 2, 1),
        (["hydra.mode=RUN"], 2, 1),
        (["hydra.mode=MULTIRUN", "run.seed=1,2"], 2, 2),
        (["-m", "run.seed=1,2"], 2, 2),
    ],
)
def test_a_configuration_is_composed_once_unless_its_mode_is_in_question(
    start_here: Starter, composed: list[int], *, asked: list[str], times: int, runs: int
) -> None:
    done = start_here(*asked, "task.path=nope.json")
    assert done.code == 2 and len(composed) == times
    assert done.err.count("nope.json") == runs


def test_a_mode_set_in_a_file_is_heeded(start_here: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    config = tmp_path / "configs" / "config.yaml"
    config.write_text(config.read_text().replace("\nhydra:\n", "\nhydra:\n  mode: MULTIRUN\n"))
    monkeypatch.setattr("harness.cli.PROJECT", tmp_path)
    done = start_here("task.path=nope.json", "run.seed=1,2")
    assert done.code == 2 and done.err.count("nope.json") == 2, done.err
