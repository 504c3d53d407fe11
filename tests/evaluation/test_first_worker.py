"""The first worker process begins before its run is looked at, and is gone if the run is not played."""

import os
from pathlib import Path

import psutil
import pytest

from harness.evaluation import first_worker as module
from harness.evaluation.first_worker import first_worker
from harness.runner.process_tree import MARK, marks
from harness.settings.executor import ExecutorSettings

WAITS = ("-c", "import os\nwhile data := os.read(0, 99): os.write(1, data)")


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


@pytest.fixture(autouse=True)
def _waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLAYER", WAITS)
    monkeypatch.setitem(os.environ, MARK, "")


async def test_it_is_handed_out_first_and_carries_the_mark_of_the_run(tmp_path: Path) -> None:
    before = children()
    async with first_worker(ExecutorSettings(), tmp_path) as launch:
        (begun,) = children() - before
        assert launch is not None
        assert psutil.Process(begun).environ()[MARK] == marks(tmp_path, 0)[MARK]
        async with launch(0) as worker:
            worker.send(b"x\n")
            assert await worker.output.readline() == b"x\n"
            assert children() - before == {begun}
    assert children() <= before


async def test_a_run_that_is_refused_leaves_neither_a_process_nor_a_file(tmp_path: Path) -> None:
    before = children()
    with pytest.raises(ZeroDivisionError):
        async with first_worker(ExecutorSettings(), tmp_path):
            raise ZeroDivisionError
    assert children() <= before
    assert not (tmp_path / "worker.log").exists()


async def test_what_earlier_workers_have_said_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text("of an earlier start\n")
    async with first_worker(ExecutorSettings(), tmp_path):
        pass
    assert log.read_text() == "of an earlier start\n"


@pytest.mark.parametrize(
    "executor",
    [ExecutorSettings(kind="inline"), ExecutorSettings(_target_="mine.Executor")],
    ids=["inline", "of one's own"],
)
async def test_a_run_without_worker_processes_here_starts_none(executor: ExecutorSettings, tmp_path: Path) -> None:
    before = children()
    async with first_worker(executor, tmp_path) as launch:
        assert launch is None
        assert children() <= before
