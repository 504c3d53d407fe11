"""Commands that are started without standard streams."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
PROGRAM = """
import os, sys
from harness.standard_streams import open_missing_streams
open_missing_streams()
print("said"), print("said", file=sys.stderr), os.write(1, b"said"), os.write(2, b"said")
assert sys.stdin.read() == "", "it is at its end"
with open(sys.argv[1], "w") as file:
    assert file.fileno() > 2
    os.system("echo said; echo said >&2")  # what another process says
    file.write("whole")
"""


def without(streams: str, *command: str) -> int:
    """The exit code of a command that is started with these streams closed."""
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    given = ["sh", "-c", f'exec "$@" {streams}', "sh", sys.executable, *command]
    return subprocess.run(given, env=environment, stdin=subprocess.DEVNULL, check=False).returncode


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_files_do_not_take_the_place_of_closed_streams(streams: str, tmp_path: Path) -> None:
    assert without(streams, "-c", PROGRAM, str(tmp_path / "file")) == 0
    assert (tmp_path / "file").read_text() == "whole"


@pytest.mark.integration
def test_commands_do_without_them(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    assert without("<&- >&- 2>&-", "-m", "harness.main", "show", gone) == 2
    assert without("<&- >&- 2>&-", str(PROJECT / "run.py"), "task=smoke", "task.limit=0", f"run.root={gone}") == 2
