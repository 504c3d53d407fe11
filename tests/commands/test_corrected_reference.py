"""Scores with a corrected reference are told apart everywhere, and verified by what corrected them."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.choices import Durability
from harness.codec import dumps, loads
from harness.episode.job import task_digest
from harness.episode.references import with_reference
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.webvoyager.last_screenshots import LastScreenshots
from harness.records import Eval, Reference, Scored
from tests.scored_runs import FUZZY, MUST, a_task, play, scored

Change = Callable[[Reference], Reference]


def correction(task_id: str, **judged: Any) -> Reference:
    task = a_task(task_id, **judged)
    return Reference(eval=task.eval, task_digest=task_digest(task))


def a_run(folder: Path, *more: Scored, answer: str = "13 of them", reference: dict[str, Any] = MUST) -> Path:
    """One task, which failed, and was scored again as `more` says."""
    with RunFolder.open(folder, durability=Durability.none) as run:
        play(run, a_task("1", reference_answers=reference), answer, scored("corrected", 0.0), *more)
        run.write("run.json", dumps({"scoring": "corrected", "tasks": ["1"], "trials": 1}))
    return folder


def a_file(path: Path, **change: Any) -> Path:
    """The task of `a_run` as a task file has it."""
    task = {
        "task_id": 1,
        "sites": ["shop"],
        "intent": "how many?",
        "start_url": "__SHOP__/",
        "eval": {"eval_types": ["string_match"], "reference_answers": MUST},
    }
    path.write_text(json.dumps([{**task, **change}]))
    return path


def judged_by(**references: Any) -> dict[str, Any]:
    return {"eval": {"eval_types": ["string_match"], "reference_answers": references}}


def values(folder: Path, dialect: str = "corrected") -> list[float | None]:
    found = loads((folder / f"rescored-{dialect}.json").read_bytes())["results"]
    return [one["scored"]["value"] for one in found]


def test_a_string_goes_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_run(tmp_path / "run")
    fixed = a_file(tmp_path / "fixed.json", **judged_by(must_include=["13"]))
    assert main(["score", str(folder), f"task.path={fixed}"]) == 0
    assert values(folder) == [1.0]
    assert "corrected: task 1: 0 in the journal, now 1" in capsys.readouterr().out
    assert main(["score", str(folder), f"task.path={a_file(tmp_path / 'first.json')}"]) == 0
    assert values(folder) == [0.0] and "references" not in loads((folder / "rescored-corrected.json").read_bytes())
    assert "corrected: task" not in capsys.readouterr().out


def test_another_key_of_a_task_is_named_and_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_run(tmp_path / "run")
    other = a_file(tmp_path / "other.json", intent="how few?", require_login=True, **judged_by(must_include=["13"]))
    assert main(["score", str(folder), f"task.path={other}"]) == 2
    assert "task 1 is another task than the one that was played (intent, require_login changed)" in (
        said := capsys.readouterr().err
    )
    assert "only its reference (eval)" in said and "Traceback" not in said


def test_other_tasks_correct_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_run(tmp_path / "run")
    others = a_file(tmp_path / "others.json", task_id=2)
    assert main(["score", str(folder), f"task.path={others}"]) == 0
    assert "no task of" in capsys.readouterr().out and values(folder) == [0.0]


def test_a_recorded_judge_answers_what_it_was_asked_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    two = {"fuzzy_match": ["twelve", "a dozen"]}
    with RunFolder.open(folder, durability=Durability.none) as run:
        said = scored("corrected", 1.0, "No.\n\nincorrect", "Yes.\n\ncorrect")
        play(run, a_task("1", reference_answers=two), "12", said)
        run.write("run.json", dumps({"scoring": "corrected", "tasks": ["1"], "trials": 1}))
    less = a_file(tmp_path / "less.json", **judged_by(fuzzy_match=["a dozen"]))
    assert main(["score", str(folder), f"task.path={less}", "--scoring", "corrected"]) == 0
    assert values(folder) == [1.0]
    other = a_file(tmp_path / "other.json", **judged_by(fuzzy_match=["thirteen"]))
    assert main(["score", str(folder), f"task.path={other}", "--scoring", "corrected"]) == 3
    assert values(folder) == [None] and "was not asked this question" in capsys.readouterr().out


def test_a_judge_of_pages_needs_that_they_were_kept(tmp_path: Path) -> None:
    """A task that no judge judged has kept no trajectory; an empty one would be judged as if nothing had happened."""
    with RunFolder.open(tmp_path / "new", durability=Durability.none) as run:
        play(run, a_task("1", reference_answers=MUST), "12", scored("corrected", 1.0), actions=3)
        run.write("run.json", dumps({"scoring": "corrected", "tasks": ["1"], "trials": 1}))
    name = f"{LastScreenshots.__module__}.{LastScreenshots.__qualname__}"
    judged = a_file(tmp_path / "judged.json", eval={"eval_types": ["looked_at"]})
    evaluator = f"+evaluators.looked_at._target_={name}"
    assert main(["score", str(tmp_path / "new"), evaluator, f"task.path={judged}", "--scoring", "corrected"]) == 3
    (one,) = loads((tmp_path / "new" / "rescored-corrected.json").read_bytes())["results"]
    assert "was not kept for a judge" in one["scored"]["verdicts"][0]["why"]


def test_it_is_seen_in_show_compare_and_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = correction("1", reference_answers={"must_include": ["13"]})
    folder = a_run(tmp_path / "after", replace(scored("corrected", 1.0), reference=reference))
    before = a_run(tmp_path / "before")
    assert main(["show", str(folder)]) == 0
    assert "1 score with a corrected reference (eval), not with the one that was played" in capsys.readouterr().out
    assert main(["show", str(folder), "1"]) == 0
    out = capsys.readouterr().out
    assert "corrected scoring: 1 with a corrected reference (eval)" in out and '"must_include":["13"]' in out
    assert main(["compare", str(before), str(folder)]) == 0
    assert "not the same task in both: 1" in capsys.readouterr().out
    assert main(["compare", str(folder), str(folder)]) == 0
    assert "scores with a corrected reference (eval), not the one that was played: 1 before, 1 after" in (
        capsys.readouterr().out
    )
    assert main(["bundle", str(folder)]) == 0
    assert main(["verify", str(tmp_path / "after.cairn")]) == 0
    assert "corrected: 1 score with a corrected reference (eval), not with the one" in capsys.readouterr().out
    assert main(["show", str(tmp_path / "after.cairn")]) == 0
    assert "1 score with a corrected reference" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda one: replace(one, task_digest="0" * 64), "is not the one that its task_digest was made of"),
        (
            lambda one: replace(one, task_digest=task_digest(a_task("1", reference_answers=MUST))),
            "has the digest of the one that was played",
        ),
        (
            lambda one: correction("1", reference_answers={"must_include": ["14"]}),
            "scored 1 with the corrected reference",
        ),
        (
            lambda one: replace(one, eval=Eval(eval_types=())),
            "is not the one that its task_digest was made of",
        ),
    ],
)
def test_a_forged_reference_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Change, why: str
) -> None:
    reference = change(correction("1", reference_answers={"must_include": ["13"]}))
    folder = a_run(tmp_path / "run", replace(scored("corrected", 1.0), reference=reference))
    assert main(["bundle", str(folder)]) == 0
    assert main(["verify", str(tmp_path / "run.cairn")]) == 1
    assert why in capsys.readouterr().out
    main(["show", str(tmp_path / "run.cairn")])
    assert "1 passed" not in capsys.readouterr().out


def test_a_file_that_was_scored_with_a_correction_is_verified_by_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_run(tmp_path / "run")
    fixed = a_file(tmp_path / "fixed.json", **judged_by(must_include=["13"]))
    assert main(["score", str(folder), f"task.path={fixed}"]) == 0
    assert main(["bundle", str(folder)]) == 0
    assert main(["verify", str(tmp_path / "run.cairn")]) == 0
    capsys.readouterr()
    assert main(["show", str(tmp_path / "run.cairn")]) == 0
    assert "rescored-corrected.json has scores of 1 task with a corrected reference" in capsys.readouterr().out

    path = folder / "rescored-corrected.json"
    found = loads(path.read_bytes())
    del found["references"]
    path.write_bytes(dumps(found))
    (tmp_path / "run.cairn").unlink()
    assert main(["bundle", str(folder)]) == 0
    assert main(["verify", str(tmp_path / "run.cairn")]) == 1
    assert "rescored-corrected.json: references" in capsys.readouterr().out


def test_metadata_of_evaluators_belongs_to_the_reference() -> None:
    task = replace(a_task("1", reference_answers=FUZZY), metadata={"eval.mine": 1, "source": "x"})
    reference = Reference(eval=task.eval, metadata={"eval.mine": 2}, task_digest="d")
    assert with_reference(task, reference).metadata == {"eval.mine": 2, "source": "x"}
