"""What a shard is given before its job begins, without jobs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.api.tasks import shard_of
from harness.cli import configured
from harness.evaluation.config_drift import DRIFT_NAME
from harness.evaluation.retry_request import RETRY_NAME
from harness.evaluation.run_context import RunContext
from harness.journal.index import scan
from harness.plugins.clusters.slurm_run import Shards
from tests.journal.episodes import opened, task, whole_episode, write

TASKS = tuple(task(str(number)) for number in range(8))
FIRST = [one.task_id for one in TASKS if shard_of(one.task_id, 2) == 1]


class Jobs:
    """Takes jobs, and plays nothing."""

    def __init__(self) -> None:
        self.submitted: list[int] = []

    def running(self) -> tuple[int, ...]:
        return ()

    def numbers(self, shards: Sequence[int]) -> str:
        return " ".join(map(str, shards))

    def submit(self, commands: Mapping[int, Sequence[str]]) -> None:
        self.submitted += commands


class Start:
    """A start of the run with two shards, as far as its jobs."""

    def __init__(self, context: RunContext, said: list[str]) -> None:
        self.context, self.said, self.jobs = context, said, Jobs()
        self.run = context.run.path

    def submit(self, *overrides: str) -> list[int]:
        """The shards that get a job."""
        config = configured(["task=demo", "executor=slurm", "executor.shards=2", *overrides])
        shards = Shards(replace(self.context, config=config), _Silent())
        shards.collect()
        shards.submit(self.jobs)  # type: ignore[arg-type]
        return self.jobs.submitted

    def shard(self, number: int) -> Path:
        return self.run / "shards" / f"{number}-of-2"


class _Silent:
    def tell(self, event: Any) -> None:
        """Nobody looks on."""


@pytest.fixture
def start() -> Iterator[Start]:
    said: list[str] = []
    with RunContext.for_checks(configured(["task=demo"])) as context:
        yield Start(replace(context, tasks=TASKS, say=said.append), said)


def ended(folder: Path, *task_ids: str) -> None:
    for task_id in task_ids:
        write(folder / f"{task_id}.traj.jsonl", whole_episode(of=task(task_id)))


def test_a_shard_knows_which_of_its_tasks_have_ended_elsewhere(start: Start) -> None:
    over, pending = FIRST[:-1], FIRST[-1]
    ended(start.run, *over)
    write(start.run / f"{pending}.traj.jsonl", [opened(of=task(pending))])
    assert start.submit() == [1, 2]
    assert {task_id for task_id, _ in scan(start.shard(1)).outcomes} == set(FIRST)
    assert not scan(start.shard(2)).outcomes


def test_a_shard_that_has_used_up_its_budget_gets_no_job(start: Start) -> None:
    ended(start.run, *FIRST[:-1])
    assert start.submit("run.max_tokens=10") == [2]
    assert "run.max_tokens=10 is reached in 1 of 2 shards (1)" in start.said[0]


def test_a_shard_knows_what_was_retried_and_what_drift_was_accepted(start: Start) -> None:
    ended(start.run, *FIRST)
    asked = {"retry": "failed", "asked": [[task_id, 0, 1] for task_id in FIRST]}
    (start.run / RETRY_NAME).write_text(json.dumps(asked))
    (start.run / DRIFT_NAME).write_text("accepted\n")
    start.shard(1).mkdir(parents=True)
    (start.shard(1) / RETRY_NAME).write_text(json.dumps({"retry": "failed", "asked": []}))
    (start.shard(1) / DRIFT_NAME).write_text("of its own\naccepted\n")
    assert start.submit("run.retry=failed") == [1, 2]
    assert json.loads((start.shard(1) / RETRY_NAME).read_text()) == asked
    assert (start.shard(1) / DRIFT_NAME).read_text() == "of its own\naccepted\n"
    assert (start.shard(2) / DRIFT_NAME).read_text() == "accepted\n"
