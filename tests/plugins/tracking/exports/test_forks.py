"""A fork in every export: what it inherited is marked, costs nothing, and is taught to no model."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Stop
from harness.api import Message
from harness.choices import Durability
from harness.codec import dumps
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.tracking.episodes import run_groups
from harness.plugins.tracking.exports.inspect_log import export_inspect
from harness.plugins.tracking.exports.mlflow_runs import _usage
from harness.plugins.tracking.exports.otel_spans import export_otel
from harness.plugins.tracking.sft_samples import samples
from harness.records import Fork
from harness.runs import Run, step_rows, task_row
from tests.journal.episodes import acted, closed, opened, scored, task
from tests.plugins.tracking.exports.runs import SETTINGS, SYSTEM, decision, user

FORK = Fork(run="base", trial=0, attempt=1, step=2, origin="o")


def said(text: str) -> Message:
    return Message(role="assistant", content=text)


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """An episode of three steps, two of which another model decided in another run."""
    with RunFolder.open(tmp_path / "fork", durability=Durability.none) as run:
        first = (SYSTEM, user("page 1"))
        second = (*first, said("reply 1"), user("page 2"))
        third = (*second, said("reply 2"), user("page 3"))
        config = run.artifacts.put(dumps(SETTINGS))
        with run.journal("1") as journal:
            for record in (
                replace(opened(of=task("1"), why="fork"), fork=FORK, config_digest=config),
                acted(0),
                replace(decision(run, 1, first), model="old"),
                acted(1),
                replace(decision(run, 2, second), model="old"),
                acted(2),
                replace(decision(run, 3, third), action=Stop(answer="yes")),
                closed(),
                scored(1.0, dialect="corrected"),
            ):
                journal.append(record)
    return tmp_path / "fork"


def test_rows_of_steps_add_up_to_that_of_the_task(fork: Path) -> None:
    (episode,) = Run(fork).episodes()
    rows, whole = list(step_rows(episode)), task_row(episode)
    assert [row["inherited"] for row in rows] == [True, True, False]
    assert [row["model"] for row in rows] == ["old", "old", "gpt/4-2026"]
    for key in ("cost_usd", "prompt_tokens", "completion_tokens"):
        assert sum(float(row[key] or 0) for row in rows) == whole[key] != 0
    took = sum(float(row[key] or 0) for row in rows for key in ("deciding_ms", "acting_ms"))
    assert took / 1000 == pytest.approx(whole["working_s"])


@pytest.mark.parametrize("per", ["step", "episode"])
def test_inherited_answers_are_context_of_a_sample(fork: Path, per: str) -> None:
    assert main(["export", "sft", str(fork), "--per", per]) == 0
    (line,) = (fork / "export" / "sft.jsonl").read_bytes().splitlines()
    spoken = [one for one in json.loads(line)["messages"] if one["role"] == "assistant"]
    assert [(one["content"], one["weight"]) for one in spoken] == [("reply 1", 0), ("reply 2", 0), ("reply 3", 1)]


def test_a_trajectory_is_of_the_model_of_the_fork_and_trains_its_answers_only(fork: Path) -> None:
    (group,) = run_groups(fork)
    (trajectory,) = group.trajectories
    assert trajectory.metadata["model"] == "gpt/4-2026"
    choices = [one["message"]["content"] for one in trajectory.messages_and_choices if "finish_reason" in one]
    assert choices == ["reply 3"] and trajectory.seen is not None and len(trajectory.seen) == 1
    context = {one["content"] for one in trajectory.messages_and_choices if one.get("role") == "assistant"}
    assert context == {"reply 1", "reply 2"}
    (sample,) = samples([group], min_reward=1.0)
    spoken = [one for one in sample["messages"] if one["role"] == "assistant"]
    assert [(one["content"], one["weight"]) for one in spoken] == [("reply 1", 0), ("reply 2", 0), ("reply 3", 1)]


def attributes(span: Any) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


def test_spans_are_marked_and_add_up_to_that_of_the_episode(fork: Path, tmp_path: Path) -> None:
    (line,) = export_otel(fork, tmp_path / "out").read_bytes().splitlines()
    root, *children = map(attributes, json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"])
    asked = [one for one in children if one["gen_ai.operation.name"] == "chat"]
    done = [one for one in children if one["gen_ai.operation.name"] == "execute_tool"]
    assert [one.get("cairn.inherited", False) for one in asked] == [True, True, False]
    assert [one.get("cairn.inherited", False) for one in done] == [True, True, False]
    for key in ("gen_ai.usage.input_tokens", "cairn.cost_usd"):
        assert [one[key] for one in asked if key in one] == [root[key]]


def test_requests_are_marked_in_logs_of_inspect_and_mlflow_and_cost_nothing(fork: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(export_inspect(fork, tmp_path / "out")) as archive:
        sample = json.loads(archive.read("samples/1_epoch_1.json"))
    asked = [event for event in sample["events"] if event["event"] == "model"]
    assert [event.get("metadata") for event in asked] == [{"inherited": True}, {"inherited": True}, None]
    totals = [event["output"]["usage"]["total_tokens"] for event in asked]
    assert totals[:2] == [0, 0] and totals[2] == sample["model_usage"]["gpt/4"]["total_tokens"]
    (episode,) = Run(fork).episodes()
    used = [_usage(request) for request in episode.requests]
    assert [one["mlflow.chat.tokenUsage"]["total_tokens"] for one in used] == [0, 0, 12]
    assert [one["cairn.cost_usd"] for one in used] == [0.0, 0.0, 0.5]
