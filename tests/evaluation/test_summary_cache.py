"""A conclusion is believed while all it was drawn from is as it was, and not a moment longer."""

import dataclasses
import io
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.codec import dumps, loads
from harness.config import Config
from harness.errors import JournalLocked
from harness.evaluation.conditions import exit_code
from harness.evaluation.summary_cache import NAME, invalidate_summary, load_summary, save_summary
from harness.journal.store import RunFolder
from harness.reports.summary import Invocation, Summary, as_json, summarize
from harness.reports.table import print_summary
from harness.runs.results import Result
from harness.settings.limits import EpisodeLimits
from harness.settings.run import RunSettings
from harness.settings.task import TaskSettings
from harness.settings.tracking import TrackingSettings


def a_result(number: int, status: str = "passed") -> Result:
    score = {"passed": 1.0, "failed": 0.0}.get(status)
    why = "" if score else 'the answer was "invocation": 7'
    return Result(
        task_id=str(number),
        trial=0,
        page=f"{number}.html",
        site="shop",
        cluster=f"task {number}",
        status=status,
        score=score,
        steps=3,
        attempts=1,
        why=why,
        elapsed_ms=12_500 / 2,
    )


def a_summary(*statuses: str) -> Summary:
    results = [a_result(number, status) for number, status in enumerate(statuses)]
    now = Invocation(model_requests=9, browser_starts=1, episodes_run=2, wall_s=30.0)
    return summarize("run", results, "corrected", now)


class Run:
    """A run folder without pending jobs, and its summary."""

    def __init__(self, root: Path, summary: Summary) -> None:
        self.folder = root / "run"
        self.tasks = root / "tasks.json"
        self.tasks.write_bytes(b"[]")
        self.config = Config(task=TaskSettings(path=str(self.tasks)))
        self.said = ""
        with RunFolder.open(self.folder) as run:
            for number in range(len(summary.results)):
                run.write(f"{number}.traj.jsonl", b"a journal\n")
            run.write("junit.xml", b"<testsuites/>")
            run.write("summary.json", dumps(as_json(summary)) + b"\n")
            save_summary(run, summary, settings=self.config.tree())

    def start(self) -> int | None:
        out = io.StringIO()
        console = Console(file=out, width=200)
        code = None
        if (summary := load_summary(self.folder, settings=self.config.tree(), begun=time.monotonic())) is not None:
            print_summary(console, summary, str(self.folder))
            code = exit_code(console, summary.statistics.all, self.config.fail_under)
        self.said = out.getvalue()
        return code


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    return Run(tmp_path, a_summary("passed", "failed"))


def test_the_same_is_said_again_and_this_start_did_nothing(run: Run) -> None:
    before = loads((run.folder / "summary.json").read_bytes())
    for _ in range(2):
        assert run.start() == 0
    assert 'failed: task 1: the answer was "invocation": 7' in run.said
    assert "this invocation: 0 tasks, 0 model requests, 0 browser starts" in run.said
    assert "12.5 s of work" in run.said
    after = loads((run.folder / "summary.json").read_bytes())
    assert after.pop("invocation") == {**loads(dumps(Invocation())), "wall_s": pytest.approx(0, abs=60)}
    assert before.pop("invocation")["episodes_run"] == 2
    assert after == before


def test_the_time_is_that_of_the_whole_command(run: Run) -> None:
    begun = time.monotonic() - 1000  # a thousand seconds of imports
    found = load_summary(run.folder, settings=run.config.tree(), begun=begun)
    assert found is not None and found.invocation.wall_s >= 1000


def test_the_exit_code_is_that_of_the_results(tmp_path: Path, run: Run) -> None:
    run.config = replace(run.config, fail_under=0.75)
    assert run.start() is None, "another setting: to be found out"
    with RunFolder.open(run.folder) as held:
        save_summary(held, a_summary("passed", "failed"), settings=run.config.tree())
    assert run.start() == 1
    assert "below fail_under=0.75" in run.said
    (tmp_path / "other").mkdir()
    assert Run(tmp_path / "other", a_summary("passed", "unscored")).start() == 3


