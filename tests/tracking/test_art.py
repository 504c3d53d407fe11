"""ART's own reader on what we write: needs `openpipe-art`, duckdb and polars, so it has its own environment (`make
test-art`).
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.tracking.trajectory import Trajectory, TrajectoryGroup
from tests.tracking.rollouts import ASKED, answer, model, rollout, root

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # ART's import would fetch it

pytestmark = pytest.mark.filterwarnings("default")
CALLS = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "tea"}'}}]


@pytest.fixture(scope="module")
def art() -> Any:
    pytest.importorskip("art", reason="openpipe-art is not installed here: run `make test-art`")
    return pytest.importorskip("art.utils.trajectory_logging")


async def test_arts_reader_gives_back_what_was_logged(tmp_path: Path, art: Any) -> None:
    messages = [
        {"role": "system", "content": "You shop."},
        ASKED,
        {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": CALLS}},
        {"role": "tool", "content": "Green tea: $3", "tool_call_id": "c1"},
        answer("Thé\u2028vert"),
    ]
    first = Trajectory(
        messages_and_choices=messages,
        reward=0.7,
        metrics={"steps": 3, "found": True, "cost_usd": 0.25},
        metadata={"task_id": "7", "trial": 0, "cheap": None, "ok": False},
        logs=["began", "ended"],
    )
    groups = [
        TrajectoryGroup([first, rollout(0.1), ValueError("gone")], metadata={"task_id": "7"}, metrics={"spread": 0.6}),
        TrajectoryGroup([ValueError("nothing")], metadata={"task_id": "8"}),
        TrajectoryGroup([rollout(1.0)], logs=["third"]),
    ]
    await model(tmp_path).log(groups, "val", step=12)
    read = art.read_trajectory_groups_parquet(root(tmp_path) / "trajectories/val/0012.parquet")
    assert [len(group.trajectories) for group in read] == [2, 1]
    assert (read[0].metadata, read[0].metrics, read[1].logs) == ({"task_id": "7"}, {"spread": 0.6}, ["third"])
    back = read[0].trajectories[0]
    assert (back.reward, back.metrics, back.metadata, back.logs) == (
        first.reward,
        first.metrics,
        first.metadata,
        first.logs,
    )
    assert back.messages_and_choices == [
        messages[0],
        ASKED,
        {"role": "assistant", "content": None, "tool_calls": CALLS},
        messages[3],
        {"role": "assistant", "content": "Thé\u2028vert"},
    ]
    assert [trajectory.reward for trajectory in read[0].trajectories] == [0.7, 0.1]


async def test_art_sees_the_newest_of_a_step_and_only_that(tmp_path: Path, art: Any) -> None:
    from art.utils.benchmarking.load_trajectories import load_trajectories

    for reward in (0.25, 0.5, 0.75):
        await model(tmp_path).log([rollout(reward)], "val", step=12)
    folder = root(tmp_path) / "trajectories/val"
    (group,) = art.read_trajectory_groups_parquet(folder / "0012.parquet")
    assert [trajectory.reward for trajectory in group.trajectories] == [0.75]
    loaded = await load_trajectories("p", models=["m"], art_path=str(tmp_path))
    assert (loaded["step"].to_list(), loaded["reward"].to_list()) == ([12], [0.75])
    (first,) = art.read_trajectory_groups_parquet(folder / "0012.v1.parquet")
    assert first.trajectories[0].reward == 0.25, "an earlier one can still be read by name"


async def test_a_nan_is_logged_as_art_logs_it(tmp_path: Path, art: Any) -> None:
    import art as openpipe

    given = [
        openpipe.Trajectory(
            messages_and_choices=[ASKED], reward=float("nan"), metrics={"loss": float("nan"), "steps": 1}
        ),
        openpipe.Trajectory(messages_and_choices=[ASKED], reward=1.0),
    ]
    ours = await model(tmp_path / "ours").log(given, "train", step=3)
    theirs_model = openpipe.Model(name="m", project="p", base_path=str(tmp_path / "theirs"), report_metrics=[])
    await theirs_model.log(given, "train", step=3)
    theirs = json.loads((root(tmp_path / "theirs") / "history.jsonl").read_text())
    computed = {key for key in theirs if key.startswith("train/")}
    assert computed == {key for key in ours if key.startswith("train/")}
    assert {key: ours[key] for key in computed} == {key: theirs[key] for key in computed}
    read = [
        art.read_trajectory_groups_parquet(root(tmp_path / side) / "trajectories/train/0003.parquet")
        for side in ("ours", "theirs")
    ]
    assert repr([group.model_dump() for group in read[0]]) == repr([group.model_dump() for group in read[1]])


async def test_we_log_arts_objects_as_art_itself_does(tmp_path: Path, art: Any) -> None:
    import art as openpipe
    from openai.types.chat.chat_completion import Choice

    choice = {"finish_reason": "stop", "index": 0, "message": {"role": "assistant", "content": "Green."}}
    groups = [
        openpipe.TrajectoryGroup(
            [
                openpipe.Trajectory(messages_and_choices=[ASKED, Choice.model_validate(choice)], reward=0.5),
                openpipe.Trajectory(messages_and_choices=[ASKED], reward=1.0, metrics={"steps": 2}),
                ValueError("gone"),
            ],
            metadata={"scenario_id": "7"},
            metrics={"spread": 0.5},
        )
    ]
    ours = await model(tmp_path / "ours").log(groups, "val", step=3)
    theirs_model = openpipe.Model(name="m", project="p", base_path=str(tmp_path / "theirs"), report_metrics=[])
    await theirs_model.log(groups, "val", step=3)
    theirs = json.loads((root(tmp_path / "theirs") / "history.jsonl").read_text())
    computed = {key for key in theirs if key.startswith("val/")}
    assert {key: ours[key] for key in computed} == {key: theirs[key] for key in computed}
    read = [
        art.read_trajectory_groups_parquet(root(tmp_path / side) / "trajectories/val/0003.parquet")
        for side in ("ours", "theirs")
    ]
    assert [group.model_dump() for group in read[0]] == [group.model_dump() for group in read[1]]


async def test_polars_finds_our_best_step_as_arts_checkpoint_logic_does(tmp_path: Path, art: Any) -> None:
    import polars

    logging = model(tmp_path)
    for step, reward in ((1, 0.2), (2, 0.9), (2, 0.5), (3, 0.6), (4, 0.0)):
        await logging.log([rollout(reward)], step=step)
        await logging.log(metrics={"loss": 1.0}, split="train", step=step)
    best = (
        polars.read_ndjson(root(tmp_path) / "history.jsonl")
        .drop_nulls(subset=["val/reward"])
        .group_by("step")
        .mean()
        .sort("val/reward")
        .select(polars.col("step").last())
        .item()
    )
    assert best == logging.folder.history.best_step("val/reward") == 2
