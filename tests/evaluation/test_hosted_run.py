"""A hosted run ends with the error that its episodes could not be queued for."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.cli import configured
from harness.errors import StorageError
from harness.evaluation.hosted_run import OpenRun
from harness.evaluation.run_context import RunContext
from tests.journal.episodes import task

pytestmark = pytest.mark.integration


class FullDisk:
    """Stands for a scheduler."""

    async def add(self, job: Any) -> None:
        raise StorageError("the disk is full")


@pytest.mark.parametrize("looked", ["stopped", "check"])
async def test_a_disk_that_refuses_a_picture_ends_the_run(tmp_path: Path, looked: str) -> None:
    with RunContext.for_checks(configured(["task=demo"])) as context:
        playing = asyncio.create_task(asyncio.Event().wait())
        context = replace(context, tasks=(task("1"),))
        run = OpenRun(context=context, jobs=FullDisk(), playing=playing)  # type: ignore[arg-type]
        run.check()
        for _ in range(2):
            with pytest.raises(StorageError):
                await run.play("1", 0, None)
        with pytest.raises(StorageError):
            async with asyncio.timeout(60):
                await run.stopped() if looked == "stopped" else run.check()
        playing.cancel()
