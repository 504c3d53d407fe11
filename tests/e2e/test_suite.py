"""Several benchmarks in one run: the demo tasks, MiniWoB++, and one with pages and a server of its own."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.journal.log import read
from harness.main import main
from harness.records import CloseReason
from harness.runs import Run
from tests.e2e.bells import BELLS
from tests.e2e.conftest import PROJECT, Start
from tests.e2e.test_run import decided, running
from tests.waiting import wait_until

pytest.importorskip("miniwob", reason="the package miniwob is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.slow]
Starter = Callable[..., Start]
PAGES = ("click-button", "enter-text", "click-checkboxes", "use-spinner")
SUITE = f"""
benchmarks:
  demo: {{weight: 2, ids: [0-3]}}
  miniwob: {{arguments: {{pages: [{", ".join(PAGES)}]}}}}
  bells: {{weight: 1, limits: {{repeated_actions: 1000}}}}
"""
EXPECTED = {"demo": 1, "miniwob": len(PAGES), "bells": BELLS}
"""Passed, of each: of the demo tasks only the first has the answer that the agent gives."""


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, ...]]:
    """Overrides of a run of the suite."""
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    conf = tmp_path / "conf"
    for group in ("task", "sites"):
        (conf / group).mkdir(parents=True)
    (conf / "sites" / "bells.yaml").write_text(
        "embedded: true\nserver: tests.e2e.bells\nbells: {canonical: http://bells.localhost, read_only: true}\n"
    )
    (conf / "task" / "bells.yaml").write_text(
        "# @package _global_\ndefaults: [{override /sites: bells}]\n"
        "task: {name: bells, _target_: tests.e2e.bells.Bells, arguments: {}}\n"
    )
    (tmp_path / "mix.yaml").write_text(SUITE)
    yield (
        *("task=suite", f"task.path={tmp_path / 'mix.yaml'}", f"hydra.searchpath=[{conf}]", "llm=none", "workers=1"),
        *("agent.name=ringer", "agent._target_=tests.e2e.bells.Ringer", "resume.max_attempts=9"),
    )


def passed(summary: dict[str, Any]) -> dict[str, int]:
    return {one["name"]: one["passed"] for one in summary["suite"]["benchmarks"]}


def test_benchmarks_run_together_by_their_own_rules(
    start: Starter, given: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = start(*given)
    assert done.code == 0, done.out + done.err
    assert passed(done.summary) == EXPECTED
    suite = done.summary["suite"]
    assert [one["weight"] for one in suite["benchmarks"]] == [0.5, 0.25, 0.25]
    assert suite["mean"]["value"] == pytest.approx(0.5 * 0.25 + 0.25 + 0.25)
    assert suite["mean"]["low"] < suite["mean"]["value"] < suite["mean"]["high"] < 1
    assert "weighted mean" in done.out
    longest = read(done.folder / f"bells.{BELLS}.traj.jsonl")
    assert longest.closed is not None and longest.closed.reason is CloseReason.DONE and len(longest.steps) == BELLS
    pages = {read(done.folder / f"miniwob.{name}.traj.jsonl").closed for name in PAGES}
    assert {closed.reason for closed in pages if closed is not None} == {CloseReason.DONE}

    again = start(*given)
    assert again.code == 0 and "0 browser starts" in again.out
    (tmp_path / "mix.yaml").write_text(SUITE.replace("weight: 2", "weight: 0.5"))
    weighed = start(*given)
    assert weighed.code == 0 and "0 browser starts" in weighed.out
    assert [one["weight"] for one in weighed.summary["suite"]["benchmarks"]] == [0.2, 0.4, 0.4]
    assert Run(done.folder).about.benchmarks == {"demo": 0.5, "miniwob": 1.0, "bells": 1.0}, "as reports have them"
    (tmp_path / "mix.yaml").write_text(SUITE.replace("repeated_actions: 1000", "repeated_actions: 4"))
    refused = start(*given)
    assert refused.code == 2 and "task.members.bells.limits.repeated_actions" in refused.err

    (tmp_path / "mix.yaml").write_text(SUITE)
    assert start(*given).code == 0, "the weights are those of before again"
    idle = start(*given[:5], "agent=null", "run.id=idle")
    assert idle.code == 0, "no reward is a 0"
    unrung = [read(path) for path in (done.folder.parent / "idle").glob("bells.*.traj.jsonl")]
    assert len(unrung) == BELLS and all(one.scores["corrected"].value == 0.0 for one in unrung)
    capsys.readouterr()
    assert main(["compare", str(done.folder.with_name("idle")), str(done.folder)]) == 0
    said = capsys.readouterr().out
    assert "weighted difference of the suite +62.5 pp" in said and "gained: task miniwob.use-spinner" in said
    assert "scored in both: 14 tasks" in said and "left out" not in said
    assert main(["show", str(done.folder), "bells.2"]) == 0
    assert "task bells.2: Ring 2 times" in capsys.readouterr().out
    assert main(["report", str(done.folder)]) == 0
    page = (done.folder / "report" / "index.html").read_text()
    assert "<h2>Benchmarks</h2>" in page and "Weighted mean" in page


def test_a_suite_that_is_killed_again_and_again_ends_as_one_that_was_not(
    start: Starter, given: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "results" / "run"
    for kill in range(1, 5):
        with running(*given, root=tmp_path / "results") as process:
            wait_until(lambda kill=kill: decided(folder) >= 8 * kill, within_s=180)
            family = psutil.Process(process.pid).children(recursive=True)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            psutil.wait_procs(family, timeout=600)
    last = start(*given)
    assert last.code == 0, last.out + last.err
    assert passed(last.summary) == EXPECTED
    played = [read(path) for path in folder.glob("*.traj.jsonl")]
    assert len(played) == 4 + len(PAGES) + BELLS
    assert all(episode.closed is not None and episode.scores["corrected"].value is not None for episode in played)
    assert any(episode.resumed for episode in played), "a kill struck an episode"
