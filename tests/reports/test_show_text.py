"""The terminal side: what is printed, and that no page steers the terminal."""

import sys
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from harness.choices import Durability
from harness.escape import one_line, visible
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.html_report.report import write_report
from harness.records import Acted, Decided, Usage
from harness.runs.run import Run
from tests.reports.runs import Shape, episode, fill, task, write

Output = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path / "run", [Shape(), Shape(score=0.0, refused=2)], screenshots=False)


def test_a_run_is_a_line_for_each_task_and_a_sum(folder: Path, capsys: Output) -> None:
    assert main(["show", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:3] for line in lines[:2]] == ["✓ 0", "✕ 1"]
    assert "1 passed, 1 failed, 0 unscored of 2 tasks; 50.0%" in lines[-2] and lines[-1].startswith("no baseline: ")


def test_a_terminal_without_these_characters_gets_escapes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = BytesIO()
    monkeypatch.setattr("sys.stdout", TextIOWrapper(written, encoding="latin-1"))
    assert main(["show", str(folder)]) == 0
    sys.stdout.flush()
    assert written.getvalue().startswith(b"\\u2713 0")


def test_what_a_judge_cost_stands_beside_what_the_model_cost(tmp_path: Path, capsys: Output) -> None:
    folder = fill(tmp_path / "run", [Shape(), Shape(judge_tokens=300)], screenshots=False)
    assert main(["show", str(folder)]) == 0
    without, judged = capsys.readouterr().out.splitlines()[:2]
    assert without.split("tokens")[0].split()[-1] == judged.split("tokens")[0].split()[-1], "no model figure moves"
    for arguments, told in (([], "; judge (not included): 600 tokens, $6.00"), (["1"], "; judge: 600 tokens, $6.00")):
        assert main(["show", str(folder), *arguments]) == 0
        assert told in capsys.readouterr().out
    assert main(["show", str(folder), "0"]) == 0
    assert "judge" not in capsys.readouterr().out


def test_a_task_is_its_steps_answer_and_verdicts(folder: Path, capsys: Output) -> None:
    assert main(["show", str(folder), "1"]) == 0
    out = capsys.readouterr().out
    assert "  1  click [12] button 'Add to cart'" in out
    assert "refused: no element [29] on this page" in out
    assert "answer: It costs $44.50." in out
    assert "corrected scoring: 0" in out


def test_a_failed_score_is_never_written_as_1(tmp_path: Path, capsys: Output) -> None:
    """An evaluator of one's own may add ten tenths."""
    folder = fill(tmp_path / "run", [Shape(steps=1, score=sum([0.1] * 10), published=0.123456789)], screenshots=False)
    assert main(["show", str(folder), "0"]) == 0
    said = capsys.readouterr().out
    assert "corrected scoring: 0.9999999999999999\n" in said and "webarena scoring: 0.123457\n" in said
    write_report(Run(folder))
    assert "0.9999999999999999" in (folder / "report" / "tasks" / "0.html").read_text()


def test_a_step_of_an_agent_without_a_model_names_none(tmp_path: Path, capsys: Output) -> None:
    folder = tmp_path / "run"
    with RunFolder.open(folder, durability=Durability.none) as run:
        of = task(0)
        records = episode(run, of, Shape(steps=1), screenshots=False)
        free = [replace(one, model="", usage=Usage()) if isinstance(one, Decided) else one for one in records]
        write(run, of, free)
        run.write("run.json", b'{"tasks": ["0"]}')
    assert main(["show", str(folder), "0", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "1.8 s deciding, 0.4 s acting"
    page = (write_report(Run(folder)).index.parent / "tasks" / "0.html").read_text()
    assert '<p class="by"><small>2026-' in page and "> · " not in page and "0 tokens</p>" not in page


def test_a_step_is_shown_whole(folder: Path, capsys: Output) -> None:
    assert main(["show", str(folder), "1", "2"]) == 0
    out = capsys.readouterr().out
    for part in (
        "RootWebArea 'Lanterns'",
        "Let's think step by step",
        "OBJECTIVE:",
        "as in step 1",
        "refused: no element",
    ):
        assert part in out or part == "as in step 1"


@pytest.mark.parametrize("arguments", [["9"], ["../x"], ["1", "99"]])
def test_what_is_not_there_is_one_sentence(folder: Path, arguments: list[str], capsys: Output) -> None:
    assert main(["show", str(folder), *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_no_page_steers_the_terminal(tmp_path: Path, capsys: Output) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\rgone [bold]x[/bold]"
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as run:
        of = task(0, intent=evil)
        records = episode(run, of, Shape(), screenshots=False)
        write(
            run,
            of,
            [
                replace(one, observation=replace(one.observation, text=evil, title=evil))
                if isinstance(one, Acted)
                else one
                for one in records
            ],
        )
    for arguments in ([], ["0"], ["0", "1"]):
        assert main(["show", str(tmp_path / "run"), *arguments]) == 0
        out = capsys.readouterr().out
        assert not set(out) & set("\x1b\x07\x9b\u202e\r")
        assert "[bold]x[/bold]" in out


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain\ttext\nهنا", "plain\ttext\nهنا"),
        ("a\r\nb", "a\nb"),
        ("a\x00b\x1b", "a␀b␛"),
        ("\u202eabc\u2069", "⟨U+202E⟩abc⟨U+2069⟩"),
        ("\x7f\x85\ufeff", "␡⟨U+0085⟩⟨U+FEFF⟩"),
    ],
)
def test_what_acts_becomes_visible(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_one_line_is_cut_with_a_sign() -> None:
    assert one_line("a\n b\t c" * 3, 6) == "a b c…"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [((), "give a task and a step"), (("0",), "give a task and a step"), (("0", "1"), "no request")],
)
def test_a_request_that_is_not_there_is_one_sentence(
    folder: Path, arguments: tuple[str, ...], said: str, capsys: Output
) -> None:
    assert main(["show", str(folder), *arguments, "--request"]) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.strip().splitlines()) == 1
