"""Commands of the person's own: what they leave running is theirs, and what is cut short leaves nothing."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest

from harness.runner import shell
from harness.runner.process_tree import HOOK_MARK, MARK, kill_orphans, tag_environment
from tests import waiting
from tests.waiting import until

pytestmark = pytest.mark.integration

LEAVES_ITS_TREE = "setsid sh -c 'echo $$ >> {pids}; sleep 600 & echo $! >> {pids}; wait' &"
"""Starts what neither belongs to its session nor, once the command has ended, to its tree."""


@pytest.fixture
def pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file for the ids of what a command starts; what is left of it is killed, and the run's mark taken away."""
    monkeypatch.setenv(MARK, "")  # so that it is put back
    path = tmp_path / "pids"
    path.touch()
    yield path
    for process in alive(path):
        with suppress(psutil.Error):
            process.kill()


def alive(pids: Path) -> list[psutil.Process]:
    return waiting.alive(int(line) for line in pids.read_text().split())


def started(pids: Path) -> int:
    return len(pids.read_text().split())


@asynccontextmanager
async def running(command: str) -> AsyncIterator[asyncio.Task[shell.CommandResult]]:
    task = asyncio.create_task(shell.run_command(command, variables={}, timeout_s=60))
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_server_that_a_command_leaves_running_is_not_waited_for_and_lives_on(
    tmp_path: Path, pids: Path
) -> None:
    heard = tmp_path / "heard"
    server = (
        f"(echo up; read line < {tmp_path}/fifo; echo log line; echo $? > {heard}; exec sleep 600) & echo $! > {pids}"
    )
    os.mkfifo(tmp_path / "fifo")
    tag_environment(tmp_path)
    async with asyncio.timeout(10):
        ended = await shell.run_command(f"{server}; echo the site is up", variables={}, timeout_s=60)
    assert ended.code == 0 and ended.said in ("the site is up", "up")
    (tmp_path / "fifo").write_text("now\n")
    await until(lambda: heard.exists() and heard.read_text())
    assert heard.read_text() == "0\n", "it can still write where its output went"
    assert kill_orphans(tmp_path) == 0
    (server_process,) = alive(pids)
    assert MARK not in server_process.environ()


async def test_a_command_that_outlived_its_run_is_ended_by_the_next_start_with_its_descendants(
    tmp_path: Path, pids: Path
) -> None:
    command = f"sleep 600 & echo $! >> {pids}; echo $$ >> {pids}; wait"
    script = (
        "import asyncio, sys; from pathlib import Path; from harness.runner import shell; from"
        " harness.runner.process_tree import tag_environment\ntag_environment(Path(sys.argv[1])); asyncio.run(shell.run_command(sys.argv[2], variables={},"
        " timeout_s=600))"
    )
    run = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(tmp_path), command)
    try:
        await until(lambda: len(alive(pids)) == 2)
    finally:
        run.kill()
        await run.wait()
    assert len(alive(pids)) == 2
    assert kill_orphans(tmp_path / "another") == 0
    assert kill_orphans(tmp_path) == 1
    await until(lambda: not alive(pids))


async def test_a_command_that_is_cut_short_leaves_nothing_behind(tmp_path: Path, pids: Path) -> None:
    tag_environment(tmp_path)
    command = f"{LEAVES_ITS_TREE.format(pids=pids)} (sleep 600 & echo $! >> {pids}); echo $$ >> {pids}; sleep 600"
    async with running(command):
        await until(lambda: len(alive(pids)) == 4)
    await until(lambda: not alive(pids))


async def test_a_command_that_takes_too_long_is_ended_with_what_left_its_tree(tmp_path: Path, pids: Path) -> None:
    tag_environment(tmp_path)
    ended = await shell.run_command(f"{LEAVES_ITS_TREE.format(pids=pids)} sleep 600", variables={}, timeout_s=0.5)
    assert ended == shell.CommandResult(None, "")
    assert started(pids) == 2
    await until(lambda: not alive(pids))


async def test_a_command_is_told_what_it_is_for_and_nothing_of_the_run(tmp_path: Path, pids: Path) -> None:
    tag_environment(tmp_path)
    command = f"echo ${{{MARK}-none}} $CAIRN_SITES ${{{HOOK_MARK}#*:}} $$"
    said = (await shell.run_command(command, variables={"CAIRN_SITES": "shop"}, timeout_s=60)).said.split()
    assert said[:2] == ["none", "shop"] and said[2] == said[3]


async def test_only_the_end_of_what_a_command_said_is_read() -> None:
    ended = await shell.run_command(
        "yes | head -c 3000000; echo; echo the disk is full; exit 3", variables={}, timeout_s=60
    )
    assert ended == shell.CommandResult(3, "the disk is full")
