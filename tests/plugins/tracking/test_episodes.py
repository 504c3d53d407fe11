"""Runs as trajectories and tables, from journals alone."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.actions import Stop
from harness.choices import Durability
from harness.codec import dumps, loads
from harness.errors import JournalCorrupt, TrackingError
from harness.journal.index import INDEX_NAME
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.tracking.episodes import RunTrajectories, run_groups, trajectory_of
from harness.plugins.tracking.sft_samples import samples
from harness.plugins.tracking.trajectory import RolloutError, Trajectory
from harness.records import Episode, Record, Status, Usage
from harness.runs import Run
from tests.journal.episodes import (
    acted,
    closed,
    decided,
    failed,
    folded,
    forked,
    opened,
    resumed,
    scored,
    task,
    whole_episode,
)
from tests.plugins.tracking.exports.runs import LOOK, asked, read_elsewhere, recorded_run
from tests.plugins.tracking.rollouts import history, model, root, rows

SETTINGS = {"llm.model": "gpt/4", "llm.step": 3}


def message(role: str, content: str, **further: Any) -> bytes:
    return dumps({"role": role, "content": content, "name": None, **further})


def play(run: RunFolder, task_id: str, *, trial: int = 0, end: tuple[Record, ...]) -> None:
    """Two steps and a stop, each with its own prompt behind the same introduction; then `end`."""
    store = run.artifacts
    introduction = store.put(message("system", "You shop.", name="intro"))
    config = store.put(dumps(SETTINGS))
    records: list[Record] = [replace(opened(of=task(task_id), trial=trial), config_digest=config), acted(0)]
    for step in (1, 2, 3):
        prompt = (introduction, store.put(message("user", f"page {step}")))
        asked = decided(step, Stop(answer="yes")) if step == 3 else decided(step)
        records.append(replace(asked, prompt=prompt, reply=f"reply {step}"))
        if step < 3:
            records.append(acted(step, f"page {step + 1}"))
    with run.journal(task_id, trial) as journal:
        for record in (*records, *end):
            journal.append(record)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Task 9: one trial passed, one failed; task 10: infrastructure failed; task 11: unjudgeable; task 12: still
    pending.
    """
    folder = tmp_path / "results" / "run-a"
    with RunFolder.open(folder, durability=Durability.none) as found:
        play(found, "9", end=(closed(), scored(1.0), scored(1.0, dialect="corrected")))
        play(found, "9", trial=1, end=(closed(), scored(1.0), scored(0.0, dialect="corrected")))
        play(found, "10", end=(failed(message="no browser"),))
        unjudged = replace(scored(None, dialect="corrected", status=Status.ERROR), verdicts=())
        play(found, "11", end=(closed(), unjudged))
        play(found, "12", end=())
    return folder


def test_a_run_is_a_group_per_task_and_a_trajectory_per_trial(run: Path) -> None:
    groups = list(run_groups(run))
    assert [group.metadata["task_id"] for group in groups] == ["9", "10", "11"]
    assert [[trajectory.reward for trajectory in group.trajectories] for group in groups] == [[1.0, 0.0], [], []]
    assert [[raised.type for raised in group.exceptions] for group in groups] == [
        [],
        ["BrowserCrashed"],
        ["EvaluatorError"],
    ]
    assert "no browser" in groups[1].exceptions[0].message
    first = groups[0].trajectories[0]
    assert first.metadata == {
        "task_id": "9",
        "trial": 0,
        "sites": "shop",
        "run_id": "run-a",
        "model": "m",
        "task_digest": "t",
        "config_digest": first.metadata["config_digest"],
        "scoring": "corrected",
        "evaluator_version": "1",
        "closed": "STOPPED",
        "answer": "yes",
    }
    assert first.metrics["steps"] == 3
    assert (first.metrics["tokens"], first.metrics["cost_usd"], first.metrics["retries"]) == (36, 1.5, 0)
    assert first.metrics["deciding_s"] == pytest.approx(0.3)


