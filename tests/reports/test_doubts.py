"""A score that carries a doubt says so wherever it is shown."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from harness.journal.index import scan
from harness.main import main
from harness.reports.ci import markdown
from harness.reports.summary import Invocation, as_json, summarize
from harness.reports.table import print_summary
from harness.runs.results import result_of
from harness.runs.run import Run
from harness.runs.statistics import statistics_of
from tests.reports.runs import Shape, fill

SHAPES = [Shape(doubted=2), Shape(score=0.0, doubted=1), Shape(), Shape(doubted=1, failure="BrowserCrashed")]
"""Two scores in doubt; one episode in doubt has no score."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path / "run", SHAPES, screenshots=False)


def test_the_summary_counts_scores_in_doubt_and_names_them(folder: Path) -> None:
    outcomes = scan(folder).outcomes
    results = [result_of(outcomes[str(number), 0], "corrected") for number in range(4)]
    summary = summarize("run", results, "corrected", Invocation())
    told = as_json(summary)
    assert told["doubts"] == 2
    assert [len(result.doubts) for result in summary.results] == [1, 1, 0, 1]
    said = StringIO()
    print_summary(Console(file=said, width=200), summary, "results/run")
    lines = said.getvalue().splitlines()
    assert "in doubt: task 0: click <b>Order</b> (step 2) was interrupted" in lines
    assert "2 scores carry a doubt" in lines


def test_markdown_and_pages_name_them_escaped(folder: Path) -> None:
    known, rows = Run(folder).about, Run(folder).results
    text = markdown(known, rows, statistics_of(rows))
    assert "2 scores carry a doubt" in text
    assert "| 1 | failed | click" in text and "<b>" not in text
    assert main(["report", str(folder)]) == 0
    index = (folder / "report" / "index.html").read_text()
    assert "<dt>Scores in doubt</dt><dd>2</dd>" in index and index.count(">in doubt</span>") == 3
    page = next(path.read_text() for path in (folder / "report").rglob("*.html") if path.stem.startswith("0"))
    assert "In doubt" in page and "<b>Order</b>" not in page


def test_show_and_compare_say_it(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(folder), "0"]) == 0
    assert "in doubt, step 2: click <b>Order</b> (step 2) was interrupted" in capsys.readouterr().out
    sure = fill(tmp_path / "sure", [Shape(), Shape(score=0.0), Shape(), Shape()], screenshots=False)
    assert main(["compare", str(sure), str(folder)]) == 0
    assert "scores that carry a doubt: 0 before, 2 after" in capsys.readouterr().out
    assert main(["compare", str(sure), str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["doubts_after"] == 2
