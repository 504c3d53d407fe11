"""A wrong gold answer is corrected after the run: what has ended is scored with it, and nothing is played again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.main import main
from tests.commands.test_corrected_reference import a_file, a_run, judged_by
from tests.e2e.conftest import PROJECT, Start
from tests.scored_runs import scored

Starter = Callable[..., Start]
pytestmark = pytest.mark.browser

IDS = "task.ids=[0,4]"
PAGE = {"url": "last", "locator": "", "required_contents": {"must_include": ["no such words"]}}


def corrected(path: Path, change: Callable[[dict[str, Any]], None], task_id: int = 0) -> Path:
    """The demo's task file, with one task changed."""
    tasks = json.loads((PROJECT / "tasks" / "demo.json").read_bytes())
    change(next(task for task in tasks if task["task_id"] == task_id))
    path.write_text(json.dumps(tasks))
    return path


def answered(text: str) -> Callable[[dict[str, Any]], None]:
    def change(task: dict[str, Any]) -> None:
        task["eval"]["eval_types"] = ["string_match"]
        task["eval"]["reference_answers"] = {"exact_match": text}

    return change


def asked(done: Start) -> int:
    """How often the model was asked, which playing anything again would need."""
    return int(done.summary["invocation"]["model_requests"])


def scores(done: Start) -> dict[str, float]:
    return {result["task_id"]: result["score"] for result in done.summary["results"]}


@pytest.mark.slow
def test_a_corrected_reference_costs_no_episode(
    start: Starter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = start("task=smoke", IDS)
    assert scores(first) == {"0": 1.0, "4": 1.0} and asked(first) > 0
    journals = {path.name: path.read_bytes() for path in first.folder.glob("*.traj.jsonl")}
    fixed = corrected(tmp_path / "fixed.json", answered("42 mugs"))
    now = ("task=smoke", f"task.path={fixed}", IDS)

    assert main(["score", str(first.folder), *now]) == 0
    out = capsys.readouterr().out
    assert "scored with another reference (eval) than the one played: task 0" in out
    assert "corrected: task 0: 1 in the journal, now 0" in out and "task 4" not in out
    assert {path.name: path.read_bytes() for path in first.folder.glob("*.traj.jsonl")} == journals
    found = json.loads((first.folder / "rescored-corrected.json").read_bytes())
    assert list(found["references"]) == ["0"] and len(found["references"]["0"]) == 64
    assert main(["show", str(first.folder)]) == 0
    assert "rescored-corrected.json has scores of 1 task with a corrected reference" in capsys.readouterr().out

    refused = start(*now)
    assert refused.code == 2 and "another reference (eval) of task 0" in refused.err
    assert "resume.accept_drift=true" in refused.err and scores(first) == {"0": 1.0, "4": 1.0}

    went_on = start(*now, "resume.accept_drift=true")
    assert went_on.code == 0, went_on.err
    assert scores(went_on) == {"0": 0.0, "4": 1.0} and asked(went_on) == 0
    assert "continuing with corrected references (eval) of task 0" in went_on.out + went_on.err
    assert "1 episode that has ended is scored again" in went_on.out + went_on.err
    assert "1 score with a corrected reference (eval)" in went_on.out
    assert [len(result.get("reference", "")) for result in went_on.summary["results"]] == [64, 0]
    (drift,) = map(json.loads, (went_on.folder / "drift.jsonl").read_bytes().splitlines())
    before, after = drift["changed"]["task 0: eval"]
    assert before["reference_answers"] != after["reference_answers"] == {"exact_match": "42 mugs"}
    assert (went_on.folder / "4.traj.jsonl").read_bytes() == journals["4.traj.jsonl"]
    assert main(["score", str(went_on.folder)]) == 0, "the newest reference is the one that scores again"
    assert "in the journal, now" not in capsys.readouterr().out
    for shown in (["show", str(went_on.folder)], ["show", str(went_on.folder), "0"]):
        main(shown)
        assert "with a corrected reference (eval)" in capsys.readouterr().out
    assert "42 mugs" in (went_on.folder / "report" / "tasks" / "0.html").read_text()
    assert "with a corrected reference" in (went_on.folder / "report" / "index.html").read_text()

    twice = start(*now, "resume.accept_drift=true")
    assert twice.code == 0 and "scored again" not in twice.out + twice.err and asked(twice) == 0
    assert len((twice.folder / "drift.jsonl").read_bytes().splitlines()) == 1

    back = start("task=smoke", IDS)
    assert back.code == 0 and scores(back) == {"0": 1.0, "4": 1.0} and asked(back) == 0
    assert "with a corrected reference" not in back.out


def test_scores_by_the_old_reference_do_not_count_where_a_budget_keeps_it_from_scoring_again(
    start_here: Starter, tmp_path: Path
) -> None:
    a_run(tmp_path / "results" / "run", scored("corrected", 1.0))
    fixed = a_file(tmp_path / "fixed.json", **judged_by(must_include=["14"]))
    now = ("task=demo", f"task.path={fixed}", "scoring=corrected", "resume.accept_drift=true", "run.report=false")
    done = start_here(*now, "run.max_working_s=0.001", "fail_under=1")
    assert done.code == 3, done
    assert "1 episode that has ended is scored again" in done.err + done.out
    assert scores(done) == {"1": None}
    assert "1 not finished: run.max_working_s=0.001 is reached" in done.out and "1 unscored" not in done.out


@pytest.mark.slow
def test_what_is_no_reference_is_another_task(
    start: Starter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = start("task=smoke", "task.ids=[0]")

    def ask_more(task: dict[str, Any]) -> None:
        answered("42 mugs")(task)
        task["intent"] += " Now!"
        task["start_url"] = "__SHOP__/cart"

    other = f"task.path={corrected(tmp_path / 'other.json', ask_more)}"
    refused = start("task=smoke", other, "task.ids=[0]", "resume.accept_drift=true")
    assert refused.code == 2 and "task 0 is another task" in refused.err and "intent, start_url changed" in refused.err
    assert main(["score", str(first.folder), "task=smoke", other]) == 2
    said = capsys.readouterr()
    assert "intent, start_url changed" in said.err and not (first.folder / "rescored-corrected.json").exists()


@pytest.mark.slow
def test_a_page_that_was_not_looked_at_leaves_the_task_unscored(
    start: Starter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = start("task=smoke", IDS)

    def look_elsewhere(task: dict[str, Any]) -> None:
        task["eval"]["eval_types"] = ["program_html"]
        task["eval"]["program_html"] = [{**PAGE, "url": "__SHOP__/never"}]

    def look_at_its_own_page(task: dict[str, Any]) -> None:
        task["eval"]["eval_types"] = ["program_html"]
        task["eval"]["program_html"] = [PAGE]

    elsewhere = f"task.path={corrected(tmp_path / 'elsewhere.json', look_elsewhere)}"
    assert main(["score", str(first.folder), "task=smoke", elsewhere]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "now unscored (program_html[0]: the reference looks at 'http://shop.localhost/never'" in said
    own = f"task.path={corrected(tmp_path / 'own.json', look_at_its_own_page)}"
    assert main(["score", str(first.folder), "task=smoke", own]) == 0
    assert "corrected: task 0: 1 in the journal, now 0" in capsys.readouterr().out
