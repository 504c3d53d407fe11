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
    return redirected(streams, *command).returncode


def redirected(streams: str, *command: str, unbuffered: str = "") -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | {"PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": unbuffered}
    given = ["sh", "-c", f'exec "$@" {streams}', "sh", sys.executable, *command]
    return subprocess.run(given, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_files_do_not_take_the_place_of_closed_streams(streams: str, tmp_path: Path) -> None:
    assert without(streams, "-c", PROGRAM, str(tmp_path / "file")) == 0
    assert (tmp_path / "file").read_text() == "whole"


@pytest.mark.integration
def test_commands_do_without_them(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    assert without("<&- >&- 2>&-", "-m", "harness.main", "show", gone) == 2
    assert without("<&- >&- 2>&-", str(PROJECT / "run.py"), "task=smoke", "task.limit=0", f"run.root={gone}") == 2


@pytest.mark.integration
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command",
    [
        ("-m", "harness.main", "settings"),
        (str(PROJECT / "run.py"), "--help"),
        (str(PROJECT / "run.py"), "task=smoke", "run.dry=true"),
    ],
    ids=["a command", "help", "a dry run"],
)
def test_a_full_disk_is_said_and_is_no_success(command: tuple[str, ...], unbuffered: str, tmp_path: Path) -> None:
    root = [f"run.root={tmp_path}"] * ("run.dry=true" in command)
    done = redirected(">/dev/full", *command, *root, unbuffered=unbuffered)
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert "cannot write standard output: the disk is full" in line


@pytest.mark.integration
def test_a_reader_that_is_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "harness.main", "settings"]
    done = subprocess.run(line, stdout=writer, stderr=subprocess.PIPE, check=False, cwd=PROJECT)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
