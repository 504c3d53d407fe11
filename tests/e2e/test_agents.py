"""Each shipped agent on demo tasks, as people run it: over every interface it has, killed and gone on with."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from harness.journal.log import read
from tests.e2e.conftest import PROJECT, Start
from tests.e2e.test_run import running
from tests.waiting import wait_until

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


@pytest.mark.slow
def test_with_a_history_each_prompt_of_an_episode_is_the_beginning_of_the_next(start: Starter) -> None:
    done = start("task=demo", "task.ids=[8]", "agent.history=30", "agent.memory=true", "executor=inline")
    assert done.code == 0, done.out + done.err
    sent = prompts(done.folder, 8)
    assert len(sent) > 10
    same = sum(common(one, two) for one, two in pairwise(sent))
    assert same / sum(map(len, sent[:-1])) >= 0.9


def test_the_null_agent_passes_only_what_is_met_from_the_start_and_the_table_says_how_many(
    start: Starter, tmp_path: Path
) -> None:
    demo = json.loads((PROJECT / "tasks" / "demo.json").read_bytes())
    nothing_to_do = {"eval_types": ["url_match"], "reference_url": demo[0]["start_url"]}
    given = [demo[0], demo[2] | {"eval": demo[2]["eval"] | nothing_to_do, "start_url": demo[0]["start_url"]}]
    (tmp_path / "tasks.json").write_text(json.dumps(given))
    done = start("agent=null", f"task.path={tmp_path}/tasks.json", "executor=inline", "run.report=false")
    passed = {one["task_id"] for one in done.summary["results"] if one["status"] == "passed"}
    assert passed == {str(demo[2]["task_id"])}
    assert ["all", "2", "1", "1", "0", "50.0%", "50.0%", "0", "$0.0000"] in [
        line.split() for line in done.out.split("\n")
    ]


@pytest.mark.slow
def test_the_null_agent_passes_none_of_the_demo_tasks(start: Starter) -> None:
    done = start("agent=null", "task=demo", "workers=1", "run.report=false")
    assert (done.summary["tasks"], done.summary["passed"]) == (40, 0), "docs/pages/baselines.md says so"


INTERFACES = [
    ("agent=tools", "llm.api=messages", "llm.model=claude-sonnet-4-5"),
    ("agent=tools", "llm.api=chat", "llm.model=scripted"),
    ("agent=tools", "llm.api=responses", "llm.model=gpt-5"),
    ("agent=computer", "llm.api=responses", "llm.model=computer-use-preview"),
    ("agent=computer", "llm.api=responses", "llm.model=gpt-5.4"),
    ("agent=computer", "llm.api=messages", "llm.model=claude-sonnet-4-5"),
]
QUICK = ("llm.max_retry_s=5", "llm.max_outage_s=1", "workers=1", "executor=inline")


@pytest.mark.sample(1)  # the test of two calls plays tools over chat, that of exact requests computer over responses
@pytest.mark.parametrize("settings", INTERFACES, ids=" ".join)
def test_agents_that_call_pass_over_every_interface_they_have(start: Starter, settings: tuple[str, ...]) -> None:
    done = start(*settings, *QUICK, "task=demo", "task.ids=[0,2]")
    assert done.code == 0, done.out + done.err
    assert done.summary["passed"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("settings", INTERFACES[1::2], ids=" ".join)  # the others differ in how a call is sent
def test_agents_that_call_pass_all_demo_tasks(start: Starter, settings: tuple[str, ...]) -> None:
    done = start(*settings, *QUICK, "task=demo", "run.report=false")
    assert done.code == 0, done.out + done.err
    assert done.summary["passed"] == 40


def test_a_computer_is_not_offered_by_chat_completions(start_here: Starter) -> None:
    done = start_here("agent=computer", *QUICK, "task=demo", "task.ids=[0]")
    assert done.code == 2
    assert "llm.api=chat has no computer tool; choose llm.api=responses or llm.api=messages" in done.err
    assert not done.folder.exists(), "it is refused before anything is started"


@pytest.mark.slow
def test_without_a_legend_the_scripted_endpoint_says_that_it_cannot_see(start: Starter) -> None:
    done = start("agent=computer", "agent.legend=false", "llm.api=responses", *QUICK, "task=demo", "task.ids=[0]")
    assert done.summary["passed"] == 0
    assert "I cannot read pictures; set agent.legend=true" in (done.folder / "0.traj.jsonl").read_text()


@pytest.mark.slow
def test_killed_between_two_calls_of_one_reply_it_goes_on_without_asking_again(start: Starter, tmp_path: Path) -> None:
    settings = ("agent=tools", *QUICK, "task=demo", "task.ids=[8]", "llm.latency_ms=300")
    journal = tmp_path / "results" / "run" / "8.traj.jsonl"
    with running(*settings, root=tmp_path / "results") as process:
        wait_until(lambda: journal.exists() and b'"of":' in journal.read_bytes())
        process.kill()
        process.wait()
    before = read(journal)
    assert any(step.decided.memory and "of" in step.decided.memory for step in before.steps) or before.pending
    done = start(*settings)
    assert done.code == 0, done.out + done.err
    steps = read(journal).steps
    asked = [step.decided for step in steps if step.decided.prompt]
    assert len(asked) < len(steps)
    assert [step.decided for step in steps[: len(before.steps)]] == [step.decided for step in before.steps]
