"""What logs a run is closed however the run ends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.cli import configured
from harness.codec import dumps
from harness.config import Config
from harness.errors import StorageError
from harness.evaluation import orchestrator
from harness.journal.store import RunFolder
from harness.protocols import Progress
from harness.reports.console import Terminal
from harness.reports.summary import Invocation
from harness.secrets.redaction import NO_SECRETS

pytestmark = pytest.mark.integration


class Tracker:
    """Notes that it was closed."""

    closed = 0

    @asynccontextmanager
    async def following(self, progress: Progress) -> AsyncIterator[Progress]:
        yield progress

    async def log(self, *, whole: bool) -> None:
        return

    async def close(self) -> None:
        self.closed += 1


async def _nothing(*_: object, **__: object) -> Invocation:
    return Invocation()


def _described(config: Config, run: RunFolder, *_: object, **__: object) -> None:
    run.write("run.json", dumps({"scoring": "corrected", "tasks": ["0"], "trials": 1}))


def _refuse(*_: object, **__: object) -> Any:
    raise StorageError("the disk is full")


async def _refused(*_: object, **__: object) -> Any:
    _refuse()


@pytest.mark.parametrize(("part", "fails"), [("_play", _refused), ("_write_reports", _refuse), ("", None)])
async def test_a_tracker_is_closed_once_however_the_run_ends(
    part: str, fails: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker = Tracker()
    monkeypatch.setattr(orchestrator, "open_tracker", lambda *_: tracker)
    monkeypatch.setattr(orchestrator, "keep_quiet", lambda *_: NO_SECRETS)
    monkeypatch.setattr(orchestrator, "take_over", lambda folder: None)
    for name in ("check_before", "_play"):
        monkeypatch.setattr(orchestrator, name, _nothing)
    monkeypatch.setattr(orchestrator, "describe_run", _described)
    if part:
        monkeypatch.setattr(orchestrator, part, fails)
    config = configured(["task=smoke", "task.ids=[0]", "run.report=false", "executor=inline"])
    ended: object = None
    try:
        ended = await orchestrator.evaluate(config, tmp_path / "run", Terminal())
    except StorageError as error:
        ended = str(error)
    assert ended == ("the disk is full" if part else 3)
    assert tracker.closed == 1
