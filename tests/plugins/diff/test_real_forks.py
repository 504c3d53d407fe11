"""Real forks are their own test: each parts from its parent at the step after the one that it was forked at."""

from pathlib import Path

import pytest

from harness.config import PROJECT
from harness.errors import ExitCode
from harness.plugins.diff.whole_runs import part_runs
from harness.runs import Run
from tests.e2e.conftest import environment
from tests.forked import Forks

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SHORT = (0, 6, 15, 19, 31)
"""Demo tasks of one action and a stop; a stop is not inherited."""
OTHER = ("agent._target_=tests.plugins.diff.other_ways.OtherWays", "agent.name=other")


def test_all_demo_tasks_part_at_the_step_of_their_forks(tmp_path: Path, forked: Forks) -> None:
    root = tmp_path / "results"
    env = {**environment(), "PYTHONPATH": str(PROJECT)}
    shared = (f"run.root={root}", "task=demo", "run.report=false", "executor.lanes=2")
    done = forked.run("run.py", "run.id=parent", *shared, cwd=tmp_path, env=env, timeout_s=3000)
    assert done.returncode == 0, done.stdout + done.stderr
    forks = {"first": 0, "second": 1, "third": 2, "again": 1}
    for name, step in forks.items():
        only = f"task.ids={list(SHORT)}" if name == "again" else "task.ids=null"
        given = ("fork", f"{root / 'parent'}@{step}", f"run.id={name}", only, *shared, *OTHER)
        done = forked.run("harness.main", *given, cwd=tmp_path, env=env, timeout_s=3000)
        # Two tasks need a judge, and their forks stay unscored.
        assert done.returncode in (ExitCode.DONE, ExitCode.UNSCORED), done.stdout + done.stderr
    parent, found = Run(root / "parent"), list[tuple[int, int]]()
    for name, step in forks.items():
        for one in part_runs([parent, Run(root / name)]):
            if not one.left_out:
                found.append((step, one.parting.step - 1 if one.parting else -1))
    assert len(found) == 120 and all(at == step for step, at in found)
