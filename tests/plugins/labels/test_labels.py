"""`harness label`: what is kept, the queue, kappa, exports, and annotators that are killed while they write."""

import csv
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest

from harness.main import main
from harness.plugins.attribution.run_attributions import write_attributions
from harness.plugins.labels.agreement import agreements_of, queue_of
from harness.plugins.labels.book import NAME, read_labels
from harness.plugins.labels.fields import LabelFields
from harness.runs import Run
from harness.runs.side_log import append
from tests.e2e.conftest import environment
from tests.judge_stub import Question, judge_stub
from tests.plugins.labels.annotator import words
from tests.reports.runs import Shape, assorted, fill

ANNOTATOR = Path(__file__).with_name("annotator.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shapes = [Shape(), Shape(score=0.0), Shape(steps=5), Shape(score=0.0, steps=2), Shape(open=True)]
    return fill(tmp_path / "run", shapes, screenshots=False)


def label(folder: Path, task: str, author: str, *values: str) -> None:
    assert main(["label", str(folder), "--task", task, "--author", author, *values]) == 0


def queue(folder: Path, author: str | None = None) -> list[str]:
    run = Run(folder)
    return [one.result.task_id for one in queue_of(run.results, read_labels(run), author)]


def test_the_history_is_kept_and_the_latest_word_of_each_author_counts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label(folder, "1", "ann", "success=yes", "class=model", "note=two mugs; see step 3")
    label(folder, "1", "ben", "success=unsure")
    label(folder, "1", "ann", "success=no", "class=")
    capsys.readouterr()
    book = read_labels(Run(folder))
    assert book.latest("1", 0, 1) == {
        "ann": {"success": "no", "note": "two mugs; see step 3"},
        "ben": {"success": "unsure"},
    }
    assert book.latest("1", 0, 2) == {}, "a label is of the attempt that was looked at"
    assert main(["label", str(folder), "--task", "1"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3 and said[0].endswith("ann: task 1: success=yes, class=model, note=two mugs; see step 3")
    assert main(["label", str(folder), "--task", "1", "--json"]) == 0
    assert [json.loads(line)["values"] for line in capsys.readouterr().out.splitlines()][1] == {"success": "unsure"}
    label(folder, "1", "ben", "success=")
    assert set(read_labels(Run(folder)).latest("1", 0, 1)) == {"ann"}


def test_disagreements_wait_first_then_failures_without_a_label(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_attributions(Run(folder))
    assert queue(folder) == ["1", "3", "0", "2"], "what is not finished does not wait"
    label(folder, "0", "ann", "success=yes")
    label(folder, "1", "ann", "success=no", "class=environment")
    label(folder, "2", "ann", "success=no")
    assert queue(folder) == ["2", "1", "3"] and queue(folder, "ben") == ["2", "1", "3", "0"]
    label(folder, "2", "ben", "success=yes")
    label(folder, "0", "ben", "success=unsure")
    assert queue(folder) == ["2", "1", "3"]
    capsys.readouterr()
    assert main(["label", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "3 of 4 episodes have a label; 2 are disagreed upon; 3 wait" in said
    assert "success: ann no, ben yes; success: ann no, score yes" in said
    assert "class: ann environment, rule model" in said
    assert main(["label", str(folder), "--limit", "1"]) == 0 and "and 2 more" in capsys.readouterr().out


def test_kappa_that_is_not_defined_is_said_to_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for task in "02":
        label(folder, task, "ann", "success=yes")
        label(folder, task, "ben", "success=yes")
    capsys.readouterr()
    assert main(["label", str(folder)]) == 0
    assert capsys.readouterr().out.count("not defined: both always say the same") == 3
    assert main(["label", str(folder), "--json"]) == 0
    assert {one["kappa"] for one in json.loads(capsys.readouterr().out)["agreement"]} == {None}


def test_kappa_of_one_episode_has_no_interval(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    label(folder, "0", "ann", "success=yes")
    label(folder, "0", "ben", "success=no")
    capsys.readouterr()
    assert main(["label", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "none: the standard error is 0" in said and "0.00 to 0.00" not in said


def kappa_by_hand(pairs: list[tuple[str, str]]) -> Fraction | None:
    """Cohen's, as its definition is written: of the values of two raters."""
    total = len(pairs)
    first, second = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    chance = sum(Fraction(first[value] * second[value], total * total) for value in first)
    agreed = Fraction(sum(one == other for one, other in pairs), total)
    return None if chance == 1 else (agreed - chance) / (1 - chance)


def annotate(folder: Path, author: str, kills: tuple[int, ...]) -> list[str]:
    """Let a scripted person label the run; killed after so many labels each time. Gives the labels it was told of."""
    done = list[str]()
    for labels in (*kills, None):
        command = [sys.executable, str(ANNOTATOR), str(folder), author, "36"]
        with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for told, line in enumerate(process.stdout, start=1):
                done.append(line.strip())
                if told == labels:
                    os.kill(process.pid, signal.SIGKILL)
                    break
            done += [line.strip() for line in process.stdout]  # what was said before the signal came
        assert process.returncode == (0 if labels is None else -signal.SIGKILL)
    return done


@pytest.mark.slow
@pytest.mark.integration
def test_two_annotators_who_are_killed_lose_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = fill(tmp_path / "run", assorted(100, steps=2), screenshots=False)
    write_attributions(Run(folder))
    with ThreadPoolExecutor(2) as both:
        ann = both.submit(annotate, folder, "ann", (17, 40))
        ben = both.submit(annotate, folder, "ben", (25, 9))
        told = {"ann": ann.result(), "ben": ben.result()}
    run = Run(folder)
    book, results = read_labels(run), run.results
    assert book.damaged == () and len(results) == 100
    said = {row.task_id: book.latest(row.task_id, 0, row.attempts) for row in results}
    for author, tasks in told.items():
        assert all(author in said[task] for task in tasks), "what was confirmed is there"
        for row in results:
            assert said[row.task_id][author] == words(author, 36, row.task_id, row.status == "passed")

    raters = {row.task_id: said_by_all(row.task_id, run, said[row.task_id]) for row in results}
    for found in agreements_of(results, book):
        pairs = [
            (of[found.field][found.first], of[found.field][found.second])
            for of in raters.values()
            if {found.first, found.second} <= of.get(found.field, {}).keys()
        ]
        pairs = [pair for pair in pairs if "unsure" not in pair]
        kappa = kappa_by_hand(pairs)
        assert (found.episodes, found.same) == (len(pairs), sum(one == other for one, other in pairs))
        assert (found.kappa and found.kappa.value) == (kappa and pytest.approx(float(kappa)))
    names = {(one.field, one.first, one.second) for one in agreements_of(results, book)}
    assert {("success", "ann", "ben"), ("success", "ann", "score"), ("class", "ben", "rule")} <= names

    def urgency(task: str) -> tuple[int, int, int]:
        differ = [
            field
            for field, of in raters[task].items()
            for one, other in combinations(of.values(), 2)
            if one != other and "unsure" not in (one, other)
        ]
        return differ.count("success"), differ.count("class"), len(differ)

    waiting = [task for task in raters if urgency(task)[2]]
    found = queue(folder)
    assert sorted(found) == sorted(waiting)
    assert [urgency(task) for task in found] == sorted(map(urgency, waiting), reverse=True)
    assert main(["label", str(folder)]) == 0 and "100 of 100 episodes have a label" in capsys.readouterr().out


def said_by_all(task: str, run: Run, people: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Field to rater to value, computed from the run's own words."""
    episode = run.episode(task)
    found: dict[str, dict[str, str]] = {}
    for author, values in people.items():
        for field, value in values.items():
            found.setdefault(field, {})[author] = value
    if episode.status != "unscored":
        found["success"]["score"] = "yes" if episode.status == "passed" else "no"
    if episode.attribution is not None and episode.attribution.kind != "unexplained":
        found.setdefault("class", {})["rule"] = episode.attribution.kind
    return found


def test_a_torn_last_line_is_said_and_cut_off_by_the_next_label(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label(folder, "0", "ann", "success=yes")
    with (folder / NAME).open("ab") as file:
        file.write(b'{"task_id":"1","trial":0,"attem')
    assert main(["label", str(folder)]) == 0
    assert f"{NAME}:2 is not whole" in capsys.readouterr().err
    label(folder, "1", "ann", "success=no")
    book = read_labels(Run(folder))
    assert (book.torn, book.damaged) == ("", ()) and set(book.history) == {("0", 0), ("1", 0)}


def test_a_last_line_that_only_lacks_its_end_counts_and_is_kept_by_the_next_label(folder: Path) -> None:
    label(folder, "0", "ann", "success=yes")
    (folder / NAME).write_bytes((folder / NAME).read_bytes().rstrip())  # as some editors save it
    book = read_labels(Run(folder))
    assert (book.torn, book.damaged) == ("", ()) and set(book.history) == {("0", 0)}
    label(folder, "1", "ann", "success=no")
    book = read_labels(Run(folder))
    assert (book.torn, book.damaged) == ("", ()) and set(book.history) == {("0", 0), ("1", 0)}


def test_a_damaged_line_is_one_sentence_and_the_others_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for task in "012":
        label(folder, task, "ann", "success=yes")
    data = (folder / NAME).read_bytes().splitlines(keepends=True)
    (folder / NAME).write_bytes(data[0] + data[1].replace(b"yes", b"no_") + data[2])
    capsys.readouterr()
    assert main(["label", str(folder)]) == 3
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"{NAME}:2 is not as it was written" in error
    assert set(read_labels(Run(folder)).history) == {("0", 0), ("2", 0)}
    for command in (["export", "annotations", str(folder)], ["export", "sft", str(folder), "--where", "label.class=x"]):
        assert main(command) == 3 and f"{NAME}:2" in capsys.readouterr().err


@pytest.mark.parametrize(
    "strange",
    [
        {"task_id": 1},
        {"trial": -1},
        {"at": 1e300},
        {"author": "judge"},
        {"author": "x" * 81},
        {"values": {"success": "maybe"}},
        {"values": {"severity": "high"}},
        {"values": {"severity": ""}},
        {"values": {"note": "x" * 2001}},
        {"values": []},
    ],
    ids=str,
)
def test_a_line_of_another_version_is_said_and_does_not_count(
    folder: Path, capsys: pytest.CaptureFixture[str], strange: dict[str, object]
) -> None:
    one = {"task_id": "0", "trial": 0, "attempt": 1, "author": "ann", "at": 1.0, "values": {"success": "no"}}
    append(folder, NAME, one)
    append(folder, NAME, {**one, "author": "ben", **strange})
    assert set(read_labels(Run(folder)).latest("0", 0, 1)) == {"ann"}
    assert main(["label", str(folder)]) == 3
    error = capsys.readouterr().err
    assert "1 line is of another version" in error and error.count("\n") == 1


def test_a_file_that_is_none_is_refused(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "elsewhere").write_text("mine\n")
    (folder / NAME).symlink_to(tmp_path / "elsewhere")
    assert main(["label", str(folder), "--task", "0", "--author", "ann", "success=yes"]) == 3
    assert main(["label", str(folder)]) == 3
    assert capsys.readouterr().err.count("is a link") == 2 and (tmp_path / "elsewhere").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--task", "0", "--author", "ann", "succes=yes"], "'succes=yes' is not a label; give FIELD=VALUE"),
        (["--task", "0", "--author", "ann", "success"], "'success' is not a label"),
        (["--task", "0", "--author", "ann", "success=true"], "give one of yes, no, unsure"),
        (["--task", "0", "--author", "ann", "optimality=5"], "give one of 1, 2, 3, 4"),
        (["--task", "0", "--author", "ann", "success=yes", "success=no"], "success is given twice"),
        (["--task", "0", "--author", "ann", "note=" + "x" * 2001], "give at most 2000"),
        (["--task", "0", "success=yes"], "give --task ID and --author NAME, too"),
        (["--author", "ann", "success=yes"], "give --task ID and --author NAME, too"),
        (["--task", "0", "--author", "a\nb", "success=yes"], "is not a name"),
        (["--task", "0", "--author", " ", "success=yes"], "is not a name"),
        (["--task", "0", "--author", "judge", "success=yes"], "are not names of people"),
        (["--task", "9", "--author", "ann", "success=yes"], "has no journal for task 9"),
        (["--task", "../0", "--author", "ann", "success=yes"], "has no journal for task ../0"),
        (["--task", "4", "--author", "ann", "success=yes"], "task 4 is not finished"),
        (["--trial", "1"], "--trial 1: give a number from 0, and --task, too"),
        (["--limit", "0"], "give a number from 1"),
    ],
)
def test_mistakes_are_one_sentence_and_write_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], given: list[str], said: str
) -> None:
    assert main(["label", str(folder), *given]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and not (folder / NAME).exists()


def test_hostile_texts_stay_on_their_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    label(folder, "0", "ann", "success=yes", "note=x\x1b[2J\n\u202eforged line\u2028")
    capsys.readouterr()
    for more in (["--task", "0"], ["--task", "0", "--json"], []):
        assert main(["label", str(folder), *more]) == 0
        said = capsys.readouterr().out
        assert not any(one in said for one in "\x1b\u202e\u2028") and (not more or said.count("\n") == 1)


def test_exports_learn_only_from_what_people_call_a_success(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    label(folder, "0", "ann", "success=yes")
    label(folder, "2", "ann", "success=yes")
    label(folder, "2", "ben", "success=no")
    fields, run = LabelFields(Run(folder)), Run(folder)
    assert fields.values(run.episode("0"), "success") == ("yes",)
    assert fields.values(run.episode("2"), "success") == ("disputed",)
    assert fields.values(run.episode("2"), "author") == ["ann", "ben"]
    assert fields.values(run.episode("1"), "success") == ()
    capsys.readouterr()
    assert main(["export", "sft", str(folder), "--where", "label.success=yes"]) == 0
    assert "of 1 episode; not chosen: 4 episodes" in capsys.readouterr().out
    assert main(["export", "sft", str(folder), "--where", "label.sucess=yes"]) == 2
    assert "label.success, label.side_effect" in capsys.readouterr().err


def test_annotations_are_read_by_judge_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shapes = [Shape(), Shape(score=0.0), Shape(), Shape(score=0.0, steps=0), Shape()]
    folder = fill(tmp_path / "demo-prompt-m", shapes, trials=2)
    for number, said in enumerate(("yes", "no", "no", "no", "unsure")):
        label(folder, str(number), "ann", f"success={said}", "optimality=2", "looping=no")
        label(folder, str(number), "ben", "success=yes", "note==cmd\nline two")
    assert main(["label", str(folder), "--task", "0", "--trial", "1", "--author", "ann", "success=no"]) == 0
    assert main(["export", "annotations", str(folder), "--to", str(tmp_path / "arb")]) == 0
    with (tmp_path / "arb" / "annotations.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 11 and rows[0] == {
        "annotator_name": "ann",
        "benchmark": "demo",
        "task_id": "0",
        "model_name": "prompt-gpt-4o",
        "exp_name": "demo-prompt-m",
        "trajectory_success": "Successful",
        "trajectory_side_effect": "",
        "trajectory_optimality": "2. Suboptimal",
        "trajectory_looping": "No",
        "failure_class": "",
        "note": "",
    }
    seen = list[Question]()

    def verdict(question: Question) -> str:
        seen.append(question)
        return "success"

    with judge_stub(verdict) as stub:
        given = ["judge=openai", "judge.model=m", f"judge.base_url={stub.url}", "judge.api_key=k-judge-123456"]
        options = ["--root", str(tmp_path), "--method", "last_screenshots"]
        assert main(["judge-check", str(tmp_path / "arb"), *given, *options]) == 0
    said = capsys.readouterr().out
    assert "both success 1, judge only 4, people only 0, neither 0; 0 without a verdict, 1 that people could" in said
    assert {question.data["answer"] for question in seen} == {"It costs $44.50."} and all(one.pictures for one in seen)


def test_what_people_write_is_no_formula_in_the_table(folder: Path) -> None:
    label(folder, "0", "=HYPERLINK(1)", "success=yes", "note=@SUM(1+1)")
    label(folder, "0", "ann", "success=yes", "note=a - b")
    assert main(["export", "annotations", str(folder)]) == 0
    with (folder / "export" / "annotations" / "annotations.csv").open(newline="") as file:
        rows = [(row["annotator_name"], row["note"]) for row in csv.DictReader(file)]
    assert rows == [("'=HYPERLINK(1)", "'@SUM(1+1)"), ("ann", "a - b")]


def test_annotations_of_one_author_and_of_nobody(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "annotations", str(folder)]) == 2 and "no episode has a label;" in capsys.readouterr().err
    label(folder, "0", "ann", "success=yes")
    assert main(["export", "annotations", str(folder), "--author", "ben"]) == 2
    assert main(["export", "annotations", str(folder), "--author", "ann"]) == 0
    assert (folder / "export" / "annotations" / "annotations.csv").read_text().count("\n") == 2


def test_garbage_collection_keeps_labels(folder: Path) -> None:
    label(folder, "0", "ann", "success=yes")
    assert main(["clean", str(folder), "--logs"]) == 0 and (folder / NAME).is_file()
