"""Code of other people in a worker prints and reads, and the worker's supervisor goes on understanding it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Start

pytestmark = pytest.mark.browser

AGENT = """
import subprocess, sys
from harness.api import Decision, Stop

print("imported")

class Talker:
    def __init__(self, model): pass

    async def decide(self, task, episode, observation):
        print("deciding", flush=True)
        subprocess.run(["cat"])  # reads what it inherits, to its end
        return Decision(action=Stop(answer=f"read {sys.stdin.read()!r}"))
"""


def test_what_an_agent_prints_is_logged_and_what_it_reads_is_nothing(
    start: Callable[..., Start], tmp_path: Path
) -> None:
    (tmp_path / "talker.py").write_text(AGENT)
    settings = ("task=smoke", "task.limit=1", "workers=1", "llm=none", "run.report=false")
    env = {"PYTHONPATH": os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))}
    done = start(*settings, "agent._target_=talker.Talker", "agent.name=talker", env=env)
    assert done.code == 0, done.err
    assert '"answer":"read \'\'"' in (done.folder / "0.traj.jsonl").read_text()
    assert "imported\ndeciding" in (done.folder / "worker.log").read_text()
