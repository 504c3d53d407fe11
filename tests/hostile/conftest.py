"""A run that somebody else made, and `harness` in this process."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hostile.foreign import SETTINGS, Place, Said, call, own_things
from tests.reports.runs import Shape, fill


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three tasks as a real one leaves it; copied for each row."""
    run = fill(tmp_path_factory.mktemp("made") / "run", [Shape(steps=1), Shape(steps=1, score=0.0), Shape(open=True)])
    (run / "config.yaml").write_text(SETTINGS)
    (run / "summary.json").write_text('{"scoring": "corrected"}')
    (run / "private" / "checkpoints" / "ab").mkdir(parents=True)
    return run


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Iterator[Place]:
    """The run as somebody else left it; at the end, nothing beside it has changed."""
    shutil.copytree(made, tmp_path / "run")
    found = Place(tmp_path / "run", own_things(tmp_path / "beside"))
    yield found
    found.untouched()


@pytest.fixture
def harness(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Give arguments, get what the command came to."""
    return lambda *arguments: call(capsys, *arguments)
