"""Another Python finds modules where the one that starts it does."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

STARTS = {
    "a module": "module_arguments('email.utils')",
    "a worker": "PLAYER",
}
STARTER = """
import subprocess, sys
from harness.interpreter import module_arguments
from harness.runner.executors.prestart import PLAYER
sys.exit(subprocess.run([sys.executable, *{}], stdin=subprocess.DEVNULL).returncode)
"""


def started(options: list[str], program: str, folder: Path) -> int:
    command = [sys.executable, *options, "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


@pytest.mark.parametrize("what", STARTS)
def test_a_file_of_the_current_folder_takes_no_place_of_a_library(what: str, tmp_path: Path) -> None:
    (tmp_path / "calendar.py").write_text("raise SystemExit(7)")
    assert started(["-P"], STARTER.format(STARTS[what]), tmp_path) == 0


def test_one_that_is_started_with_the_current_folder_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise SystemExit(7)")
    assert started([], STARTER.format("module_arguments('mine')"), tmp_path) == 7
    assert started(["-P"], STARTER.format("module_arguments('mine')"), tmp_path) == 1


def test_a_current_folder_that_was_deleted_is_none(tmp_path: Path) -> None:
    gone = f"import os; os.rmdir({str(tmp_path)!r})\n"
    assert started(["-P"], gone + STARTER.format("module_arguments('email.utils')"), tmp_path) == 0
