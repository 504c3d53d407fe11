"""ART's own reader on what we write: needs `openpipe-art`, duckdb and polars, so it has its own environment (`make
test-art`).
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.plugins.tracking.trajectory import Trajectory, TrajectoryGroup
from tests.plugins.tracking.rollouts import ASKED, answer, model, rollout, root
from tests.plugins.tracking.training_loop import TIMES, StubBackend, chat_endpoint, own_client, train

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


def client_of_art(model: Any) -> Any:
    """ART 0.5.18 gives its own client a timeout of httpx, which openai 3 cannot use any more (it has httpx2)."""
    from openai import AsyncOpenAI

    return AsyncOpenAI(base_url=model.inference_base_url, api_key=model.inference_api_key)


def _rounded(row: dict[str, float]) -> dict[str, float]:
    """Sums depend on the order in which rollouts end (ART) or were given (ours) in their last digits."""
    return {key: round(value, 12) for key, value in row.items()}


async def test_a_training_script_of_arts_runs_with_the_import_changed(tmp_path: Path, art: Any) -> None:
    """The same script, once with each package: the same requests, checkpoints, metrics, totals and state."""
    import art as openpipe

    import harness.plugins.tracking.art as ours

    found = {}
    for side, package in (("theirs", openpipe), ("ours", ours)):
        async with chat_endpoint() as (url, received):
            backend = StubBackend(openpipe.TrainResult, url)
            model = await train(
                package, backend, tmp_path / side, client=client_of_art if side == "theirs" else own_client
            )
            state = model.read_state()
        totals = state["_metrics_builder_state"]
        totals["cum_state"] = _rounded(totals["cum_state"])
        totals["unique_scenario_ids"].sort()  # ART keeps a set
        lines = (root(tmp_path / side) / "history.jsonl").read_text().splitlines()
        history = [
            _rounded({key: value for key, value in json.loads(line).items() if key not in TIMES}) for line in lines
        ]
        asked = sorted(json.dumps(request, sort_keys=True) for request in received)
        options = [options for _, options in backend.trained]
        found[side] = [history, asked, backend.steps, options, state]
    assert found["ours"] == found["theirs"]
    history = found["ours"][0]
    assert history[-2]["costs/cum/all"] == pytest.approx(3 * 0.3 + 2 * 0.02)
    assert history[-1]["data/cum/num_unique_scenarios"] == 3


async def test_arts_own_back_ends_train_our_models(tmp_path: Path, art: Any) -> None:
    import art as openpipe
    from art.types import Choice

    from harness.plugins.tracking.art import TrainableModel, TrainConfig
    from harness.plugins.tracking.backends.art_backend import ArtBackend

    theirs = StubBackend(openpipe.LocalTrainResult, "http://127.0.0.1:1/v1")
    learner = TrainableModel(name="m", project="p", base_model="base", base_path=tmp_path, report_metrics=[])
    await learner.register(ArtBackend(theirs))
    pages = [ASKED, answer("first"), {"role": "user", "content": "page 2"}, answer("second")]
    pages += [{"role": "user", "content": "go on"}, answer("third")]
    seen = [(0,), (2,), (2, 3, 4)]
    shown = Trajectory(messages_and_choices=pages, reward=1.0, metadata={"task_id": "7"}, seen=seen)
    group = TrajectoryGroup([shown, rollout(0.0), ValueError("gone")], metadata={"scenario_id": "7"})
    result = await learner.train([group], TrainConfig(learning_rate=1e-5), kl_penalty_coef=0.1)
    assert (result.step, await learner.get_step(), learner.get_inference_name()) == (1, 1, "m@1")
    ((given,), options) = theirs.trained[0]
    assert options == {"learning_rate": 1e-5, "kl_penalty_coef": 0.1}
    assert isinstance(given, openpipe.TrajectoryGroup)
    assert (given.metadata, [one.message for one in given.exceptions]) == ({"scenario_id": "7"}, ["gone"])
    first, whole = given.trajectories
    assert [first.reward, whole.reward] == [1.0, 0.0]
    conversations = [first.messages_and_choices, *(one.messages_and_choices for one in first.additional_histories)]
    texts = [
        [item.message.content if isinstance(item, Choice) else item["content"] for item in each]
        for each in conversations
    ]
    assert texts == [["Which tea?", "first"], ["page 2", "second"], ["page 2", "second", "go on", "third"]]
    choices = [[isinstance(item, Choice) for item in each] for each in conversations]
    assert choices == [[False, True], [False, True], [False, False, False, True]], "each answer is trained once"
    assert (root(tmp_path) / "trajectories/train/0000.parquet").exists()
