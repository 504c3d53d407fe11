"""Each shipped agent on demo tasks, as people run it: over every interface it has, killed and gone on with."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from harness.journal.log import read
from tests.e2e.conftest import Start

Starter = Callable[..., Start]
pytestmark = pytest.mark.browser


def prompts(folder: Path, task: int) -> list[bytes]:
    """What each step of a task sent."""
    episode = read(folder / f"{task}.traj.jsonl")
    decided = [*(step.decided for step in episode.steps), *([episode.pending] if episode.pending else [])]
    return [
        b"".join((folder / "artifacts" / one[:2] / one).read_bytes() for one in decision.prompt) for decision in decided
    ]


def common(one: bytes, two: bytes) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def test_with_a_history_each_prompt_of_an_episode_is_the_beginning_of_the_next(start: Starter) -> None:
    done = start("task=demo", "task.ids=[8]", "agent.history=30", "agent.memory=true", "workers=1")
    assert done.code == 0, done.out + done.err
    sent = prompts(done.folder, 8)
    assert len(sent) > 10
    same = sum(common(one, two) for one, two in pairwise(sent))
    assert same / sum(map(len, sent[:-1])) >= 0.9


def test_the_null_agent_passes_no_demo_task_and_asks_no_model(start: Starter) -> None:
    done = start("agent=null", "task=smoke", "workers=1")
    summary = json.loads((done.folder / "summary.json").read_bytes())
    assert (summary["passed"], summary["tokens"], summary["invocation"]["model_requests"]) == (0, 0, 0)
    assert " 0 model requests" in done.out
