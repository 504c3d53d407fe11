"""An agent of one's own as a command, by the real command line: scores, resume after kills, reports, and bad settings."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.choices import Sandbox
from harness.sandbox.bubblewrap import choose_sandbox
from tests.e2e.conftest import PROJECT, Start

pytestmark = [pytest.mark.browser, pytest.mark.integration]

LOOP = PROJECT / "docs" / "examples" / "agents" / "tool_loop.py"
PLAYS = ("agent=process", f"agent.command=[{sys.executable},{LOOP}]", "llm=scripted")


CONFINED = "confined by bubblewrap" if choose_sandbox(Sandbox.auto)[0] else "not confined"
READER = """
import json, os, sys
json.load(sys.stdin)
def read(path):
    try:
        return open(path).read()
    except OSError:
        return ""
found = [read(path) for path in ("tasks/demo.json", "tasks/demo.plans.json", sys.argv[1] + "/run.json")]
print(json.dumps({"answer": f"{[len(one) > 0 for one in found]} {len(read(sys.argv[0])) > 0}"}))
"""
"""An agent that reads what it must not read."""


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob("*.traj.jsonl")) for line in path.read_bytes().splitlines()]


@pytest.fixture
def harness(harness_here: Callable[..., Start]) -> Callable[..., str]:
    """Give the arguments of a command, get what it printed."""

    def printed(*arguments: str) -> str:
        done = harness_here(*arguments)
        assert done.code == 0, done
        return done.out

    return printed


def test_the_example_plays_and_is_reported_like_any_agent(
    start: Callable[..., Start], harness: Callable[..., str]
) -> None:
    done = start(*PLAYS, "executor=inline", "task.limit=2", "llm.cache=readwrite", "llm.cache_dir=cache")
    assert done.code == 0, done.err
    assert done.out.count("llm.cache does not apply to agent=process") == 1
    assert done.summary["passed"] == 2 and done.summary["divergences"] == 0
    counted = Counter(line["kind"] for line in lines(done.folder))
    assert counted["asked"] == counted["answered"] > 2 and counted["exited"] == 2 and counted["diverged"] == 0
    tokens = sum(
        line["usage"]["prompt_tokens"] + line["usage"]["completion_tokens"]
        for line in lines(done.folder)
        if line["kind"] == "answered"
    )
    assert done.summary["tokens"] == tokens > 0
    task = next(iter((done.folder / "report" / "tasks").glob("*.html"))).read_text()
    assert "Model requests" in task and "exit code 0" in task
    assert "request 1, chat, scripted, HTTP 200" in harness("show", str(done.folder), "0", "1")
    shown = harness("show", str(done.folder), "0")
    assert "agent's process 1: exit code 0" in shown and CONFINED in shown and CONFINED in task
    assert "tasks.csv" in harness("export", "csv", str(done.folder), "--to", str(done.folder.parent / "csv"))
    assert harness("export", "art", str(done.folder), "--to", str(done.folder.parent / "art"))


@pytest.mark.sample(1)
@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_tasks_and_runs_are_hidden_in_the_sandbox_and_a_run_says_so(
    start: Callable[..., Start], harness: Callable[..., str], tmp_path: Path, sandbox: str
) -> None:
    if sandbox != "none" and (why := choose_sandbox(Sandbox.auto)[1]):
        pytest.skip(why)
    (script := tmp_path / "reader.py").write_text(READER)
    own = ("agent=process", f"agent.command=[{sys.executable},{script},{tmp_path}/results/run]", f"agent.cwd={PROJECT}")
    done = start(*own, f"agent.sandbox={sandbox}", "llm=none", "task.limit=1", "executor=inline")
    shown, run = harness("show", str(done.folder), "0"), harness("show", str(done.folder))
    page = next(iter((done.folder / "report" / "tasks").glob("*.html"))).read_text()
    if sandbox == "none":
        assert "answer: [True, True, True] True" in shown and done.summary["policy_violations"] == 0
        assert "the agent's process is not confined (agent.sandbox=none)" in done.out + done.err
        assert any("not confined in 1 episode" in note for note in done.summary["notes"])
        assert "not confined in 1 episode" in run and "not confined" in shown and "not confined" in page
        return
    assert "answer: [False, False, False] True" in shown and "not confined" not in done.out + done.err + shown
    assert done.summary["policy_violations"] == 3 and "policy violations: 3" in done.out
    wanted = f"policy violation (files) before step 1: opened {PROJECT}/tasks/demo.json"
    assert wanted in shown and "policy violations: 3" in run and "policy violation" in page


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("agent=process",), "agent.command is empty"),
        (("agent=process", "agent.command=[no-such-program]"), "there is no program no-such-program"),
        (("agent=process", "agent.command=[./missing.py]"), "there is no program ./missing.py"),
        (("agent=process", "agent.command=[sh]", "agent.cwd=/no/such/folder"), "agent.cwd=/no/such/folder"),
        (("agent=process", "agent.command=[sh]", "agent.volatile=['(']"), "is not a regular expression"),
        (("agent=process", "agent.command=[sh]", "agent.browser=other"), "agent.browser"),
        (("agent=process", "agent.command=[sh]", "agent.timeout_s=0"), "agent.timeout_s"),
        (("agent=process", "agent.command=[sh]", "agent.sandbox=docker"), "agent.sandbox"),
        (("agent=process", "agent.command=[sh]", "action_set=playwright"), "action_set=cairn"),
    ],
)
def test_bad_settings_are_one_sentence(start_here: Callable[..., Start], settings: tuple[str, ...], said: str) -> None:
    done = start_here(*settings, "llm=scripted", "task.limit=1")
    assert done.code == 2 and said in done.err and "Traceback" not in done.err, done.err
    assert done.err.strip().count("\n") == 0
