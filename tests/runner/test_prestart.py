"""The first worker begins before its run is known, and is the run's like any other afterwards."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from harness.errors import ExitCode
from harness.runner.executors import prestart as module
from harness.runner.executors.local_workers import prestarted_worker
from harness.runner.executors.prestart import prestart, take
from harness.runner.process_tree import MARK, UNMARKED, find_orphans, marks
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not module._can_mark(), reason="no process can write its environment here")

PROJECT = Path(__file__).resolve().parents[2]
WORKER = """
import os, sys
from harness.runner.executors.prestart import be_introduced
told = open(0, "rb", buffering=0)
if be_introduced(told):
    print("of", os.environ["CAIRN_RUN"], file=sys.stderr, flush=True)
    while data := told.readline(): os.write(1, data)
"""
STARTER = """
import sys
from harness.runner.executors import prestart
prestart.prestart(["task=smoke"])
print(prestart._waiting[0].pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "PLAYER", ("-c", WORKER))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    yield
    module._end()


async def test_it_becomes_a_worker_of_the_run_that_takes_it(tmp_path: Path) -> None:
    prestart(["task=smoke", "llm.model=x"])
    (process,) = module._waiting
    wait_until(lambda: psutil.Process(process.pid).environ().get(MARK) == UNMARKED)  # empty while it begins
    assert take() is process
    assert take() is None
    log = tmp_path / "worker.log"
    async with prestarted_worker(process, tmp_path, log) as worker:
        worker.send(b"x\n")
        assert await worker.output.readline() == b"x\n"
        # The next start finds it, should this one be killed.
        assert [one.pid for one in find_orphans(tmp_path)] == [process.pid]
        assert log.read_text() == f"of {marks(tmp_path, 0)[MARK]}\n"
        await worker.kill()
        assert await worker.output.read() == b""
        worker.send(b"lost")
    assert process.poll() is not None


async def test_one_that_has_died_is_not_taken(tmp_path: Path) -> None:
    prestart(["task=smoke"])
    (process,) = module._waiting
    process.kill()
    process.wait()
    assert take() is None


async def test_one_that_dies_as_it_is_taken_is_seen_to_have_ended(tmp_path: Path) -> None:
    prestart(["task=smoke"])
    process = take()
    assert process is not None
    process.kill()
    process.wait()
    async with prestarted_worker(process, tmp_path, tmp_path / "worker.log") as worker:
        assert await worker.output.read() == b""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-m", "seed=1,2"], ["executor=inline"], ["+executor.lanes=2"], ["run.dry=true"]]
)
def test_a_start_that_may_need_none_starts_none(arguments: list[str]) -> None:
    prestart(arguments)
    assert not module._waiting


def test_a_machine_with_one_core_starts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    prestart(["task=smoke"])
    assert not module._waiting


def test_a_machine_that_has_no_room_for_one_starts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    prestart(["task=smoke"])
    assert not module._waiting


@pytest.mark.integration
def test_it_ends_with_its_starter() -> None:
    begun = subprocess.Popen(
        [sys.executable, "-c", STARTER], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert begun.stdout is not None
    assert begun.stdin is not None
    worker = psutil.Process(int(begun.stdout.readline()))
    os.kill(begun.pid, signal.SIGKILL)
    begun.wait()
    with begun.stdin, begun.stdout:
        worker.wait(timeout=60)


@pytest.mark.integration
def test_a_refused_start_leaves_no_process(tmp_path: Path) -> None:
    mark = {"CAIRN_TEST": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "run.py", "task=smoke", "task.limit=0", f"run.root={tmp_path}"],
        cwd=PROJECT,
        env=os.environ | mark,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert _marked(mark) == []


@pytest.mark.integration
def test_a_start_that_is_interrupted_while_it_imports_shows_no_traceback_and_leaves_no_process(tmp_path: Path) -> None:
    mark = {"CAIRN_TEST": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "run.py", "task=smoke", f"run.root={tmp_path}"],
        cwd=PROJECT,
        env=os.environ | mark,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored by what a script runs beside it
    ) as start:
        assert start.stdout is not None
        wait_until(lambda: bool(psutil.Process(start.pid).children()))
        start.send_signal(signal.SIGINT)
        assert b"Traceback" not in start.stdout.read()
    assert start.returncode in (-signal.SIGINT, ExitCode.INTERRUPTED)  # by itself, or if it composes already
    wait_until(lambda: _marked(mark) == [])


def _marked(mark: dict[str, str]) -> list[int]:
    return [one.pid for one in psutil.process_iter() if one.pid != os.getpid() and _has(one, mark)]


def _has(process: psutil.Process, mark: dict[str, str]) -> bool:
    try:
        return mark.items() <= process.environ().items()
    except psutil.Error:
        return False
