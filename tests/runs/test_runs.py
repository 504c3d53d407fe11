"""`harness.runs`: what a run folder holds, as those who read it see it."""

from dataclasses import replace
from pathlib import Path

import pandas
import pytest

from harness.actions import Stop
from harness.choices import Durability
from harness.codec import dumps
from harness.errors import ConfigError, JournalError
from harness.journal.store import RunFolder
from harness.records import Answered, Asked, CloseReason, Refused, Status, Unknown, Usage, Verdict
from harness.runs import FAILED, PASSED, UNSCORED, Run, Steps, Tasks, step_rows, task_row
from harness.runs.judged import judged_episodes
from tests.journal.episodes import acted, closed, decided, failed, opened, scored, task
from tests.reports.runs import rot

PNG = b"\x89PNG\r\n\x1a\n"
CALL = {"id": "c1", "type": "function", "function": {"name": "click", "arguments": '{"id": "1"}'}}
SECOND = {"id": "c2", "type": "function", "function": {"name": "stop", "arguments": '{"answer": "12"}'}}


def message(role: str, content: str) -> bytes:
    return dumps({"role": role, "content": content})


def answered(number: int) -> Answered:
    return Answered(number=number, status=200, response="", model="m", usage=Usage(), elapsed_ms=2000.0, at=12.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Task 1 passed, with two actions from one answer; task 2 failed, asked by a process of its own; task 3 crashed;
    task 4 could not be judged.
    """
    path = tmp_path / "results" / "mine"
    with RunFolder.open(path, durability=Durability.none) as run:
        put = run.artifacts.put
        settings, picture = put(dumps({"llm.model": "gpt-9"})), put(PNG + b"pixels")
        start = replace(opened(of=task("1")), config_digest=settings)
        prompt = (put(message("system", "You shop.")), put(message("user", "page 1")))
        answer = put(dumps({"choices": [{"message": {"role": "assistant", "tool_calls": [CALL, SECOND]}}]}))
        frame = put(dumps({"api": "chat", "body": {"messages": None, "temperature": 0.5}}))
        first = replace(decided(1), prompt=prompt, response=answer, request=frame, usage=Usage(prompt_tokens=7))
        landed = acted(1, "page 2")
        landed = replace(landed, observation=replace(landed.observation, screenshot=picture), reward=0.5)
        last = replace(decided(2, Stop(answer="12")), prompt=())
        with run.journal("1") as journal:
            for record in (start, acted(0), first, landed, last, closed(), scored(1.0, dialect="corrected")):
                journal.append(record)
        body = put(dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}))
        reply = put(b'{"choices": []}')
        asked = [
            Asked(number=number, step=step, key="k", interface="chat", model="m", request=body, at=9.0)
            for number, step in ((1, 1), (2, 1), (3, 2))
        ]
        said = [replace(answered(number), response=reply) for number in (1, 3)]
        refused = replace(acted(1), outcome=Refused(why="it is covered"))
        wrong = scored(0.0, dialect="corrected")
        with run.journal("2") as journal:
            records = (opened(of=task("2")), acted(0), *asked[:2], said[0], replace(decided(1), prompt=()), refused)
            for record in (*records, asked[2], said[1], closed(CloseReason.MAX_STEPS), wrong):
                journal.append(record)
        with run.journal("3") as journal:
            for record in (opened(of=task("3")), acted(0), decided(1), failed(message="no browser")):
                journal.append(record)
        unjudged = replace(scored(None, dialect="corrected", status=Status.ERROR), verdicts=())
        with run.journal("4") as journal:
            unknown = replace(acted(1), outcome=Unknown(why="the run was interrupted"))
            for record in (
                opened(of=task("4")),
                acted(0),
                decided(1),
                unknown,
                closed(CloseReason.MAX_STEPS),
                unjudged,
            ):
                journal.append(record)
    return path


def test_episodes_say_what_they_came_to_without_their_journals(folder: Path) -> None:
    found = {episode.task_id: episode for episode in Run(folder).episodes()}
    assert [found[name].status for name in "1234"] == [PASSED, FAILED, UNSCORED, UNSCORED]
    assert [found[name].cause for name in "1234"] == [
        "",
        "step limit reached",
        "BrowserCrashed",
        "evaluator error",
    ]
    assert found["3"].score.why.startswith("infrastructure: BrowserCrashed") and "no browser" in found["3"].score.why
    assert [found[name].is_finished for name in "1234"] == [True, True, False, True]
    assert found["1"].score_in("webarena").status == UNSCORED and found["1"].score.value == 1.0
    for name in found:
        (folder / f"{name}.traj.jsonl").unlink()
    assert (found["2"].intent, found["2"].sites, found["2"].attempt) == (task().intent, task().sites, 1)
    with pytest.raises(JournalError, match=r"2\.traj\.jsonl has been removed"):
        _ = found["2"].steps


def test_steps_hold_what_was_seen_asked_done_and_why_not(folder: Path) -> None:
    run = Run(folder)
    first, stop = run.episode(1).steps
    assert (first.number, first.name, first.outcome, first.why_not) == (1, "click", "done", "")
    assert first.seen is not None and first.page is not None and first.page.text == "page 2"
    assert first.reward == 0.5 and first.screenshot() == PNG + b"pixels"
    assert stop.seen == first.page and stop.page is None and stop.outcome == "" and stop.screenshot() == PNG + b"pixels"
    assert first.call is not None and (first.call.id, first.call.arguments) == ("c1", '{"id": "1"}')
    assert stop.call is not None and stop.call.name == "stop" and stop.requests == ()
    assert run.episode("1").answer == closed().answer
    refused = run.episode("2").steps[0]
    assert (refused.outcome, refused.why_not) == ("refused", "it is covered")
    unknown = run.episode("4").steps[0]
    assert (unknown.outcome, unknown.why_not) == ("unknown", "the run was interrupted")
    assert run.episode("3").steps[0].acted is None


def test_steps_of_an_episode_that_lost_an_artifact_are_read(folder: Path) -> None:
    run = Run(folder)
    whole, (request,) = run.episode("1").steps, run.episode("1").requests
    assert request.kept.response is not None and request.kept.frame is not None
    for digest in (request.kept.response, request.kept.frame):
        run.artifacts.path(digest).unlink()
    episode = Run(folder).episode("1")
    assert episode.steps == whole and [row["action"] for row in step_rows(episode)] == [one.text for one in whole]
    assert [one.reply for one in episode.requests] == [request.reply]
    for step in episode.steps:
        with pytest.raises(JournalError, match="artifact"):
            _ = step.call
    (found,), without, missing = judged_episodes(run, lambda one: one if one.task_id == "1" and one.steps else None)
    assert (found.task_id, without, missing, run.damaged) == ("1", 3, [], ())


def test_rows_give_the_reason_of_the_score(tmp_path: Path) -> None:
    below = Verdict(evaluator="url_match", status=Status.OK, value=0.0, why="another address")
    unjudged = Verdict(evaluator="string_match", status=Status.ERROR, value=None, why="the judge did not answer")
    score = replace(scored(None, dialect="corrected", status=Status.ERROR), verdicts=(below, unjudged))
    with RunFolder.open(tmp_path / "run") as run, run.journal("1") as journal:
        for record in (opened(of=task("1")), acted(0), decided(1, Stop(answer="12")), closed(), score):
            journal.append(record)
    (episode,) = Run(tmp_path / "run", scoring="corrected").episodes()
    assert task_row(episode)["why"] == episode.score.why == "evaluator error: the judge did not answer"


def test_a_journal_that_the_index_takes_for_whole_is_damaged_when_it_was_read(folder: Path) -> None:
    rot(folder / "2.traj.jsonl")
    run = Run(folder)
    assert run.damaged == ()
    for _ in range(2):
        found, _, missing = judged_episodes(run, lambda one: one if one.steps else None)
        assert [one.task_id for one in found] == ["1", "3", "4"] and missing == [("2", 0)]
    (error,) = run.damaged
    assert "2.traj.jsonl" in str(error) and run.left_out == (error,)
    with pytest.raises(JournalError, match=r"2\.traj\.jsonl"):
        run.episodes()


def test_requests_are_read_as_they_were_sent(folder: Path) -> None:
    (request,) = Run(folder).episode("1").requests
    assert [one["content"] for one in request.messages] == ["You shop.", "page 1"]
    assert request.body["temperature"] == 0.5 and request.finish_reason == "tool_calls"
    assert [call.name for call in request.calls] == ["click", "stop"]
    assert request.usage.prompt_tokens == 7 and request.ended - request.began == pytest.approx(0.1)


def test_requests_of_a_process_are_numbered_and_unanswered_ones_left_out(folder: Path) -> None:
    episode = Run(folder).episode("2")
    assert [(one.number, one.step) for one in episode.requests] == [(1, 1), (3, 2)]
    assert [one.number for one in episode.steps[0].requests] == [1]
    request = episode.requests[0]
    assert request.messages == ({"role": "user", "content": "hello"},) and request.answer == b'{"choices": []}'
    assert (request.finish_reason, request.calls, request.tools, request.began) == ("", (), (), 10.0)


def test_rows_have_the_columns_that_are_documented_and_make_a_data_frame(folder: Path) -> None:
    run = Run(folder)
    tasks = pandas.DataFrame(task_row(episode) for episode in run.episodes())
    steps = pandas.DataFrame(row for episode in run.episodes() for row in step_rows(episode))
    assert list(tasks) == list(Tasks.__annotations__) and list(steps) == list(Steps.__annotations__)
    assert list(tasks["status"]) == [PASSED, FAILED, UNSCORED, UNSCORED]
    assert list(steps["refused"]) == ["", "", "it is covered", "", ""]


def test_the_scoring_is_the_one_that_the_run_was_scored_in_last(folder: Path) -> None:
    assert Run(folder).scoring == "corrected" and Run(folder, scoring="webarena").episode("1").status == UNSCORED
    (folder / "run.json").write_bytes(dumps({"scoring": "webarena", "model": "gpt-9"}))
    assert Run(folder).scoring == "webarena" and Run(folder).description["model"] == "gpt-9"
    (folder / "summary.json").write_bytes(b'{"scoring": ["x"]}')
    assert Run(folder).scoring == "corrected"
    (folder / "run.json").write_bytes(b"{torn")
    assert Run(folder).description == {} and Run(folder).settings == {"llm.model": "gpt-9"}


def test_what_is_no_run_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing is not a folder"):
        Run(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="contains no run"):
        Run(tmp_path)
    with pytest.raises(ConfigError, match="there is no scoring 'best'; use corrected or webarena"):
        Run(folder, scoring="best")
    with pytest.raises(ConfigError, match="has no journal for task 99, trial 0"):
        Run(folder).episode(99)


def test_a_damaged_journal_is_an_error_and_the_others_can_be_read_alone(folder: Path) -> None:
    path = folder / "2.traj.jsonl"
    path.write_bytes(path.read_bytes().replace(b"it is covered", b"it was covered"))
    run = Run(folder)
    with pytest.raises(JournalError, match=r"2\.traj\.jsonl"):
        list(run.episodes())
    assert len(run.damaged) == 1 and run.episode("1").status == PASSED
