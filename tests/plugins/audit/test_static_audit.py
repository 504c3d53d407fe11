"""Exploits on made-up evidence: none passes under `corrected`, and what is gamed is found."""

import json
import os
from pathlib import Path

import pytest

from harness.choices import Durability
from harness.codec import dumps
from harness.errors import ExitCode
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.audit import task_audit
from harness.plugins.audit.catalogue import EXPLOITS
from harness.plugins.audit.findings import Tried
from harness.plugins.audit.static_audit import audit
from harness.records import Task
from harness.tasks import load
from tests.evaluators.evidence import task
from tests.played import write
from tests.plugins.attacks.played import records
from tests.plugins.attacks.played import task as attacked
from tests.scored_runs import a_task, play, scored

pytestmark = pytest.mark.integration
PROJECT = Path(__file__).resolve().parents[3]
SITES = {name: f"http://{name}.test" for name in ("shop", "forum", "code", "office")}
WEBARENA = (
    Path(os.environ.get("GOLDEN_DIR", PROJECT.parent / "shared" / "golden")).parent / "webarena" / "test.raw.json"
)
THEIRS = ("shopping", "shopping_admin", "reddit", "gitlab", "wikipedia", "map", "homepage")


def demo() -> tuple[Task, ...]:
    return load(PROJECT / "tasks" / "demo.json", SITES)


def passed(tried: list[Tried], dialect: str) -> set[tuple[str, str]]:
    return {(one.exploit, one.task_id) for one in tried if one.scores[dialect]}


def test_there_are_enough_exploits_and_each_fits_a_demo_task() -> None:
    assert len(EXPLOITS) >= 12
    assert [one.name for one in EXPLOITS.values() if not any(map(one.fits, demo()))] == []


async def test_no_exploit_passes_a_demo_task_and_webarena_lets_some_through() -> None:
    tried = await audit(demo(), EXPLOITS.values())
    assert passed(tried, "corrected") == set()
    assert all(one.scores["corrected"] is not None for one in tried)
    assert {("not-achievable", "6"), ("view-source", "3"), ("counting", "14")} <= passed(tried, "webarena")


@pytest.mark.slow
@pytest.mark.skipif(not WEBARENA.is_file(), reason=f"{WEBARENA} is not there; set GOLDEN_DIR")
async def test_no_exploit_passes_a_task_of_webarena() -> None:
    tasks = load(WEBARENA, {name: f"http://{name.replace('_', '-')}.test" for name in THEIRS})
    assert len(tasks) == 812
    tried = await audit(tasks, EXPLOITS.values())
    assert passed(tried, "corrected") == set()
    assert all(one.scores["corrected"] is not None for one in tried)
    assert len(passed(tried, "webarena")) > 0


async def test_a_task_that_gives_itself_away_is_found() -> None:
    given_away = task("url_match", reference_url="http://shop.localhost/", url_note="GOLD in PRED")
    tried = await audit([given_away], [EXPLOITS["stop-at-once"]])
    assert passed(tried, "corrected") == {("stop-at-once", "1")}
    assert "page matches the task" in tried[0].why["corrected"]


async def test_a_recorded_page_is_what_an_exploit_dumps() -> None:
    asked = task("string_match", reference_answers={"must_include": ["leather"]})
    short = await audit([asked], [EXPLOITS["page-dump"]], pages={"1": "made of leather"})
    whole = await audit([asked], [EXPLOITS["page-dump"]], pages={"1": "made of leather " + "and sold in shops " * 80})
    assert (short[0].scores["corrected"], whole[0].scores["corrected"]) == (1.0, 0.0)
    assert json.dumps(whole[0].scores) == '{"webarena": 1.0, "corrected": 0.0}'


def test_of_a_run_an_exploit_sees_where_the_task_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the page where an agent ended, the answer stands because the agent had looked for it."""
    asked = a_task("1", reference_answers={"must_include": ["the compartment door"]})
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as run:
        ended_on = run.artifacts.put(dumps("<h1>the compartment door that would not lock</h1>"))
        play(run, asked, "the compartment door", scored("corrected", 1.0), html=ended_on)
    assert main(["audit", str(tmp_path / "run"), "--exploit", "page-dump", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["exploits"]
    assert (row["tried"], row["passed"]["corrected"]) == (1, [])


def test_the_demos_tasks_are_there_in_any_folder_and_ones_own_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["audit", "tasks/demo.json", "--exploit", "page-dump", "--json"]
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out)["tasks"] > 0
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "demo.json").write_text("[]")
    assert main(asked) == 2


def test_a_played_task_that_was_not_reached_is_unscored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a run that was stopped: nothing is known to pass, and nothing is known not to."""

    def play_quietly(overrides: object, config_dir: object) -> Path:
        return write(tmp_path / "run", [records(attacked(0, None), [], passed=False)])

    monkeypatch.setattr(task_audit, "play_quietly", play_quietly)
    given = ("task.ids=[0,7]", "--play", "--exploit", "stop-at-once", "--root", str(tmp_path))
    assert main(["audit", str(PROJECT / "tasks" / "demo.json"), *given]) == ExitCode.UNSCORED
    said = capsys.readouterr().out
    assert "unscored: stop-at-once on task 7: not finished" in said and "on task 0" not in said
    assert "2 episodes on 2 tasks" in said
