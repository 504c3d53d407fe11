"""Processes that are found by the marks in their environment."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from harness.runner import process_tree
from harness.runner.process_tree import end_marked, find_marked, kill_orphans, marks
from tests.waiting import wait_until


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[dict[str, str]]:
    found = {"CAIRN_TEST_MARK": str(tmp_path)}
    yield found
    end_marked(found)


def started(mark: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", "600"], env={**os.environ, **mark})


def test_one_is_found_while_it_is_replaced_by_another_program(
    mark: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of execve its environment reads as empty."""
    process, read, looks = started(mark), psutil.Process.environ, []

    def empty_at_first(self: psutil.Process) -> dict[str, str]:
        if self.pid != process.pid:
            return dict(read(self))
        looks.append(self.pid)
        return dict(read(self)) if len(looks) > 2 else {}

    monkeypatch.setattr(psutil.Process, "environ", empty_at_first)
    assert [one.pid for one in find_marked(mark)] == [process.pid]
    assert end_marked(mark) == 1
    process.wait()


def test_a_program_without_an_environment_is_nobodys_and_zombies_are_left_out(mark: dict[str, str]) -> None:
    bare = subprocess.Popen(["/bin/sleep", "600"], env={})
    ended = started(mark)
    ended.kill()
    wait_until(lambda: psutil.Process(ended.pid).status() == psutil.STATUS_ZOMBIE)
    assert find_marked(mark) == []
    ended.wait()
    bare.kill()
    bare.wait()


def test_a_program_that_never_has_an_environment_is_looked_at_often_only_once(
    mark: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each Chromium has two such processes: without a memory each search of a reset waits for all of them."""
    bare = subprocess.Popen(["/bin/sleep", "600"], env={})
    read, looks = psutil.Process.environ, []

    def noted(self: psutil.Process) -> dict[str, str]:
        looks.append(self.pid)
        return dict(read(self))

    monkeypatch.setattr(psutil.Process, "environ", noted)
    monkeypatch.setattr(process_tree, "_SETTLED_S", 0.0)
    wait_until(lambda: psutil.Process(bare.pid).name() == "sleep")
    find_marked(mark)
    assert looks.count(bare.pid) == 5
    looks.clear()
    find_marked(mark)
    assert looks.count(bare.pid) == 1
    bare.kill()
    bare.wait()


def test_one_that_was_bare_and_becomes_another_program_is_found(
    mark: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    process, read, empty = started(mark), psutil.Process.environ, [True]
    command = psutil.Process.cmdline

    def environ(self: psutil.Process) -> dict[str, str]:
        return {} if self.pid == process.pid and empty[0] else dict(read(self))

    def cmdline(self: psutil.Process) -> list[str]:
        return ["/bin/before"] if self.pid == process.pid and empty[0] else list(command(self))

    monkeypatch.setattr(psutil.Process, "environ", environ)
    monkeypatch.setattr(psutil.Process, "cmdline", cmdline)
    monkeypatch.setattr(process_tree, "_SETTLED_S", 0.0)
    assert find_marked(mark) == []
    empty[0] = False
    assert [one.pid for one in find_marked(mark)] == [process.pid]
    end_marked(mark)
    process.wait()


def test_a_start_ends_what_an_earlier_one_left_and_spares_what_it_has_started_itself(tmp_path: Path) -> None:
    """The first worker is there before the run folder is locked."""
    variables = {**os.environ, **marks(tmp_path, 0)}
    mine = subprocess.Popen(["sleep", "600"], env=variables)
    with subprocess.Popen(["sh", "-c", "sleep 600 & echo $!"], env=variables, stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        orphan = psutil.Process(int(shell.stdout.readline()))
        shell.stdout.close()
    wait_until(lambda: os.getpid() not in (parent.pid for parent in orphan.parents()))
    assert kill_orphans(tmp_path) == 1
    wait_until(lambda: not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE)
    assert mine.poll() is None
    mine.kill()
    mine.wait()


def test_a_folder_whose_name_is_not_utf_8_has_a_mark(tmp_path: Path) -> None:
    """As one that was made under Latin-1, or any with an umlaut where the locale is ASCII."""
    assert marks(tmp_path / os.fsdecode(b"M\xfcller"), 0) != marks(tmp_path / "Muller", 0)
