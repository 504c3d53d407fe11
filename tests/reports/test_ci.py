"""What CI systems read: unscored never looks like success, and no page adds a line of its own."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.journal.index import scan
from harness.reports.ci import MOST_ANNOTATIONS, annotations, junit, markdown
from harness.reports.console import Terminal
from harness.reports.github import append_step_summary
from harness.runs.about import RunInfo, run_info
from harness.runs.results import Result, is_selected, results_of
from harness.runs.statistics import statistics_of
from tests.reports.runs import Shape, fill


@pytest.fixture
def known_and_rows(tmp_path: Path) -> tuple[RunInfo, tuple[Result, ...]]:
    shapes = [
        Shape(steps=1),
        Shape(steps=1, score=0.0),
        Shape(steps=1, failure="BrowserCrashed"),
        Shape(steps=1, score=None),
    ]
    folder = fill(tmp_path / "run", shapes, screenshots=False)
    known = replace(run_info(folder), tasks=("0", "1", "2", "3", "4"))
    return known, results_of(scan(folder).outcomes.values(), known)


def test_junit_has_a_case_for_each_task_and_no_unscored_one_succeeds(
    known_and_rows: tuple[RunInfo, tuple[Result, ...]],
) -> None:
    tree = ElementTree.fromstring(junit(*known_and_rows))
    cases = {case.attrib["name"].partition(":")[0]: [child.tag for child in case] for case in tree.iter("testcase")}
    assert cases == {"0": [], "1": ["failure"], "2": ["error"], "3": ["error"], "4": ["error"]}
    assert (tree.attrib["tests"], tree.attrib["failures"], tree.attrib["errors"], tree.attrib["skipped"]) == (
        "5",
        "1",
        "3",
        "0",
    )
    assert sorted(error.attrib["type"] for error in tree.iter("error")) == [
        "BrowserCrashed",
        "evaluator error",
        "not begun",
    ]


def test_the_summary_counts_and_says_why(known_and_rows: tuple[RunInfo, tuple[Result, ...]]) -> None:
    known, rows = known_and_rows
    text = markdown(known, rows, statistics_of(rows))
    assert "1 passed, 1 failed, 3 unscored of 5" in text
    assert "20.0% passed" in text
    assert "BrowserCrashed" in text


def test_annotations_name_each_task_that_did_not_pass(known_and_rows: tuple[RunInfo, tuple[Result, ...]]) -> None:
    lines = list(annotations(known_and_rows[1]))
    assert len(lines) == 4
    assert lines[0].startswith("::error title=task 1 failed::")


def test_more_annotations_than_are_shown_become_a_count(known_and_rows: tuple[RunInfo, tuple[Result, ...]]) -> None:
    failed = known_and_rows[1][1]
    lines = list(annotations([failed] * 25))
    assert len(lines) == MOST_ANNOTATIONS
    assert "16 further" in lines[-1]


@pytest.mark.parametrize(
    "evil",
    [
        "x\n::error::injected",
        "a | b | c\n| d | e |",
        "<script>1</script> [x](javascript:1) ![](http://e.example/)",
        "%0A::warning::x,y:z",
        "\x1b[2J\x00]]>\u202e",
    ],
)
def test_foreign_text_stays_on_its_line(known_and_rows: tuple[RunInfo, tuple[Result, ...]], evil: str) -> None:
    known, rows = known_and_rows
    bad = replace(rows[1], intent=evil, why=evil, cause=evil, site=evil, task_id=evil)
    lines = list(annotations([bad]))
    assert len(lines) == 1 and "\n" not in lines[0]
    assert lines[0].split("::")[1].startswith("error title=task ")
    text = markdown(known, [bad], statistics_of([bad]))
    plain = markdown(known, [rows[1]], statistics_of([rows[1]]))
    assert len(text.splitlines()) == len(plain.splitlines())
    assert "<script" not in text and "](" not in text and "http://e" not in text
    assert len(ElementTree.fromstring(junit(known, [bad])).findall(".//testcase")) == 1


def test_the_step_summary_is_added_to(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_text("before\n")
    append_step_summary("after\n", {"GITHUB_STEP_SUMMARY": str(path)})
    append_step_summary("nowhere\n", {})
    assert path.read_text() == "before\nafter\n"
    assert "No such file" in append_step_summary("x", {"GITHUB_STEP_SUMMARY": str(tmp_path / "none" / "summary")})


def test_foreign_text_is_no_command_to_githubs_runner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "find ##[set-env name=PATH]/tmp/x\n  ::stop-commands::x"
    Terminal().print(evil, markup=False)
    assert "##[set-env" in capsys.readouterr().out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    console = Terminal()
    console.print(evil, markup=False)
    console.exactly("::error title=task 1::it failed")
    said = capsys.readouterr().out
    assert "##[" not in said and "  ::" not in said
    assert said.endswith("::error title=task 1::it failed\n")


def test_colours_in_a_log_are_no_person_that_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not Terminal().is_tty


def test_tasks_of_earlier_starts_are_left_out(known_and_rows: tuple[RunInfo, tuple[Result, ...]]) -> None:
    known, rows = known_and_rows
    counts = is_selected(replace(known, tasks=("1", "2")))
    assert [row.task_id for row in rows if counts(row.task_id, row.trial)] == ["1", "2"]