def test_messages_are_as_the_model_saw_and_answered_them(run: Path) -> None:
    first = next(run_groups(run)).trajectories[0]
    said = [item.get("message", item) for item in first.messages_and_choices]
    assert [(one["role"], one["content"]) for one in said] == [
        ("system", "You shop."),
        ("user", "page 1"),
        ("assistant", "reply 1"),
        ("user", "page 2"),
        ("assistant", "reply 2"),
        ("user", "page 3"),
        ("assistant", "reply 3"),
    ]
    assert first.messages_and_choices[0] == {"role": "system", "content": "You shop.", "name": "intro"}
    assert first.seen == [(0, 1), (0, 3), (0, 5)]


ANSWERS = {
    "chat": {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "click", "arguments": '{"id": 7}'}}
                    ],
                }
            }
        ]
    },
    "responses": {"output": [{"type": "function_call", "call_id": "c1", "name": "click", "arguments": '{"id": 7}'}]},
    "messages": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "click", "input": {"id": 7}}],
    },
}
PARAMETERS = {"type": "object", "properties": {"id": {"type": "integer"}}}
TOOLS = {
    "chat": {"type": "function", "function": {"name": "click", "description": "Click.", "parameters": PARAMETERS}},
    "responses": {"type": "function", "name": "click", "description": "Click.", "parameters": PARAMETERS},
    "messages": {"name": "click", "description": "Click.", "input_schema": PARAMETERS},
}


@pytest.mark.parametrize("api", ANSWERS)
def test_calls_and_the_functions_that_were_offered_are_part_of_the_training_data(tmp_path: Path, api: str) -> None:
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as run:
        put = run.artifacts.put
        asked = replace(
            decided(1, Stop(answer="yes")),
            prompt=(put(message("user", "page 1")),),
            reply="",
            request=put(dumps({"api": api, "body": {"model": "m", "tools": [TOOLS[api], {"type": "computer"}]}})),
            response=put(dumps(ANSWERS[api])),
        )
        with run.journal("9") as journal:
            for record in (opened(of=task("9")), acted(0), asked, closed(), scored(1.0, dialect="corrected")):
                journal.append(record)
    ((trajectory,),) = run_groups(tmp_path / "run")
    assert trajectory.tools == [TOOLS["chat"]]
    call = {"id": "c1", "type": "function", "function": {"name": "click", "arguments": '{"id":7}'}}
    choice = trajectory.messages_and_choices[-1]
    assert choice["finish_reason"] == "tool_calls"
    (made,) = choice["message"].pop("tool_calls")
    made["function"]["arguments"] = made["function"]["arguments"].replace(" ", "")
    assert (made, choice["message"]) == (call, {"role": "assistant", "content": None})
    choice["message"]["tool_calls"] = [made]
    (sample,) = samples([trajectory], min_reward=1.0)
    assert sample["tools"] == [TOOLS["chat"]]
    assert sample["messages"][-1] == {"role": "assistant", "content": None, "tool_calls": [call], "weight": 1}


