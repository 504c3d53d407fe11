"""`harness find`: the language, what it searches, damaged folders and hostile texts."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.codec import dumps
from harness.errors import ConfigError
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.attribution.run_attributions import write_attributions
from harness.plugins.find import command
from harness.plugins.find.query import NUMBERS, TEXTS, terms_of
from harness.plugins.find.search import find
from harness.records import Decided, Record
from harness.runs import Run
from tests.reports.runs import Shape, episode, fill, rot, task, write


def found(folder: Path, query: str) -> list[tuple[str, int]]:
    return [(one.task, one.step) for one in find(Run(folder), terms_of(query))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shapes = [Shape(), Shape(steps=5, score=0.0, refused=2), Shape(steps=0), Shape(failure="BrowserCrashed", steps=2)]
    return fill(tmp_path / "run", shapes, screenshots=False)


@pytest.mark.parametrize(
    ("query", "steps"),
    [
        ("outcome=refused", [("1", 2)]),
        ("action.kind=type status=passed", [("0", 2)]),
        ("action.kind=TYPE task=0", [("0", 2)]),
        ("target~lantern", []),
        ("STORM action.kind=type task!=0", [("1", 2), ("3", 2)]),
        ('"storm lantern" step<=2 task=3', [("3", 2)]),
        ("why~[29]", [("1", 2)]),
        ("answer~44.50", [("0", 4), ("1", 6), ("2", 1)]),
        ("step>=5 task=1", [("1", 5), ("1", 6)]),
        ("steps=1", [("2", 1)]),
        ("effect~cart/add task=1", [("1", 1)]),
        ("url!~page", []),
        ("task=[0-2] action.kind=stop", [("0", 4), ("1", 6), ("2", 1)]),
        ("class=harness step=1", [("3", 1)]),
        ("rule=loo* action.kind=stop", [("1", 6)]),
        ("tokens>999999", []),
    ],
)
def test_steps_are_found_for_which_everything_holds(folder: Path, query: str, steps: list[tuple[str, int]]) -> None:
    write_attributions(Run(folder))
    assert found(folder, query) == steps


@pytest.mark.parametrize(
    ("query", "tasks"),
    [
        ("label.success=no", ["0"]),
        ("label.success=disputed", ["2"]),
        ("label.success~o", ["0"]),
        ("label.success!=no", ["1", "2", "3"]),
        ("label.success!=*", ["1", "3"]),
        ("label.side_effect=YES", ["1"]),
        ("label.author=ben", ["1", "2"]),
        ("label.author!=ann status=failed", ["1"]),
    ],
)
def test_what_people_said_of_episodes_can_be_asked_for(folder: Path, query: str, tasks: list[str]) -> None:
    for task_id, author, said in (
        ("0", "ann", "success=no"),
        ("1", "ben", "side_effect=yes"),
        ("2", "ann", "success=yes"),
        ("2", "ben", "success=no"),
    ):
        assert main(["label", str(folder), "--task", task_id, "--author", author, said]) == 0
    assert [task for task, _ in found(folder, f"{query} step=1")] == tasks


def test_labels_that_cannot_be_read_are_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "labels.jsonl").write_text("{}\n{}\n")
    assert main(["find", str(folder), "label.success=no"]) == 3
    said = capsys.readouterr()
    assert "labels.jsonl" in said.err and said.err.count("\n") == 1 and not said.out
    assert main(["find", str(folder), "action.kind=stop"]) == 0, "nobody asked for labels"


def test_every_field_can_be_asked_for(folder: Path) -> None:
    for field in TEXTS:
        assert found(folder, f"{field}~zzzz") == []
    for field in NUMBERS:
        assert len(found(folder, f"{field}>=0")) == len(found(folder, "action~"[:-1] + "!=zzzz")), field


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "the query is empty"),
        ("  ", "the query is empty"),
        ('"open', "close its quotation marks"),
        ("foo=1", "foo is not a field"),
        ("label.foo=1", "label.foo is not a field; use one of .*label.success"),
        ("step~3", "step is a number"),
        ("step=three", "step is a number"),
        ("step=" + "9" * 40, "step is a number"),
        ("url>3", "url is a text"),
        ("a " * 51, "give at most 50"),
        ("a" * 2001, "give at most 2000"),
    ],
)
def test_a_query_that_cannot_be_read_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], query: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        terms_of(query)
    assert main(["find", str(folder), query]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_prints_lines_or_json_and_says_when_there_are_more(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["find", str(folder), "storm action.kind=type", "--limit", "2"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0].startswith("run 0 step 2: type [13] [storm lantern]") and "more than 2" in said.err
    assert main(["find", str(folder), "lantern step=1 task=0", "--json"]) == 0
    (one,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert one["step"] == 1 and one["field"] == "url" and "lantern" in one["quote"].casefold()
    assert main(["find", str(folder), "zzzz"]) == 0
    assert capsys.readouterr().err == "harness: nothing was found\n"
    assert main(["find", str(folder), "x", "--limit", "0"]) == 2
    assert main(["find", str(folder / "none"), "x"]) == 2


def test_programs_read_all_steps_unless_a_limit_is_given(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def lines(*options: str) -> int:
        assert main(["find", str(folder), "step>=1", *options]) == 0
        return capsys.readouterr().out.count("\n")

    whole = lines("--limit", "1000")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "_LINES", 1)
        assert (lines(), lines("--json"), lines("--json", "--limit", "2")) == (1, whole, 2)


def test_a_damaged_journal_is_named_and_the_others_are_searched(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "0.traj.jsonl").write_bytes(b"{}\n{}\n")
    assert main(["find", str(folder), "answer~44.50"]) == 3
    said = capsys.readouterr()
    assert "0.traj.jsonl:1" in said.err and said.out.count("\n") == 2


def test_a_journal_that_only_reading_shows_to_be_damaged_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rot(folder / "0.traj.jsonl")
    for options in ((), ("--limit", "1")):
        assert main(["find", str(folder), "answer~44.50", *options]) == 3
        assert "0.traj.jsonl" in capsys.readouterr().err


def test_hostile_texts_are_one_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = "needle\x1b[2J\n\u202eforged line\u2028"
    with RunFolder.open(tmp_path / "run") as run:
        records: list[Record] = [
            replace(one, reply=bad) if isinstance(one, Decided) else one
            for one in episode(run, task(0), Shape(steps=2), screenshots=False)
        ]
        write(run, task(0), records)
        run.write("run.json", dumps({"scoring": "corrected", "tasks": ["0"]}))
    assert main(["find", str(tmp_path / "run"), "thought~needle"]) == 0
    said = capsys.readouterr().out
    assert said.count("\n") == 3 and not any(one in said for one in "\x1b\u202e\u2028")
    assert main(["find", str(tmp_path / "run"), "thought~needle", "--json"]) == 0
    assert not any(one in capsys.readouterr().out for one in "\x1b\u202e\u2028")


def test_what_is_not_searched_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = json.loads((folder / "run.json").read_bytes())
    (folder / "run.json").write_text(json.dumps(about | {"tasks": ["0", "3"]}))
    assert found(folder, "step=1") == [("0", 1), ("3", 1)]
    assert main(["find", str(folder), "step=1"]) == 0
    said = "not counted: 2 episodes of earlier starts with other tasks or trials (tasks 1, 2)"
    assert said in capsys.readouterr().err
