"""The rates of the free baselines beside a run's: only of the very same tasks, and of what is under the same folder."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.journal.index import scan
from harness.main import main
from harness.reports.baselines import baselines_of, said
from harness.reports.html_report import write_report
from harness.reports.rows import rows_of, run_info
from tests.reports.runs import Shape, fill

PASS, FAIL = Shape(steps=2), Shape(steps=2, score=0.0)


def found(folder: Path) -> str:
    rows = rows_of(scan(folder).entries, run_info(folder))
    return said(baselines_of(folder, rows, "corrected"))


def test_both_baselines_of_the_same_tasks_are_found_and_other_agents_are_none(tmp_path: Path) -> None:
    run = fill(tmp_path / "run", [PASS, PASS, PASS, FAIL], screenshots=False)
    fill(tmp_path / "else", [PASS, PASS, PASS, PASS], screenshots=False, agent="direct")
    fill(tmp_path / "n", [FAIL, PASS, FAIL, FAIL], screenshots=False, agent="null")
    fill(tmp_path / "r", [PASS, PASS, FAIL, FAIL], screenshots=False, agent="random")
    assert found(run) == "null 25.0% (1 of 4), random 50.0% (2 of 4)"


def test_a_baseline_that_lacks_a_task_is_not_shown_and_one_of_more_tasks_counts_the_common_ones(tmp_path: Path) -> None:
    run = fill(tmp_path / "run", [PASS, PASS, PASS], screenshots=False)
    fill(tmp_path / "n", [PASS, PASS], screenshots=False, agent="null")
    fill(tmp_path / "r", [FAIL, PASS, FAIL, PASS], screenshots=False, agent="random")
    assert found(run) == "random 33.3% (1 of 3)"


def test_the_report_is_made_again_when_a_baseline_appears(tmp_path: Path) -> None:
    run = fill(tmp_path / "run", [PASS, replace(FAIL, steps=3)], screenshots=False)
    page = write_report(run).index
    assert "agent=null" not in page.read_text()
    fill(tmp_path / "n", [FAIL, PASS], screenshots=False, agent="null")
    assert write_report(run).pages == 0
    assert "agent=null" in page.read_text() and "50.0%" in page.read_text()


def test_a_comparison_names_the_baselines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = fill(tmp_path / "a", [PASS, FAIL], screenshots=False)
    after = fill(tmp_path / "b", [PASS, PASS], screenshots=False)
    fill(tmp_path / "n", [FAIL, FAIL], screenshots=False, agent="null")
    html = tmp_path / "compared.html"
    assert main(["compare", str(before), str(after), "--html", str(html)]) == 0
    assert "baselines on these tasks: null 0.0% (0 of 2)" in capsys.readouterr().out
    assert "Baseline null" in html.read_text()


def test_a_damaged_baseline_is_left_out(tmp_path: Path) -> None:
    run = fill(tmp_path / "run", [PASS], screenshots=False)
    other = fill(tmp_path / "n", [PASS], screenshots=False, agent="null")
    journal = next(other.glob("*.traj.jsonl"))
    journal.write_bytes(b"{}\n" + journal.read_bytes())
    assert found(run) == ""
