"""`harness score`: scores from evidence alone, with recorded or fresh judges, and journals left as they are."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from threading import Event

import pytest

from harness.choices import Durability
from harness.codec import dumps, loads
from harness.errors import JournalCorrupt
from harness.journal.final_state import read_final_state
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.webvoyager.last_screenshots import LastScreenshots
from harness.records import Eval, TrajectoryStep
from tests.judge_stub import Question, judge_stub
from tests.scored_runs import FUZZY, MUST, a_task, play, scored
from tests.stub_endpoint import Said, StubEndpoint, stub_endpoint
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The reply cache of a person who says nothing of one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "cairn"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as run:
        play(run, a_task("1", reference_answers=MUST), "112 of them", scored("corrected", 1.0))
        play(run, a_task("2", reference_answers=FUZZY), "a dozen", scored("corrected", 1.0, "Same.\n\ncorrect"))
        play(run, a_task("3", reference_answers=FUZZY), "a dozen")
        play(run, a_task("4", reference_answers=MUST), None)
        run.write("run.json", dumps({"scoring": "corrected", "tasks": ["1", "2", "3", "4"], "trials": 1}))
    return tmp_path / "run"


def contents(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.jsonl")}


def results(folder: Path, dialect: str) -> dict[str, float | None]:
    found = loads((folder / f"rescored-{dialect}.json").read_bytes())
    assert found["evaluator_version"].endswith(dialect)
    return {one["task_id"]: one["scored"] and one["scored"]["value"] for one in found["results"]}


def test_evidence_is_scored_again_in_both_dialects(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(folder)
    assert main(["score", str(folder)]) == 3
    assert contents(folder) == before
    assert results(folder, "corrected") == {"1": 0.0, "2": 1.0, "3": None, "4": None}
    assert results(folder, "webarena") == {"1": 1.0, "2": None, "3": None, "4": None}
    out = capsys.readouterr().out
    assert "corrected: task 1: 1 in the journal, now 0" in out
    assert "disagree on: 1, 2" in out
    assert "4 episodes, 1 passed, 1 failed, 2 unscored; rate 25.0%, of the scored 50.0%" in out


def test_tasks_that_have_not_begun_are_unscored_as_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as run:
        play(run, a_task("1", reference_answers=MUST), "12", scored("corrected", 1.0))
        run.write("run.json", dumps({"scoring": "corrected", "tasks": ["1", "2"], "trials": 2}))
    assert main(["score", str(tmp_path / "run")]) == 3
    out = capsys.readouterr().out
    assert "4 episodes, 1 passed, 0 failed, 3 unscored (3 not begun); rate 25.0%, of the scored 100.0%" in out
    assert main(["show", str(tmp_path / "run")]) == 0
    assert "1 passed, 0 failed, 3 unscored" in capsys.readouterr().out


def test_one_dialect_alone_can_be_asked_for(folder: Path) -> None:
    main(["score", str(folder), "--scoring", "webarena"])
    assert not (folder / "rescored-corrected.json").exists()
    assert results(folder, "webarena")["1"] == 1.0


def test_replies_are_read_as_they_were_asked_for(tmp_path: Path) -> None:
    """An older version asked WebVoyager's judge the same in both scorings."""
    asked = LastScreenshots()
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as run:
        shot = run.artifacts.put(b"\x89PNG\r\n\x1a\n")
        step = TrajectoryStep(action="", url="http://shop.localhost/", title="", screenshot=shot)
        trajectory = run.artifacts.put(dumps([step]))
        for task_id, prompt, reply in (
            ("1", asked.prompt_digest, "Yes.\nsuccess"),
            ("2", asked.in_dialect("webarena").prompt_digest, "It is a SUCCESS."),
        ):
            task = replace(a_task(task_id), eval=Eval(eval_types=("last_screenshots",)))
            one = scored("webarena", 1.0, reply)
            verdict = replace(one.verdicts[0], evaluator="last_screenshots", prompt=prompt)
            play(run, task, "twelve", replace(one, verdicts=(verdict,)), trajectory=trajectory)
        run.write("run.json", dumps({"scoring": "webarena", "tasks": ["1", "2"], "trials": 1}))
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"web_name": "Shop", "id": "other", "ques": "how many?", "web": "http://shop.localhost/"}')
    assert main(["score", str(tmp_path / "run"), "task=webvoyager", f"task.path={rows}", "--scoring", "published"]) == 0
    assert results(tmp_path / "run", "webarena") == {"1": 1.0, "2": 1.0}


@pytest.fixture
def judge() -> Iterator[StubEndpoint]:
    """It finds everything correct."""
    with judge_stub(lambda _: "correct") as stub:
        yield stub


def test_a_judge_that_is_given_is_asked(folder: Path, judge: StubEndpoint) -> None:
    main(["score", str(folder), "--scoring", "corrected", "--judge", "j", "--judge-url", judge.url])
    assert results(folder, "corrected") == {"1": 0.0, "2": 1.0, "3": 1.0, "4": None}


