"""Agents that look at pictures or are processes, in runs that are killed: nothing is lost, asked or done twice."""

import os
import subprocess
import sys

import pytest

from tests.e2e.conftest import PROJECT

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("agent", ["vision", "computer", "process"])
def test_a_run_that_is_killed_keeps_its_promises(agent: str) -> None:
    chaos = subprocess.run(
        [sys.executable, str(PROJECT / "benchmarks" / "chaos.py"), "--agent", agent, "--task", "smoke", "--kills", "6"],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert chaos.returncode == 0, chaos.stdout + chaos.stderr
    assert "VIOLATED" not in chaos.stdout and "same scores as undisturbed" in chaos.stdout
