"""What a run leaves behind for people and CI systems when it ends, by the real command."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.main import main
from tests.e2e.conftest import PROJECT, Start
from tests.judge_stub import judge_stub

Starter = Callable[..., Start]

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_every_run_ends_with_its_reports_and_a_start_without_work_keeps_them(start: Starter, tmp_path: Path) -> None:
    summary = tmp_path / "step-summary"
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = start("task.limit=2", env=environment)
    assert done.code == 0, done.err + done.out
    tree = ElementTree.fromstring((done.folder / "junit.xml").read_bytes())
    assert (tree.attrib["tests"], tree.attrib["failures"], tree.attrib["errors"]) == ("2", "0", "0")
    assert "100.0% passed" in (done.folder / "summary.md").read_text()
    assert summary.read_text() == (done.folder / "summary.md").read_text()
    assert "::error" not in done.out
    pages = {path: path.stat().st_mtime_ns for path in (done.folder / "report").rglob("*.html")}
    assert {path.name for path in pages} >= {"index.html", "0.html", "1.html"}, "plug-ins add pages"
    (done.folder / "junit.xml").unlink()
    again = start("task.limit=2")
    assert {path: path.stat().st_mtime_ns for path in (again.folder / "report").rglob("*.html")} == pages
    assert (again.folder / "junit.xml").exists()


def test_a_task_that_cannot_be_judged_is_an_error_everywhere(start: Starter, tmp_path: Path) -> None:
    task = json.loads((PROJECT / "tasks" / "demo.json").read_bytes())[0]
    task["eval"]["reference_answers"] = {"fuzzy_match": ["$44.50"]}  # and nobody to judge it
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task]))
    done = start(f"task.path={path}", "run.report=false", env={"GITHUB_ACTIONS": "true"})
    assert done.code == 3, done.err + done.out
    tree = ElementTree.fromstring((done.folder / "junit.xml").read_bytes())
    assert (tree.attrib["errors"], tree.attrib["skipped"]) == ("1", "0")
    assert "::error title=task 0 unscored::" in done.out
    assert not (done.folder / "report").exists()


def test_a_judge_is_counted_once_beside_the_model_however_often_the_run_is_started_or_scored(
    start: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # `harness score` keeps what the judge replies
    task = json.loads((PROJECT / "tasks" / "demo.json").read_bytes())[0]
    task["eval"]["reference_answers"] = {"fuzzy_match": ["$44.50"]}
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task]))
    with judge_stub(lambda _: "correct") as judge:
        judged = (f"task.path={path}", "judge.model=gpt-4o", f"judge.base_url={judge.url}", "run.report=false")
        done = start(*judged)
        assert done.code == 0, done.err + done.out
        summary = done.summary
        cost = {"tokens": 220, "cost_usd": pytest.approx(700e-6), "priced": True, "requests": 2}
        assert summary["judge"] == {**cost, "reply_cache": {"replies": 0, "share": 0.0}}
        assert summary["by_site"]["shop"]["judge"] == summary["judge"]
        assert summary["invocation"]["model_requests"] == done.folder.joinpath("0.traj.jsonl").read_text().count(
            '"decided"'
        )
        assert "judge (not included): 220 tokens, $0.0007" in done.out
        assert main(["score", str(done.folder), "--judge", "gpt-4o", "--judge-url", judge.url]) == 0
        for shortcut in done.folder.glob(".*.json*"):
            shortcut.unlink()
        again = start(*judged)
        assert {**again.summary, "invocation": None} == {**summary, "invocation": None}
