"""The rates of the free baselines beside a run's: only of the very same tasks, and of what is under the same folder."""

import os
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from harness.codec import dumps, loads
from harness.main import main
from harness.plugins.html_report.report import write_report
from harness.reports.ci import markdown
from harness.reports.summary import Invocation, summarize
from harness.reports.table import print_summary
from harness.runs.about import TaskPlace, run_info
from harness.runs.baselines import NO_BASELINE, baselines_of, baselines_of_run, said
from harness.runs.results import not_begun
from harness.runs.run import Run
from harness.runs.statistics import statistics_of
from tests.reports.runs import Shape, close, fill

PASS, FAIL = Shape(steps=2), Shape(steps=2, score=0.0)
SITES, LONG = ("shop", "shop", "forum", "forum"), "a-site-with-a-long-name"


def found(folder: Path) -> str:
    rows = Run(folder).results
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


def test_a_baseline_lacks_also_what_the_run_has_not_begun(tmp_path: Path) -> None:
    run = fill(tmp_path / "run", [PASS, PASS], screenshots=False)
    fill(tmp_path / "n", [FAIL, PASS], screenshots=False, agent="null")
    fill(tmp_path / "r", [FAIL, PASS, PASS], screenshots=False, agent="random")
    assert found(run) == "null 50.0% (1 of 2), random 50.0% (1 of 2)"
    for folder in (run, tmp_path / "n"):
        described = loads((folder / "run.json").read_bytes())
        (folder / "run.json").write_bytes(dumps({**described, "tasks": ["0", "1", "2"]}))
    assert found(run) == "random 66.7% (2 of 3)", "the other one has not begun it, either"
    (tmp_path / "n" / "run.json").write_bytes(dumps({**described, "agent": "null", "tasks": ["0", "1"]}))
    assert found(run) == "random 66.7% (2 of 3)"
    (run / "0.traj.jsonl").unlink()
    (run / "1.traj.jsonl").unlink()
    assert found(run) == "", "of no task it is known that they are the same"


def test_the_report_is_made_again_when_a_baseline_appears(tmp_path: Path) -> None:
    run = fill(tmp_path / "run", [PASS, PASS, PASS, replace(FAIL, steps=3)], screenshots=False)
    page = write_report(Run(run)).index
    assert NO_BASELINE in page.read_text()
    fill(tmp_path / "n", [FAIL, PASS, FAIL, PASS], screenshots=False, agent="null")
    assert write_report(Run(run)).pages == 0
    text = page.read_text()
    assert NO_BASELINE not in text and "agent=null</code>: <b>50.0%</b>" in text
    assert text.count('<th scope="col" class="num">null</th>') >= 1, "beside the rate of each site"


def test_a_comparison_names_the_baselines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = fill(tmp_path / "a", [PASS, FAIL], screenshots=False)
    after = fill(tmp_path / "b", [PASS, PASS], screenshots=False)
    fill(tmp_path / "n", [FAIL, FAIL], screenshots=False, agent="null")
    html = tmp_path / "compared.html"
    assert main(["compare", str(before), str(after), "--html", str(html)]) == 0
    out = capsys.readouterr().out
    assert "baselines on these tasks: null 0.0% (0 of 2)" in out
    (head,) = (line.split() for line in out.splitlines() if line.startswith("site"))
    assert [word for word in head if word.isalpha()] == ["site", "pairs", "before", "after", "null", "gained", "lost"]
    assert "Baseline null" in html.read_text() and html.read_text().count('class="num">null</th>') == 1


def test_where_there_is_no_baseline_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = fill(tmp_path / "a", [PASS, FAIL], screenshots=False)
    after = fill(tmp_path / "b", [PASS, PASS], screenshots=False)
    html = tmp_path / "compared.html"
    for command in (("compare", str(before), str(after), "--html", str(html)), ("show", str(after))):
        assert main(list(command)) == 0
        assert NO_BASELINE in capsys.readouterr().out
    assert "<dt>Baselines</dt><dd>none</dd>" in html.read_text()
    rows = Run(after).results
    assert f"{NO_BASELINE}." in markdown(run_info(after), rows, statistics_of(rows))