def _age(path: Path) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def _say_another_rate(run: Run) -> None:
    path = run.folder / "summary.json"
    path.write_bytes(path.read_bytes().replace(b'"passed":1', b'"passed":2'))


def _set(run: Run, /, **group: Any) -> None:
    run.config = replace(run.config, **group)


CHANGES: dict[str, Callable[[Run], object]] = {
    "a journal rewritten": lambda run: _age(run.folder / "1.traj.jsonl"),
    "a journal grown": lambda run: (run.folder / "1.traj.jsonl").write_bytes(b"a journal, and more\n"),
    "a journal gone": lambda run: (run.folder / "1.traj.jsonl").unlink(),
    "a journal more": lambda run: (run.folder / "1.trial-1.traj.jsonl").write_bytes(b""),
    "another task file": lambda run: run.tasks.write_bytes(b"[{}]"),
    "no task file": lambda run: run.tasks.unlink(),
    "a report gone": lambda run: (run.folder / "junit.xml").unlink(),
    "a report more": lambda run: (run.folder / "summary.md").write_bytes(b"of another start"),
    "a summary somebody changed": _say_another_rate,
    "no summary": lambda run: (run.folder / "summary.json").unlink(),
    "a setting": lambda run: _set(run, limits=EpisodeLimits(max_steps=7)),
    "more trials": lambda run: _set(run, trials=2),
    "asked to retry": lambda run: _set(run, run=RunSettings(retry="failed")),
    "asked to log": lambda run: _set(run, tracking=TrackingSettings(kind="art")),
    "asked for a dry run": lambda run: _set(run, run=RunSettings(dry=True)),
    "a damaged conclusion": lambda run: (run.folder / NAME).write_bytes(b'{"grounds":'),
    "no conclusion": lambda run: (run.folder / NAME).unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_has_to_be_found_out(run: Run, change: str) -> None:
    CHANGES[change](run)
    assert run.start() is None
    assert run.said == ""


def a_member(**given: Any) -> dict[str, Any]:
    return {"_target_": None, "path": "tasks.json", "plans": None, **given}


@pytest.mark.parametrize(
    ("task", "is_kept"),
    [
        ({"path": None, "_target_": "mine.Mine"}, False),
        ({"_target_": "mine.Mine"}, False),
        ({"_target_": "harness.plugins.real.real.Real"}, True),
        ({"members": {"a": a_member(), "b": a_member()}}, True),
        ({"members": {"a": a_member(), "b": a_member(path=None, _target_="mine.Mine")}}, False),
        ({"members": {"a": a_member(), "b": a_member(_target_="mine.Mine")}}, False),
    ],
)
def test_tasks_that_code_gives_are_asked_for_each_time(run: Run, task: dict[str, Any], is_kept: bool) -> None:
    run.config = replace(run.config, task=replace(run.config.task, **task))
    settings = run.config.tree()
    (run.folder / NAME).unlink()
    with RunFolder.open(run.folder) as held:
        save_summary(held, a_summary("passed", "failed"), settings=settings)
    assert (run.folder / NAME).exists() is is_kept and (run.start() == 0) is is_kept


def test_another_version_has_to_find_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.evaluation.summary_cache.__version__", "999")
    assert run.start() is None


@pytest.mark.parametrize(("name", "value"), [("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", "summary.md")])
def test_a_ci_that_wants_to_be_told_more_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert run.start() is None


def test_it_is_forgotten_before_anything_is_played(run: Run) -> None:
    with RunFolder.open(run.folder) as held:
        invalidate_summary(held)
        invalidate_summary(held)
    assert run.start() is None


def test_nobody_believes_it_while_another_holds_the_run(run: Run) -> None:
    with RunFolder.open(run.folder), pytest.raises(JournalLocked):
        run.start()


def test_no_secret_is_in_it(tmp_path: Path) -> None:
    summary = a_summary("failed")
    leaky = dataclasses.replace(summary.results[0], why="it wrote sk-abcdefghij1234567890 into a form")
    made = Run(tmp_path, dataclasses.replace(summary, results=(leaky,)))
    assert made.start() == 0
    assert not any(b"sk-abcdefghij" in path.read_bytes() for path in made.folder.iterdir() if path.is_file())