def test_an_answer_that_cannot_be_read_is_its_text(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as run:
        put = run.artifacts.put
        asked = replace(
            decided(1, Stop(answer="yes")),
            prompt=(put(message("user", "page 1")),),
            reply="said",
            response=put(b"<html>"),
        )
        with run.journal("9") as journal:
            for record in (opened(of=task("9")), acted(0), asked, closed(), scored(1.0, dialect="corrected")):
                journal.append(record)
    ((trajectory,),) = run_groups(tmp_path / "run")
    assert trajectory.messages_and_choices[-1]["message"] == {"role": "assistant", "content": "said"}


def spoken(trajectory: Trajectory) -> list[tuple[str, Any, bool]]:
    """Role, content and whether it is a choice."""
    return [
        ((one := item.get("message", item))["role"], one["content"], "finish_reason" in item)
        for item in trajectory.messages_and_choices
    ]


def test_calls_of_one_answer_are_one_choice_and_what_a_prompt_repeats_is_there_once(tmp_path: Path) -> None:
    first = next(run_groups(recorded_run(tmp_path / "run"))).trajectories[0]
    assert [(role, is_choice) for role, _, is_choice in spoken(first)] == [
        ("system", False),
        ("user", False),
        ("assistant", True),
        ("tool", False),
        ("tool", False),
        ("assistant", True),
    ]
    assert first.seen == [(0, 1), (0, 1, 2, 3, 4)]
    assert [call["id"] for call in first.messages()[2]["tool_calls"]] == ["call-1", "call-2"]


def test_a_window_of_the_conversation_is_what_the_model_saw(tmp_path: Path) -> None:
    """The agent shows the last answer alone, and answers a page that it has shown before with the same words."""
    system, *pages = (message("system", "You shop."), *(message("user", page) for page in "ABA"))

    def played(run: RunFolder) -> list[Record]:
        put = run.artifacts.put
        said = put(message("assistant", "ok"))
        prompts = [(pages[0],), (pages[0], None, pages[1]), (pages[1], None, pages[2])]
        records: list[Record] = []
        for step, prompt in enumerate(prompts, start=1):
            digests = tuple(said if one is None else put(one) for one in (system, *prompt))
            action = Stop(answer="yes") if step == len(prompts) else None
            records.append(replace(decided(step, action, reply="ok"), prompt=digests))
            records += [] if action else [acted(step)]
        return records

    trajectory = trajectory_in(tmp_path / "run", played)
    assert [content for _, content, _ in spoken(trajectory)] == ["You shop.", "A", "ok", "B", "ok", "A", "ok"]
    assert trajectory.seen is not None
    said = [[spoken(trajectory)[place][1] for place in seen] for seen in trajectory.seen]
    assert said == [["You shop.", "A"], ["You shop.", "A", "ok", "B"], ["You shop.", "B", "ok", "A"]]


def trajectory_in(folder: Path, play: Callable[[RunFolder], list[Record]]) -> Trajectory:
    """The trajectory of a run of one task that passed."""
    with RunFolder.open(folder, durability=Durability.none) as run, run.journal("9") as journal:
        for record in (opened(of=task("9")), acted(0), *play(run), closed(), scored(1.0, dialect="corrected")):
            journal.append(record)
    ((trajectory,),) = run_groups(folder)
    return trajectory


def test_what_an_agents_own_process_asked_and_was_answered_is_its_trajectory(tmp_path: Path) -> None:
    def played(run: RunFolder) -> list[Record]:
        return [
            *asked(run, 1, 1, "a plan"),
            *asked(run, 2, 1, "later", status=500),
            *asked(run, 3, 1, "click 1"),
            read_elsewhere(1),
            acted(1),
            *asked(run, 4, 2, "stop"),
            read_elsewhere(2, Stop(answer="yes")),
        ]

    trajectory = trajectory_in(tmp_path / "run", played)
    assert spoken(trajectory) == [
        ("user", "page 1", False),
        ("assistant", "a plan", True),
        ("user", "page 3", False),
        ("assistant", "click 1", True),
        ("user", "page 4", False),
        ("assistant", "stop", True),
    ]
    assert (trajectory.seen, trajectory.tools) == ([(0,), (2,), (4,)], [LOOK])
    assert [one and one.completion_ids for one in trajectory.tokens or ()] == [(1,), (3,), (4,)]
    assert (trajectory.metadata["model"], trajectory.metrics["retries"]) == ("small", 1)


def test_an_agent_without_a_model_has_nothing_to_train(tmp_path: Path) -> None:
    def played(_: RunFolder) -> list[Record]:
        return [replace(decided(1, Stop(answer="yes"), reply="my client's words"), prompt=(), usage=Usage())]

    trajectory = trajectory_in(tmp_path / "run", played)
    assert (trajectory.messages_and_choices, trajectory.seen, trajectory.tokens) == ([], [], None)
    assert list(samples([trajectory], min_reward=1.0)) == [] and trajectory.metrics["steps"] == 1


def test_further_calls_of_an_answer_hide_no_retry(tmp_path: Path) -> None:
    twice = Usage(requests=2)

    def played(run: RunFolder) -> list[Record]:
        prompt = (run.artifacts.put(message("user", "page 1")),)
        further = replace(decided(2, Stop(answer="yes"), reply=""), prompt=(), usage=Usage())
        return [replace(decided(1), prompt=prompt, usage=twice), acted(1), further]

    assert trajectory_in(tmp_path / "run", played).metrics["retries"] == 1


@pytest.mark.parametrize(
    ("reason", "said"), [("length", "length"), ("content_filter",) * 2, ("refusal", "content_filter"), ("", "stop")]
)
def test_a_choice_says_that_it_was_cut_short(tmp_path: Path, reason: str, said: str) -> None:
    def played(run: RunFolder) -> list[Record]:
        prompt = (run.artifacts.put(message("user", "page 1")),)
        return [replace(decided(1, Stop(answer="yes")), prompt=prompt, finish_reason=reason)]

    trajectory = trajectory_in(tmp_path / "run", played)
    assert trajectory.messages_and_choices[-1]["finish_reason"] == said


def test_webarenas_dialect_can_be_the_reward(run: Path) -> None:
    group = next(run_groups(run, dialect="webarena"))
    assert [trajectory.reward for trajectory in group.trajectories] == [1.0, 1.0]


async def test_what_judging_cost_is_logged_apart_from_what_the_model_cost(tmp_path: Path) -> None:
    spent = Usage(prompt_tokens=7, completion_tokens=1, cost_usd=0.25, priced=False, requests=2)
    folder = tmp_path / "run"
    with RunFolder.open(folder, durability=Durability.none) as found:
        play(found, "1", end=(closed(), scored(judge=spent), scored(dialect="corrected", judge=spent)))
        play(found, "2", end=(closed(), scored(dialect="corrected")))
    judged = {"judge_tokens": 16, "judge_requests": 4, "judge_cost_usd": 0.5}
    first, second = (group.trajectories[0].metrics for group in run_groups(folder))
    assert {key: value for key, value in first.items() if "judge" in key} == judged
    assert {key: value for key, value in second.items() if "judge" in key} == dict.fromkeys(judged, 0)
    assert first.keys() == second.keys()
    assert [metrics["cost_usd"] for metrics in (first, second)] == [1.5, 1.5]
    logged = await model(tmp_path).log(folder)
    assert (logged["val/judge_cost_usd"], logged["val/judge_tokens"], logged["val/judge_requests"]) == (0.25, 8, 2)

    assert main(["export", "parquet", str(folder)]) == 0
    row, unjudged = table(folder / "export/tasks.parquet")
    assert {key: value for key, value in row.items() if "judge" in key} == {
        "judge_prompt_tokens": 14,
        "judge_completion_tokens": 2,
        "judge_cost_usd": 0.5,
        "judge_priced": False,
        "judge_requests": 4,
    }
    assert (row["cost_usd"], row["requests"], row["priced"]) == (1.5, 3, True)
    assert (unjudged["judge_cost_usd"], unjudged["judge_priced"], unjudged["judge_requests"]) == (0.0, True, 0)


def test_the_way_to_the_step_of_a_fork_is_no_resume() -> None:
    end = (decided(2, Stop(answer="yes")), closed(), scored(1.0, dialect="corrected"))
    found = trajectory_of(folded([forked(1), acted(0), decided(1), acted(1), resumed(1), *end]))
    assert isinstance(found, Trajectory)
    assert found.metrics["inherited_steps"] == 1 and "resumed_from" not in found.metrics


async def test_a_run_folder_and_episodes_are_logged_as_they_are(run: Path, tmp_path: Path) -> None:
    logged = await model(tmp_path).log(run, step=3)
    assert (logged["val/reward"], logged["val/exception_rate"]) == (0.5, 0.5)
    assert logged["val/reward_std_dev"] == 0.5
    assert await model(tmp_path).log(RunTrajectories(run), step=3, on_repeat="once") == logged
    assert len(history(tmp_path)) == 1
    episode = folded(whole_episode())
    alone = await model(tmp_path).log([episode, episode], "test")
    assert (alone["test/reward"], alone["test/steps"], alone["test/resumed_from"]) == (1.0, 3.0, 2.0)
    (row, _) = rows(root(tmp_path) / "trajectories/test/0000.parquet")
    assert row["messages"][0]["content"].endswith("OBJECTIVE:\nBuy it"), (
        "without artifacts, the observation stands for it"
    )


def test_what_is_pending_or_unscored_is_no_reward() -> None:
    with pytest.raises(TrackingError, match="still pending"):
        trajectory_of(Episode())
    unscored = trajectory_of(folded((opened(), acted(0), decided(1, Stop(answer="x")), closed())))
    assert isinstance(unscored, RolloutError) and unscored.type == "Unscored"
    assert isinstance(trajectory_of(folded(whole_episode())), Trajectory)


def test_reading_writes_nothing_into_the_run_folder(run: Path) -> None:
    (run / INDEX_NAME).unlink()
    before = sorted((path, path.stat().st_mtime_ns) for path in run.rglob("*"))
    list(run_groups(run))
    assert Run(run).settings == SETTINGS
    assert sorted((path, path.stat().st_mtime_ns) for path in run.rglob("*")) == before


def test_a_damaged_journal_is_told_not_left_out(run: Path) -> None:
    path = run / "9.traj.jsonl"
    path.write_bytes(path.read_bytes().replace(b"reply 1", b"reply X"))
    with pytest.raises(JournalCorrupt, match="checksum"):
        list(run_groups(run))


# --- the command --------------------------------------------------------------------------------------


def test_export_art_finds_model_and_step_in_the_run_and_logs_once(run: Path, tmp_path: Path) -> None:
    command = ["export", "art", str(run), "--to", str(tmp_path / "out"), "--project", "p"]
    assert main(command) == main(command) == 0
    folder = tmp_path / "out/p/models/gpt-4"
    assert len(rows(folder / "trajectories/val/0003.parquet")) == 4
    assert not list(folder.rglob("*.v2.parquet"))
    (line,) = (folder / "history.jsonl").read_bytes().splitlines()
    assert loads(line)["val/reward"] == 0.5


def test_export_art_says_which_of_two_runs_of_one_step_art_reads(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunFolder.open(tmp_path / "other", durability=Durability.none) as found:
        play(found, "1", end=(closed(), scored(), scored(dialect="corrected")))
    command = ["export", "art", str(run), str(tmp_path / "other"), "--to", str(tmp_path / "out"), "--name", "m"]
    assert main([*command, "--step", "3"]) == 0
    said = "step 3 of split val of this model was logged 2 times, and ART reads the newest only, 0003.parquet"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("art", "--min-score", "1"), "--min-score is for harness export sft; leave it out for art"),
        (("csv", "--split", "train"), "--split is for harness export art; leave it out for csv"),
        (("tokens", "--where", "task=9"), "--where is for harness export sft; leave it out for tokens"),
    ],
)
def test_an_option_of_another_format_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], said: str
) -> None:
    assert main(["export", *command, str(run), "--to", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"harness: {said}\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_export_tables_hold_every_task_and_step(run: Path, tmp_path: Path, kind: str) -> None:
    assert main(["export", kind, str(run), "--to", str(tmp_path)]) == 0
    tasks, steps = (table(tmp_path / f"{name}.{kind}") for name in ("tasks", "steps"))
    found = {(row["task_id"], str(row["trial"])): row["status"] for row in tasks}
    assert found == {
        ("9", "0"): "passed",
        ("9", "1"): "failed",
        ("10", "0"): "unscored",
        ("11", "0"): "unscored",
        ("12", "0"): "unscored",
    }
    assert len(steps) == 15
    assert "click" in steps[0]["action"] and steps[2]["action"] == "stop [yes]"
    assert {row["reply"] for row in steps} == {"reply 1", "reply 2", "reply 3"}


def table(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_page_text_is_no_formula_in_a_spreadsheet(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as found:
        play(found, "1", end=(replace(closed(), answer="=HYPERLINK(1)"), scored(), scored(dialect="corrected")))
    assert main(["export", "csv", str(tmp_path / "run")]) == 0
    assert table(tmp_path / "run/export/tasks.csv")[0]["answer"] == "'=HYPERLINK(1)"


@pytest.mark.parametrize("kind", ["art", "csv", "hf"])
def test_a_folder_without_a_run_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    (tmp_path / "empty").mkdir()
    for folder, why in ((tmp_path / "no", "is not a folder"), (tmp_path / "empty", "contains no run")):
        assert main(["export", kind, str(folder)]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"harness: {folder} {why}") and said.count("\n") == 1
    assert not any((tmp_path / "empty").iterdir())
