"""Runs the real command in a process of its own, as a person would."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import environment
from tests.forked import Forks
from tests.reports.runs import Shape, fill

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def harness(tmp_path: Path, forked: Forks) -> Command:
    """Give arguments, and variables by name, get the ended process; it ran in an empty folder."""

    def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return forked.run("harness", *arguments, cwd=tmp_path, env={**environment(), **variables})

    return command


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A small run of three tasks: passed, failed, still under way."""
    return fill(tmp_path / "run", [Shape(), Shape(score=0.0), Shape(open=True)])
