"""Runs the real command in a process of its own, as a person would."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import environment
from tests.reports.runs import Shape, fill

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def harness(tmp_path: Path) -> Command:
    """Give arguments, get the ended process; it ran in an empty folder."""

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "harness.main", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env=environment(),
            cwd=tmp_path,
        )

    return command


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A small run of three tasks: passed, failed, still under way."""
    return fill(tmp_path / "run", [Shape(), Shape(score=0.0), Shape(open=True)])
