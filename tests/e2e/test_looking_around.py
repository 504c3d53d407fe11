"""What an agent is given, and the browser that it drives, hold nothing of how its task is judged."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.codec import dumps
from harness.episode.decision import public_episode, public_task
from harness.journal.log import read
from harness.records import CloseReason, Episode, Opened, Scored, Status, Verdict
from harness.testing import a_task
from tests.e2e.conftest import PROJECT, Start
from tests.e2e.looking_around import texts

SOUGHT = "qzx-4711-reference"


def test_the_public_task_and_episode_name_no_reference() -> None:
    task = a_task("What is it?")
    task = replace(task, metadata={"eval.mine": SOUGHT})
    task = replace(task, eval=replace(task.eval, reference_answers={"must_include": [SOUGHT]}, string_note=SOUGHT))
    opened = Opened(
        attempt=2, trial=0, task=task, task_digest="", config_digest="", seed=3, files={f"/{SOUGHT}.png": "ab"}, at=0.0
    )
    verdict = Verdict(evaluator="string_match", status=Status.OK, value=0.0, why=f"the answer is not {SOUGHT}")
    scored = Scored(dialect="corrected", evaluator_version="", status=Status.OK, value=0.0, verdicts=(verdict,), at=0.0)
    episode = Episode(opened=opened, scores={"corrected": scored})
    assert SOUGHT.encode() in dumps(episode) and [*texts(episode)] != []
    shown = public_episode(episode)
    assert SOUGHT.encode() not in dumps(shown) + dumps(public_task(task))
    assert not any(SOUGHT in text for _, text in texts([shown, public_task(task)]))
    assert shown.opened is not None and (shown.attempt, shown.opened.seed) == (2, 3)
    assert public_task(task).intent == "What is it?"


@pytest.mark.slow
@pytest.mark.browser
def test_a_hostile_agent_finds_no_reference_in_what_it_is_given_nor_in_the_browser(
    start: Callable[..., Start], tmp_path: Path
) -> None:
    task = json.loads((PROJECT / "tasks" / "demo.json").read_bytes())[0]
    task["eval"]["reference_answers"] = {"exact_match": SOUGHT}
    (tmp_path / "mine.json").write_text(json.dumps([task | {"metadata": {"remark": SOUGHT}}]))
    agent = "agent._target_=tests.e2e.looking_around.LooksAround"
    backwards = f"+agent.arguments.backwards={SOUGHT[::-1]}"
    done = start(
        *(f"task.path={tmp_path / 'mine.json'}", "agent=null", agent, "agent.name=looks", backwards, "workers=1"),
        env={"PYTHONPATH": str(PROJECT)},
    )
    assert done.code == 0, done.out + done.err
    closed = read(next(done.folder.glob("*.traj.jsonl"))).closed
    assert closed is not None and closed.reason is CloseReason.STOPPED
    assert closed.answer == "found: []; the page's title is in the browser's memory: True"
