"""Several processes log to one model, and one of them is killed."""

import asyncio
import fcntl
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.api import JsonObject
from tests.plugins.tracking.rollouts import history, model, rollout, root, rows

pytestmark = pytest.mark.integration

PROGRAM = """
import asyncio, sys
from harness.plugins.tracking.model import Model
from tests.plugins.tracking.rollouts import rollout

async def main(folder, number, calls):
    model = Model(name="m", project="p", base_path=folder, report_metrics=[])
    for call in range(calls):
        row = await model.log([rollout(call / calls)], f"w{number}" if call % 2 else "shared", step=call, metrics={
            "id": number * 1000 + call})
        print(number * 1000 + call, flush=True)

asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""
CALLS = 200


@pytest.mark.slow
def test_four_processes_lose_no_acknowledged_row_though_one_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    project = Path(__file__).resolve().parents[3]
    processes = [
        subprocess.Popen([*command, str(number), str(CALLS)], stdout=subprocess.PIPE, text=True, cwd=project)
        for number in range(4)
    ]
    victim = processes[3]
    assert victim.stdout is not None
    killed_at = random.randrange(20, CALLS - 20)
    acknowledged = [int(victim.stdout.readline()) for _ in range(killed_at)]
    os.kill(victim.pid, signal.SIGKILL)
    for process in processes:
        out, _ = process.communicate(timeout=1200)
        acknowledged += [int(line) for line in out.splitlines() if line.strip()]
    assert [process.returncode for process in processes] == [0, 0, 0, -signal.SIGKILL]

    found = history(tmp_path)
    ids = [int(value) for row in found for key, value in row.items() if key.endswith("/id")]
    assert len(ids) == len(set(ids)) == len(found)
    assert set(acknowledged) <= set(ids), f"killed after {killed_at} calls"
    assert len(acknowledged) >= 3 * CALLS + killed_at
    files = list((root(tmp_path) / "trajectories").rglob("*.parquet"))
    assert len(files) >= len(found) and all(len(rows(path)) == 1 for path in files)
    assert not [path for path in (root(tmp_path) / "trajectories").rglob("*") if path.is_file() and path not in files]
    assert len(list((root(tmp_path) / ".staging").iterdir())) <= 1, "only the victim's unfinished file"


@pytest.mark.slow
def test_an_unfinished_file_of_a_dead_writer_is_removed_by_the_next(tmp_path: Path) -> None:
    staging = root(tmp_path) / ".staging"
    staging.mkdir(parents=True)
    (staging / "1-1.parquet").write_bytes(b"PAR1 half")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), "0", "1"]
    subprocess.run(command, check=True, cwd=Path(__file__).resolve().parents[3], capture_output=True)
    assert not list(staging.iterdir())
    assert json.loads((root(tmp_path) / "history.jsonl").read_bytes())["step"] == 0


def test_a_file_whose_writer_was_killed_before_its_row_was_written_gets_it_with_the_next(tmp_path: Path) -> None:
    program = (
        "import asyncio, os, sys\n"
        "from harness.plugins.tracking.history import History\n"
        "from tests.plugins.tracking.rollouts import model, rollout\n"
        "History.append = lambda *_: os.kill(os.getpid(), 9)\n"
        "asyncio.run(model(sys.argv[1]).log([rollout(0.5)], 'train', step=1, metrics={'costs/gpu': 1.0}))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    killed = subprocess.run(command, cwd=Path(__file__).resolve().parents[3], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    for step in (2, 3):
        asyncio.run(model(tmp_path).log([rollout(1.0)], "train", step=step, metrics={"costs/gpu": 1.0}))
    found = [(row["step"], row["train/reward"], row["costs/cum/gpu"]) for row in history(tmp_path)]
    assert found == [(1, 0.5, 1.0), (2, 1.0, 2.0), (3, 1.0, 3.0)]
    assert not list((root(tmp_path) / ".staging").iterdir())


def test_a_process_that_is_forked_while_a_model_is_locked_does_not_keep_the_lock(tmp_path: Path) -> None:
    forking = multiprocessing.get_context("fork")
    ended = forking.Event()
    child = forking.Process(target=ended.wait)

    def fork(state: JsonObject) -> JsonObject:
        child.start()
        return state

    try:
        model(tmp_path).folder.change_state(fork)
        with (root(tmp_path) / ".lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError = the child has it
    finally:
        ended.set()
        child.join()