def test_a_baseline_is_not_asked_to_play_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = fill(tmp_path / "n", [FAIL, PASS], screenshots=False, agent="null")
    assert main(["show", str(run)]) == 0
    rows = Run(run).results
    said = StringIO()
    print_summary(Console(file=said, width=200), summarize("n", [], "corrected", Invocation()), str(run))
    pages = (write_report(Run(run)).index.read_text(), markdown(run_info(run), rows, statistics_of(rows)))
    assert not any(NO_BASELINE in text for text in (capsys.readouterr().out, said.getvalue(), *pages))
    assert "this invocation: " in said.getvalue()
    fill(tmp_path / "r", [PASS, PASS], screenshots=False, agent="random")
    assert main(["show", str(run)]) == 0
    assert "baselines on these tasks: random 100.0% (2 of 2)" in capsys.readouterr().out


def test_each_site_has_the_rate_of_each_baseline_beside_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = fill(tmp_path / "run", [PASS] * 7, screenshots=False)
    fill(tmp_path / "n", [PASS, *[FAIL] * 6], screenshots=False, agent="null")
    fill(tmp_path / "r", [PASS, PASS, *[FAIL] * 3, PASS, FAIL], screenshots=False, agent="random")
    rows = Run(run).results
    found = baselines_of(run, rows, "corrected")
    assert {one.agent: {name: one.sites[name].rate for name in ("shop", "forum")} for one in found} == {
        "null": {"shop": 1 / 3, "forum": 0.0},
        "random": {"shop": 2 / 3, "forum": 1 / 3},
    }
    assert baselines_of_run(run, "corrected") == found
    table = markdown(run_info(run), rows, statistics_of(rows), found).splitlines()
    assert "| site | tasks | passed | failed | unscored | rate | null | random |" in table
    assert "| shop | 3 | 3 | 0 | 0 | 100.0% | 33.3% | 66.7% |" in table
    assert main(["show", str(run)]) == 0
    assert "baselines on these tasks: null 14.3% (1 of 7), random 42.9% (3 of 7)" in capsys.readouterr().out
    said = StringIO()
    played = [
        replace(not_begun(str(number), 0, TaskPlace(site=site)), status="passed") for number, site in enumerate(SITES)
    ]
    outcome = summarize("run", played, "corrected", Invocation())
    print_summary(Console(file=said, width=200), outcome, "run", baselines=found)
    lines = [line.split() for line in said.getvalue().splitlines()]
    assert ["shop", "2", "2", "0", "0", "100.0%", "100.0%", "33.3%", "66.7%", "0", "$0.0000"] in lines
    for width, heads in (
        (80, "site tasks passed failed unscored rate cost"),
        (62, "tasks passed failed"),
    ):
        said = StringIO()
        outcome = summarize("run", [*played, not_begun("9", 0, TaskPlace(site=LONG))], "corrected", Invocation())
        print_summary(Console(file=said, width=width), outcome, "run", baselines=found * 3)
        table = said.getvalue().partition("this invocation")[0]
        assert heads in " ".join(table.split()) and "…" not in table, "columns are left out, and none is cut"
        assert "a-site-w" in table
    write_report(Run(run))
    page = (run / "report" / "index.html").read_text()
    assert '<td class="num">33.3%</td><td class="num">66.7%</td>' in page


def test_a_damaged_baseline_is_left_out(tmp_path: Path) -> None:
    run = fill(tmp_path / "run", [PASS], screenshots=False)
    other = fill(tmp_path / "n", [PASS], screenshots=False, agent="null")
    journal = next(other.glob("*.traj.jsonl"))
    journal.write_bytes(b"{}\n" + journal.read_bytes())
    assert found(run) == ""


def test_a_folder_that_may_not_be_looked_into_hides_no_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fill(tmp_path / "run", [PASS], screenshots=False)
    fill(tmp_path / "n", [PASS], screenshots=False, agent="null")
    close(fill(tmp_path / "private", [PASS], screenshots=False), monkeypatch)
    assert found(run) == "null 100.0% (1 of 1)"


def test_what_is_no_terminal_gets_whole_tables(tmp_path: Path) -> None:
    runs = [fill(tmp_path / name, [PASS] * 2, screenshots=False) for name in ("before", "after")]
    command = [sys.executable, "-m", "harness.main", "compare", *map(str, runs)]
    narrow = {**os.environ, "COLUMNS": "20"}
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=narrow).stdout
    (head,) = (line.split() for line in said.splitlines() if line.startswith("site"))
    assert [word for word in head if word.isalpha()] == ["site", "pairs", "before", "after", "gained", "lost"]
