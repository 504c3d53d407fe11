"""docs/examples/train/loop.py: killed at any moment, the same command goes on, samples nothing twice and logs each step once."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.plugins.demo.model.token_bytes import text_of_ids
from harness.plugins.tracking.group_reader import read_groups
from harness.runs import Run
from tests.e2e.conftest import PROJECT, environment
from tests.waiting import alive, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.browser]
LOOP = PROJECT / "docs" / "examples" / "train" / "loop.py"


@contextmanager
def looping(work: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """The example, as a person starts it."""
    with subprocess.Popen(
        [sys.executable, str(LOOP), f"--work={work}", *options],
        cwd=work.parent,
        env=environment() | {"PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def kill(process: "subprocess.Popen[str]") -> None:
    """SIGKILL the script alone: whatever it has started must end by itself."""
    family = [one.pid for one in psutil.Process(process.pid).children(recursive=True)]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not alive(family), within_s=120)


def answers(work: Path) -> int:
    """Turns that are on the disk."""
    return sum(path.read_bytes().count(b"\n") for path in (work / "rollouts").glob("*.jsonl"))


def checked(work: Path, *, steps: int, tasks: int, group: int) -> list[Any]:
    """See that all is logged once, with the tokens that spell each answer; the trajectories."""
    rollouts = Run(work / "results" / "rollouts")
    assert len(tuple(rollouts.episodes())) == steps * tasks * group
    art = work / "art" / "train" / "models" / "policy"
    rows = [json.loads(line) for line in (art / "history.jsonl").read_bytes().splitlines()]
    trained = [row for row in rows if "train/reward" in row]
    assert [row["step"] for row in trained] == list(range(steps)), "each step was logged once"
    assert {row["step"] for row in rows if "val/reward" in row} == set(range(steps + 1))
    found = []
    for path in sorted((art / "trajectories" / "train").glob("*.parquet")):
        groups = list(read_groups(path))
        assert [len(each.trajectories) for each in groups] == [group] * tasks
        found += [one for each in groups for one in each.trajectories]
    for one in found:
        said = [item["message"]["content"] for item in one.messages_and_choices if "finish_reason" in item]
        assert one.tokens is not None and len(one.tokens) == len(said)
        for tokens, text in zip(one.tokens, said, strict=True):
            assert tokens is None or text_of_ids(tokens.completion_ids) == text
        episode = next(each for each in rollouts.episodes() if each.task_id == one.metadata["task"])
        assert episode.record.opened is not None
    return found


@pytest.mark.slow
def test_the_loop_closes(tmp_path: Path) -> None:
    work = tmp_path / "work"
    with looping(work, "--steps=1", "--tasks=1", "--group=2", "--at-once=2") as process:
        out, _ = process.communicate(timeout=900)
    assert process.returncode == 0, out
    found = checked(work, steps=1, tasks=1, group=2)
    assert sorted(one.reward for one in found) == [0.0, 1.0], "half of an untrained group gives up"
    checkpoint = json.loads((work / "checkpoints" / "1.json").read_bytes())
    assert checkpoint["samples"] == 2 and checkpoint["tokens"] > 0 and sorted(checkpoint["advantages"]) == [-0.5, 0.5]


@pytest.mark.slow
def test_killed_at_any_moment_the_same_command_goes_on(tmp_path: Path) -> None:
    work, options = tmp_path / "work", ("--steps=2", "--tasks=2", "--group=4", "--at-once=8")
    moments = random.Random(7)
    for kills in range(6):
        most = kills * 5 + moments.randrange(5)
        with looping(work, *options) as process:
            wait_until(lambda: answers(work) >= most or process.poll() is not None, within_s=900)  # noqa: B023
            if process.poll() is None:
                kill(process)
    with looping(work, *options) as process:
        out, _ = process.communicate(timeout=1800)
    assert process.returncode == 0, out
    found = checked(work, steps=2, tasks=2, group=4)
    assert len(found) == 16 and {one.reward for one in found} == {0.0, 1.0}
    for path in (work / "rollouts").glob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        assert [("reward" in line) for line in lines] == [False] * (len(lines) - 1) + [True]
