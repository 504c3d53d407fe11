"""Masks report who opens them, and say so where they cannot."""

import os
import resource
from pathlib import Path

import pytest

from harness.plugins.process_agent.masks import Masks
from tests.waiting import until


@pytest.fixture
def masks(tmp_path: Path) -> Masks:
    (tmp_path / "hidden/inner").mkdir(parents=True)
    (tmp_path / "hidden/inner/key").write_text("secret")
    (tmp_path / "masks").mkdir()
    return Masks(tmp_path / "masks")


@pytest.mark.asyncio
async def test_what_is_opened_is_reported_by_its_hidden_name_and_is_empty(
    tmp_path: Path, masks: Masks, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []
    mask = masks.add(tmp_path / "hidden")
    masks.watch(seen.append)
    assert caplog.text == ""
    assert (mask / "inner/key").read_text() == ""
    list(mask.iterdir())
    await until(lambda: len(seen) >= 2)
    masks.close()
    assert seen == [f"opened {tmp_path}/hidden/inner/key", f"listed {tmp_path}/hidden"]


@pytest.mark.asyncio
async def test_masks_that_are_deleted_are_not_said_to_be_opened(tmp_path: Path, masks: Masks) -> None:
    seen: list[str] = []
    mask = masks.add(tmp_path / "hidden")
    masks.watch(seen.append)
    (mask / "inner/key").unlink()
    (mask / "inner").rmdir()
    mask.rmdir()
    masks.read()
    masks.close()
    assert seen == []


@pytest.mark.asyncio
async def test_a_machine_that_cannot_watch_says_that_tries_are_not_seen(
    tmp_path: Path, masks: Masks, caplog: pytest.LogCaptureFixture
) -> None:
    mask = masks.add(tmp_path / "hidden")
    next_free = os.dup(0)
    os.close(next_free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_free, hard))
    try:
        masks.watch(lambda _: pytest.fail("nothing is watched"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (mask / "inner/key").read_text() == "", "it hides all the same"
    assert "is not seen (Too many open files); a higher fs.inotify.max_user_instances may help" in caplog.text
    masks.close()
