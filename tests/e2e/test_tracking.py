"""Runs that are logged, and the loop back to training, killed on its way."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.e2e.conftest import PROJECT, Start, environment

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def test_a_run_is_logged_on_its_way_and_once_at_its_end(start: Callable[..., Start], tmp_path: Path) -> None:
    tracking = [
        "task=smoke",
        "task.ids=[0-1]",
        "workers=1",
        "executor.lanes=1",
        "tracking=art",
        "tracking.name=m",
        "tracking.every=1",
        "llm.step=2",
    ]
    begun = start(*tracking)
    assert begun.code == 0, begun.err
    folder = tmp_path / ".art/cairn/models/m"
    splits = [
        next(key.partition("/")[0] for key in row if key.endswith("/reward")) for row in rows(folder / "history.jsonl")
    ]
    assert splits[-1] == "val" and splits.count("val") == 1 and "val_partial" in splits
    logged = rows(folder / "history.jsonl")[-1]
    assert (logged["val/reward"], logged["step"]) == (1.0, 2)
    table = pq.read_table(folder / "trajectories/val/0002.parquet").to_pylist()
    assert [json.loads(row["metadata"])["task_id"] for row in table] == ["0", "1"]
    assert all(row["messages"][0]["role"] == "system" and row["messages"][-1]["trainable"] for row in table)
    assert start(*tracking).code == 0
    assert rows(folder / "history.jsonl")[-1] == logged, "nothing new, nothing logged"


def test_wrong_tracking_is_told_before_anything_is_played(start: Callable[..., Start]) -> None:
    refused = start("task=smoke", "tracking=art", "tracking.split=a/b")
    assert refused.code == 2 and "tracking.split='a/b' cannot be the name of a folder" in refused.err
    assert "tensorboard" in start("task=smoke", "tracking=art", "tracking.report_metrics=[tensorboard]").err


def test_expert_iteration_goes_on_after_any_kill(tmp_path: Path) -> None:
    work = tmp_path / "work"
    model, endpoint = work / "art/demo/models/student", work / "endpoint.json"
    command = [sys.executable, str(PROJECT / "docs/examples/expert_iteration.py"), "--work", str(work), "--tasks=2"]
    kills: list[Callable[[], bool]] = [
        lambda: len(list((work / "results/step-0").glob("*.traj.jsonl"))) >= random.randint(1, 2),
        lambda: endpoint.exists() and len(json.loads(endpoint.read_bytes())["jobs"]) >= 1,
        lambda: len(rows(model / "history.jsonl")) >= random.randint(3, 5),
    ]
    with (tmp_path / "out").open("ab") as out:
        for is_due in kills:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment(), cwd=PROJECT)
            deadline = time.monotonic() + 120
            while not is_due() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(random.uniform(0.0, 0.05))
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, env=environment(), cwd=PROJECT, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    jobs = [job["about"]["status"] for job in json.loads(endpoint.read_bytes())["jobs"].values()]
    assert jobs == ["succeeded", "succeeded"], "none was paid for twice"
    found = rows(model / "history.jsonl")
    assert sorted(row["step"] for row in found if "val/reward" in row) == [0, 1, 2]
    assert sorted(row["step"] for row in found if "train/reward" in row) == [0, 1]
    assert len(json.loads(endpoint.read_bytes())["models"]) == 2 - 1, (
        "only the latest and the best, here the base model"
    )
