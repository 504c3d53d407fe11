"""A recorded run for every export, and a played one for the packages that read what was exported."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import command, environment
from tests.plugins.tracking.exports.runs import recorded_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return recorded_run(tmp_path / "results" / "run-a")


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two demo tasks by an agent that calls functions and by one that sees: agent's name to run folder."""
    folders = {}
    for agent in ("tools", "vision"):
        root = tmp_path_factory.mktemp(agent)
        settings = (f"agent={agent}", "task=demo", "task.ids=[0,2]", "executor=inline", "workers=1", "run.report=false")
        done = subprocess.run(
            [*command(*settings, root=root)], capture_output=True, text=True, check=False, env=environment(), cwd=root
        )
        assert done.returncode == 0, done.stdout + done.stderr
        folders[agent] = root / "run"
    return folders
