"""Trajectories to log, and where they went."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from harness.plugins.tracking.model import Model
from harness.plugins.tracking.trajectory import Trajectory

ASKED = {"role": "user", "content": "Which tea?"}


def answer(text: str = "Green.") -> dict[str, Any]:
    return {"finish_reason": "stop", "index": 0, "message": {"role": "assistant", "content": text}}


def rollout(reward: float = 1.0, **further: Any) -> Trajectory:
    return Trajectory(messages_and_choices=[ASKED, answer()], reward=reward, **further)


def model(folder: Path, **further: Any) -> Model:
    return Model(name="m", project="p", base_path=folder, report_metrics=further.pop("report_metrics", []), **further)


def root(folder: Path) -> Path:
    return folder / "p" / "models" / "m"


def rows(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]


def history(folder: Path) -> list[dict[str, Any]]:
    def refuse(token: str) -> Any:
        raise AssertionError(f"{token} is not strict JSON")

    lines = (root(folder) / "history.jsonl").read_bytes().split(b"\n")
    assert lines.pop() == b""
    return [json.loads(line, parse_constant=refuse) for line in lines]
