"""The index says what the journals say, and deleting or damaging it costs nothing but time."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from harness.actions import InvalidAction, Target, Type
from harness.errors import JournalCorrupt, JournalError
from harness.journal.final_state import read_final_state
from harness.journal.index import INDEX_NAME, EpisodeResult, result_of, scan
from harness.journal.store import RunFolder
from harness.records import CloseReason, PendingTimer, Record, Usage
from harness.secrets.redaction import Redactor
from tests.journal.episodes import acted, closed, decided, failed, folded, forked, opened, resumed, task, whole_episode


def fill(run: RunFolder, task_id: str, records: tuple[Record, ...] | None = None) -> Path:
    with run.journal(task_id) as journal:
        for record in records or whole_episode(of=task(task_id)):
            journal.append(record)
    return journal.path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with RunFolder.open(tmp_path) as run:
        for task_id in ("1", "2", "3"):
            fill(run, task_id)
    return tmp_path


def expected(task_id: str) -> EpisodeResult | None:
    return result_of(folded(whole_episode(of=task(task_id))))


def test_an_outcome_tells_what_planning_needs() -> None:
    outcome = expected("1")
    assert outcome is not None
    assert (outcome.task_id, outcome.trial, outcome.attempt, outcome.steps) == ("1", 0, 1, 3)
    assert (outcome.closed, outcome.resumed_from, outcome.failures) == (CloseReason.STOPPED, 2, 1)
    assert outcome.failure == "BrowserCrashed while trying to act: gone"
    assert {dialect: (score.value, score.why) for dialect, score in outcome.scores.items()} == {
        "webarena": (0.0, "said so"),
        "corrected": (1.0, ""),
    }
    assert outcome.usage == Usage(prompt_tokens=30, completion_tokens=6, cost_usd=1.5, requests=3)
    assert result_of(folded(())) is None


def test_a_fork_is_resumed_only_after_it_was_led_to_its_step() -> None:
    begun = (forked(1), acted(0), decided(1), acted(1), resumed(1))
    further = (decided(2), acted(2), resumed(2))
    found = [result_of(folded(records)) for records in (begun, (*begun, *further), (*begun[:-1], *further))]
    assert [(one.resumes, one.resumed_from) for one in found if one] == [(0, None), (1, 2), (1, 2)]


@pytest.mark.parametrize("what", ["typed, with a timer", "typed", "clicked, with a timer", "left"])
def test_text_that_a_page_may_have_saved_is_not_typed_again_without_a_reset(what: str) -> None:
    typed = Type(target=Target(id="1", role="textbox", name="Draft"), text="x", enter=False)
    timers = (PendingTimer(tab=0, age_ms=20, left_ms=880),) if "timer" in what or what == "left" else ()
    steps = [decided(1, InvalidAction() if "clicked" in what else typed), replace(acted(1), timers=timers)]
    if what == "left":
        after = acted(2)
        elsewhere = tuple(replace(tab, url="http://shop.test/next") for tab in after.observation.tabs)
        steps += [decided(2), replace(after, observation=replace(after.observation, tabs=elsewhere))]
    outcome = result_of(folded([opened(), acted(0), *steps]))
    assert outcome is not None and outcome.resends is (what == "typed, with a timer")


def test_an_outcome_tells_where_an_attempt_goes_on() -> None:
    at = {"shop": "http://shop.test:81"}
    begun = replace(opened(), instances=at)
    going_on = result_of(folded((begun, acted(0), decided(1), acted(1))))
    assert going_on is not None
    assert (going_on.instances, going_on.goes_on, going_on.effects) == (at, True, ("http://shop.localhost/",))
    diverged = replace(failed(), type="EnvironmentDiverged")
    for records in ((begun,), (begun, acted(0), diverged), whole_episode()):
        outcome = result_of(folded(records))
        assert outcome is not None and not outcome.goes_on


def test_an_outcome_tells_the_reply_that_could_not_be_read() -> None:
    said = "I cannot go on:\n" + "x" * 1000
    records = (opened(), acted(0), decided(1, InvalidAction(), reply=said), acted(1))
    unread = result_of(folded((*records, closed(CloseReason.PARSE_FAILURES))))
    assert unread is not None and unread.unread.startswith("I cannot go on: xxx") and len(unread.unread) == 300
    other = result_of(folded((*records, closed(CloseReason.MAX_STEPS))))
    assert other is not None and other.unread == ""


def test_usage_and_time_are_those_of_all_attempts() -> None:
    outcome = result_of(folded((*whole_episode(), opened(2, why="retry"), acted(0), decided(1))))
    assert outcome is not None
    assert (outcome.attempt, outcome.steps, outcome.closed, outcome.usage.requests) == (2, 1, None, 4)
    assert outcome.elapsed_ms == 330.0 + 110.0


def test_closing_a_journal_is_enough_for_a_scan_that_reads_none(folder: Path) -> None:
    found = scan(folder)
    assert found.fresh
    assert found.outcomes == {(task_id, 0): expected(task_id) for task_id in "123"}


def test_without_the_index_a_scan_says_the_same(folder: Path) -> None:
    with_index = scan(folder)
    (folder / INDEX_NAME).unlink()
    found = scan(folder)
    assert (found.entries, found.damaged, found.fresh) == (with_index.entries, (), False)
    assert not (folder / INDEX_NAME).exists(), "a reader writes nothing"


def test_the_holder_mends_the_index(folder: Path) -> None:
    before = scan(folder)
    (folder / INDEX_NAME).unlink()
    with RunFolder.open(folder, held=False) as worker:
        worker.scan()
        assert not (folder / INDEX_NAME).exists()
    with RunFolder.open(folder) as run:
        run.scan()
    assert scan(folder) == before


def test_a_damaged_index_never_gives_another_outcome(folder: Path) -> None:
    before = scan(folder)
    whole = (folder / INDEX_NAME).read_bytes()
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0x11
        (folder / INDEX_NAME).write_bytes(damaged)
        assert scan(folder).entries == before.entries


def test_a_journal_that_grew_is_read_again(folder: Path) -> None:
    with RunFolder.open(folder) as run:
        journal = run.journal("2")
        journal.append(opened(2, why="retry", of=task("2")))
        found = scan(folder)
        assert not found.fresh
        assert found.outcomes["2", 0].attempt == 2
        assert found.outcomes["1", 0] == expected("1")
        journal.close()
    assert scan(folder).fresh
    assert scan(folder).outcomes["2", 0].attempt == 2


def test_a_damaged_journal_is_named_and_the_others_are_told(folder: Path) -> None:
    path = folder / "2.traj.jsonl"
    whole = bytearray(path.read_bytes())
    whole[-100] ^= 1
    path.write_bytes(whole)
    os.utime(path, ns=(1, 1))
    found = scan(folder)
    assert sorted(found.outcomes) == [("1", 0), ("3", 0)]
    (damage,) = found.damaged
    assert isinstance(damage, JournalCorrupt)
    assert (damage.path, damage.line) == (path, len(whole_episode()))
    with RunFolder.open(folder) as run:
        assert [str(again) for again in run.scan().damaged] == [str(damage)]
        assert [str(again) for again in run.scan().damaged] == [str(damage)], "mending must not hide it"


def test_what_has_no_record_yet_has_no_outcome(folder: Path) -> None:
    (folder / "9.traj.jsonl").write_bytes(b'{"kind":"op')
    assert sorted(scan(folder).outcomes) == [("1", 0), ("2", 0), ("3", 0)]
    assert scan(folder / "nowhere").entries == ()


def test_no_secret_reaches_the_index(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, redactor=Redactor({"shop": "hunter2secret"})) as run:
        fill(run, "7", (opened(), failed(message="login with hunter2secret failed")))
        assert not (tmp_path / INDEX_NAME).exists()
        assert (
            run.scan().outcomes["7", 0].failure
            == "BrowserCrashed while trying to act: login with [redacted:shop] failed"
        )
    assert b"hunter2secret" not in (tmp_path / INDEX_NAME).read_bytes()


def test_a_journal_under_the_name_of_another_is_said_and_never_counted(folder: Path) -> None:
    scan(folder)
    for name in ("9.traj.jsonl", "2.trial-1.traj.jsonl"):
        (folder / name).write_bytes((folder / "2.traj.jsonl").read_bytes())
    for _ in range(2):
        with RunFolder.open(folder) as run:
            found = run.scan()
            run.journal("9").close()  # leaves a line in the index
        assert sorted(found.outcomes) == [("1", 0), ("2", 0), ("3", 0)]
        assert sorted(str(damage).partition(":")[0] for damage in found.damaged) == [
            f"{folder}/2.trial-1.traj.jsonl is a copy of 2.traj.jsonl, or was renamed",
            f"{folder}/9.traj.jsonl is a copy of 2.traj.jsonl, or was renamed",
        ]
    with pytest.raises(JournalError, match="is a copy of 2"):
        read_final_state(folder / "9.traj.jsonl")