def test_a_judge_is_taken_from_the_settings(folder: Path, judge: StubEndpoint) -> None:
    main(["score", str(folder), "judge.model=gpt-5", f"judge.base_url={judge.url}", "--scoring", "corrected"])
    assert results(folder, "corrected") == {"1": 0.0, "2": 1.0, "3": 1.0, "4": None}
    assert loads((folder / "rescored-corrected.json").read_bytes())["judge"] == "gpt-5"


def test_a_judges_replies_are_kept_and_used_again(folder: Path, judge: StubEndpoint, tmp_path: Path) -> None:
    settings = ("judge.model=j", f"judge.base_url={judge.url}", "llm.cache=readwrite")

    def again(*more: str, place: str = "cache") -> int:
        cache = f"llm.cache_dir={tmp_path / place}"
        return main(["score", str(folder), *settings, cache, *more, "--scoring", "corrected"])

    again()
    asked, first = len(judge.sent), results(folder, "corrected")
    assert asked > 0 and first == {"1": 0.0, "2": 1.0, "3": 1.0, "4": None}
    again()
    assert len(judge.sent) == asked and results(folder, "corrected") == first
    again("judge.cache=off")
    assert len(judge.sent) == 2 * asked
    (tmp_path / "file").write_text("")
    assert again(place="file") == 2


def test_a_kill_costs_no_reply_of_the_judge_that_was_kept(tmp_path: Path, cache: Path) -> None:
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as run:
        for number in range(20):
            play(run, a_task(str(number), reference_answers=FUZZY), f"a dozen, {number}")
    asked: list[str] = []
    go_on = Event()

    def verdict(question: Question) -> str:
        asked.append(question.text)
        if len(asked) > 5:
            go_on.wait(60)
        return "correct"

    with judge_stub(verdict) as stub:
        settings = ("judge.model=j", f"judge.base_url={stub.url}", "--scoring", "corrected")
        command = (sys.executable, "-m", "harness.main", "score", str(tmp_path / "run"), *settings)
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: len([*cache.glob("replies/*/*")]) == 5 and len(asked) > 5)
        finally:
            first.kill()
            first.wait()
        go_on.set()
        assert not (tmp_path / "run" / "rescored-corrected.json").exists()
        known, begun = set(asked[:5]), len(asked)
        second = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
        assert (second.returncode, second.stderr) == (0, "")
        assert len(asked) == begun + 15 and known.isdisjoint(asked[begun:])
        assert "20 episodes, 20 passed" in second.stdout
        assert "the judge's replies: 5 from the reply cache, 15 new requests; judge.cache=off asks" in second.stdout


def test_a_judge_that_refuses_is_asked_no_further(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as run:
        for number in range(100):
            play(run, a_task(str(number), reference_answers=FUZZY), f"a dozen, {number}")
    with stub_endpoint(lambda _: Said(b'{"error": {"message": "no such model"}}', status=404)) as stub:
        settings = ("judge.model=j", f"judge.base_url={stub.url}", "--scoring", "corrected")
        assert main(["score", str(tmp_path / "run"), *settings]) != 0
        assert 0 < len(stub.sent) <= 16
    assert "no such model" in capsys.readouterr().err


def test_without_a_place_for_replies_the_judge_is_asked_all_the_same(
    folder: Path, judge: StubEndpoint, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.parent.write_text("")
    main(["score", str(folder), "--scoring", "corrected", "--judge", "j", "--judge-url", judge.url])
    assert results(folder, "corrected") == {"1": 0.0, "2": 1.0, "3": 1.0, "4": None}
    assert "the judge's replies are not kept, and a further start asks again: " in capsys.readouterr().out


def test_a_judge_of_ones_own_is_asked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (
        "from harness.api import Reply",
        "class Kind:",
        "    name = 'kind-1'",
        "    async def judge(self, question, /):",
    )
    (tmp_path / "kindly.py").write_text("\n".join((*lines, "        return Reply(text='correct')", "")))
    monkeypatch.syspath_prepend(tmp_path)
    main(["score", str(folder), "judge._target_=kindly.Kind", "--scoring", "corrected"])
    assert results(folder, "corrected") == {"1": 0.0, "2": 1.0, "3": 1.0, "4": None}
    assert main(["score", str(folder), "judge._target_=kindly.Missing"]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_openais_key_is_not_sent_to_another_judge(
    folder: Path, judge: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-0123456789")
    main(["score", str(folder), "--scoring", "corrected", "--judge", "j", "--judge-url", judge.url])
    monkeypatch.setenv("JUDGE_API_KEY", "of-the-judge-0123456789")
    again = ("--judge", "j", "--judge-url", judge.url, "judge.cache=off")
    main(["score", str(folder), "--scoring", "corrected", *again])
    assert {sent.key for sent in judge.sent} == {"Bearer none", "Bearer of-the-judge-0123456789"}


def test_a_damaged_journal_stops_it_and_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "1.traj.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"elapsed_ms":1.0', b'"elapsed_ms":2.0'))
    with pytest.raises(JournalCorrupt):
        read_final_state(path)
    assert main(["score", str(folder)]) == 3
    assert "1.traj.jsonl:2" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["nowhere"], ["--judge-url", "http://x"], ["--judge", " "]])
def test_wrong_usage_is_one_sentence(folder: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given = arguments if arguments == ["nowhere"] else [str(folder), *arguments]
    assert main(["score", *given]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
