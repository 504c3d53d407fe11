"""Processes of workers that begin before anybody asks for them."""

import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import psutil
import pytest

from harness.api import WorkerHandle
from harness.runner.executors.early_launch import launched_early
from harness.runner.executors.local_workers import local_worker
from harness.runner.executors.supervisor import Launch

ECHO = (sys.executable, "-c", "import os\nwhile data := os.read(0, 99): os.write(1, b'%d %b' % (os.getpid(), data))")


def child_processes(command: Sequence[str], log: Path) -> Launch:
    return lambda number: local_worker(command, log)


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


async def test_the_first_process_of_a_worker_has_begun_and_the_next_is_started_when_asked_for(tmp_path: Path) -> None:
    before, answers = children(), []
    async with launched_early(child_processes(ECHO, tmp_path / "log"), 1) as launch:
        (begun,) = children() - before
        for _ in range(2):
            async with launch(0) as worker:
                worker.send(b"x\n")
                answers.append(int((await worker.output.readline()).split()[0]))
            assert children() <= before, "leaving the launch has ended the process"
    assert answers[0] == begun
    assert answers[1] != begun


async def test_processes_that_nobody_asked_for_are_ended(tmp_path: Path) -> None:
    before = children()
    with pytest.raises(ZeroDivisionError):
        async with launched_early(child_processes(ECHO, tmp_path / "log"), 2):
            assert len(children() - before) == 2
            raise ZeroDivisionError  # as servers that do not come up
    assert children() <= before


async def test_a_launch_that_fails_ends_those_before_it(tmp_path: Path) -> None:
    before, start = children(), child_processes(ECHO, tmp_path / "log")

    def launch(number: int) -> AbstractAsyncContextManager[WorkerHandle]:
        return start(number) if number == 0 else child_processes(("/no/such/program",), tmp_path / "log")(number)

    with pytest.raises(FileNotFoundError):
        async with launched_early(launch, 2):
            raise AssertionError
    assert children() <= before
