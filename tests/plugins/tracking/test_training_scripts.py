"""What training scripts use besides `log`: totals, state, rollouts at the same time, and options of back ends."""

import asyncio
import gc
import json
import multiprocessing
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat.chat_completion import Choice

from harness.errors import TrackingError
from harness.plugins.tracking import art
from harness.plugins.tracking.backends.command import CommandBackend
from harness.plugins.tracking.trajectory import Trajectory, TrajectoryGroup
from tests.plugins.tracking.rollouts import ASKED, answer, history, model, rollout, root
from tests.plugins.tracking.training_loop import StubBackend, chat_endpoint, train

pytestmark = pytest.mark.integration


async def test_a_training_script_writes_totals_and_state(tmp_path: Path) -> None:
    async with chat_endpoint() as (url, received):
        made = await train(art, StubBackend(art.TrainResult, url), tmp_path)
    assert len(received) == 3 * (5 + 2)
    last = history(tmp_path)[-2]
    assert last["costs/all"] == pytest.approx(0.25 + 5 * 0.01)
    assert last["costs/cum/train/judge"] == pytest.approx(0.01 * (3 * 5 + 2 * 2))
    assert (last["data/cum/trainer_tokens"], last["throughput/avg_trainer_tok_per_s"]) == (900.0, 150.0)
    assert made.read_state()["dataset"] == {"offset": 2, "seen-0": True, "seen-1": True, "seen-2": True}


async def test_totals_go_on_in_another_process_and_do_not_count_twice(tmp_path: Path) -> None:
    groups = [TrajectoryGroup([rollout(1.0), rollout(0.0)], metadata={"scenario_id": "a"})]
    costs = {"costs/train/judge": 0.5, "time/step_trainer_s": 2.0}
    for _ in range(3):
        await model(tmp_path).log(groups, "train", step=1, metrics=costs, on_repeat="once")
    await model(tmp_path).log(groups, "train", step=2, metrics=costs)
    others = [TrajectoryGroup([rollout(1.0)], metadata={"scenario_id": "b"})]
    await model(tmp_path).log(others, "val_partial", step=2, metrics=costs)
    rows = history(tmp_path)
    assert [row.get("costs/cum/all") for row in rows] == [0.5, 1.0, None]
    assert [row.get("data/cum/num_trajectories") for row in rows] == [2.0, 4.0, None]
    assert [row.get("data/cum/num_unique_scenarios") for row in rows] == [1.0, 1.0, None]
    state = model(tmp_path).read_state()
    assert state is not None and state["_metrics_builder_state"]["unique_scenario_ids"] == ["a"]
    (root(tmp_path) / "state.json").unlink()
    await model(tmp_path).log(metrics={"costs/gpu": 1.0}, split="train", step=3)
    row = history(tmp_path)[-1]
    assert (row["costs/cum/all"], row["costs/cum/gpu"], row["costs/all"]) == (2.0, 1.0, 1.0)


async def test_a_row_that_a_killed_process_did_not_append_is_completed_with_its_totals(tmp_path: Path) -> None:
    groups = [TrajectoryGroup([rollout(1.0)], metadata={"scenario_id": "a"})]
    await model(tmp_path).log(groups, "train", step=1, metrics={"costs/gpu": 0.5})
    path = root(tmp_path) / "history.jsonl"
    written = path.read_bytes()
    path.write_bytes(b"")
    await model(tmp_path).log(groups, "train", step=1, metrics={"costs/gpu": 0.5}, on_repeat="once")
    assert path.read_bytes() == written
    assert history(tmp_path)[0]["costs/cum/all"] == 0.5


@pytest.mark.parametrize("metrics", [{"costs/cum/all": 1.0}, {"data/cum/x": 1.0}, {"costs/a": 1.0, "costs/a/b": 1.0}])
async def test_names_of_totals_are_refused(tmp_path: Path, metrics: dict[str, float]) -> None:
    with pytest.raises(TrackingError, match="metrics: "):
        await model(tmp_path).log(metrics=metrics, split="train")
    assert not (root(tmp_path) / "history.jsonl").exists()


async def test_the_state_is_kept_beside_the_totals(tmp_path: Path) -> None:
    one = model(tmp_path)
    assert one.read_state() is None
    one.overwrite_state({"step": 1, "data": {"offset": 3, "left": [1]}})
    await one.log(metrics={"costs/gpu": 0.5}, split="train")
    merged = one.merge_state({"data": {"offset": 4}, "more": None})
    assert {key: merged[key] for key in ("step", "data", "more")} == {
        "step": 1,
        "data": {"offset": 4, "left": [1]},
        "more": None,
    }
    one.overwrite_state({"step": 2})
    assert set(one.read_state() or ()) == {"step", "_metrics_builder_state"}
    (root(tmp_path) / "state.json").write_text("[")
    with pytest.raises(TrackingError, match=r"state\.json is not JSON"):
        one.read_state()


def _merge(folder: Path, name: str) -> None:
    for number in range(20):
        model(folder).merge_state({"seen": {f"{name}-{number}": True}})


@pytest.mark.slow
def test_processes_that_merge_state_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_merge, args=(tmp_path, name)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert len((model(tmp_path).read_state() or {})["seen"]) == 40


async def _one(reward: float, started: list[float] | None = None, error: BaseException | None = None) -> Trajectory:
    if started is not None:
        started.append(reward)
    await asyncio.sleep(0)
    if error is not None:
        raise error
    return rollout(reward)


async def test_rollouts_run_at_the_same_time_and_keep_their_order() -> None:
    begun: list[float] = []
    release = asyncio.Event()

    async def waiting(reward: float) -> Trajectory:
        begun.append(reward)
        if len(begun) == 3:
            release.set()
        await release.wait()
        return rollout(reward)

    (group,) = await art.gather_trajectory_groups([art.TrajectoryGroup(waiting(one) for one in (0.1, 0.2, 0.3))])
    assert [one.reward for one in group] == [0.1, 0.2, 0.3]
    assert await group is group, "what has been awaited can be awaited again"


@pytest.mark.parametrize(("most", "fails"), [(0, True), (1, True), (2, False), (0.5, False), (0.4, True)])
async def test_so_many_rollouts_may_fail(most: float, fails: bool) -> None:
    groups = [
        art.TrajectoryGroup([_one(1.0), _one(0.0, error=ValueError("first"))]),
        art.TrajectoryGroup([_one(0.5), _one(0.0, error=ValueError("second"))]),
    ]
    if fails:
        with pytest.raises(ValueError, match=r"first|second"):
            await art.gather_trajectory_groups(groups, pbar_desc=None, max_exceptions=most)
        return
    found = await art.gather_trajectory_groups(groups, pbar_desc=None, max_exceptions=most)
    assert [[error.message for error in group.exceptions] for group in found] == [["first"], ["second"]]


@pytest.mark.parametrize(("most", "given"), [(0.29, 100), (0.57, 100), (0.58, 50), (0.58, 100), (0.29, 200)])
async def test_a_share_of_failures_is_not_lost_to_rounding(most: float, given: int) -> None:
    allowed = round(most * given)
    rollouts = [_one(0.0, error=ValueError("no page") if number < allowed else None) for number in range(given)]
    found = await art.gather_trajectories(rollouts, pbar_desc=None, max_exceptions=most)
    assert sum(isinstance(one, ValueError) for one in found) == allowed


async def test_rollouts_that_fail_at_once_leave_nothing_for_the_loop_to_report() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    groups = [art.TrajectoryGroup([_one(0.0, error=ValueError("no page")) for _ in range(2)]) for _ in range(2)]
    with pytest.raises(ValueError, match="no page"):
        await art.gather_trajectory_groups(groups, pbar_desc=None)
    gc.collect()
    assert reported == []


async def test_the_others_are_cancelled_when_too_many_failed() -> None:
    stopped = asyncio.Event()

    async def endless() -> Trajectory:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    with pytest.raises(ValueError, match="no page"):
        await art.TrajectoryGroup([endless(), _one(0.0, error=ValueError("no page"))])
    assert stopped.is_set()


async def test_after_each_replaces_a_group() -> None:
    async def judged(group: TrajectoryGroup) -> TrajectoryGroup | list[TrajectoryGroup] | None:
        rewards = [one.reward for one in group]
        return None if rewards == [0.0] else [group, TrajectoryGroup([rollout(9.0)])]

    groups: list[Awaitable[TrajectoryGroup]] = [art.TrajectoryGroup([_one(reward)]) for reward in (0.0, 1.0)]
    found = await art.gather_trajectory_groups(groups, pbar_desc=None, after_each=judged)
    assert [[one.reward for one in group] for group in found] == [[1.0], [9.0]]


async def _group() -> TrajectoryGroup:
    return TrajectoryGroup([rollout(1.0)])


async def test_what_after_each_raises_is_no_failure_of_a_rollout() -> None:
    async def judged(_: TrajectoryGroup) -> TrajectoryGroup:
        raise RuntimeError("the judge is down")

    given: list[Awaitable[TrajectoryGroup]] = [_group(), art.TrajectoryGroup(_one(1.0) for _ in range(4))]
    for group in given:
        with pytest.raises(RuntimeError, match="the judge is down"):
            await art.gather_trajectory_groups([group], pbar_desc=None, max_exceptions=9, after_each=judged)


async def test_a_group_that_cannot_be_made_counts_as_a_failure() -> None:
    async def broken() -> TrajectoryGroup:
        raise ValueError("no page")

    found = await art.gather_trajectory_groups([broken(), _group()], pbar_desc=None, max_exceptions=1)
    assert [[one.reward for one in group] for group in found] == [[1.0]]
    with pytest.raises(ValueError, match="no page"):
        await art.gather_trajectory_groups([broken(), _group()], pbar_desc=None)


async def test_trajectories_alone_can_be_gathered() -> None:
    async def two() -> list[Trajectory]:
        return [rollout(0.1), rollout(0.2)]

    found = await art.gather_trajectories([_one(1.0), two(), _one(0, error=ValueError("x"))], max_exceptions=1)
    assert found[0].reward == 1.0
    assert [one.reward for one in found[1]] == [0.1, 0.2]
    assert str(found[2]) == "x"


async def test_a_group_that_was_not_awaited_is_not_logged(tmp_path: Path) -> None:
    group = art.TrajectoryGroup([_one(1.0)])
    with pytest.raises(TrackingError, match="await the group first"):
        await model(tmp_path).log([group])
    assert len(await group) == 1


def test_messages_are_ready_to_be_sent() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    spoken = {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    wordy = {"role": "assistant", "content": "Green.", "tool_calls": [], "annotations": [], "reasoning_content": "hm"}
    choice = Choice.model_validate({"finish_reason": "stop", "index": 0, "message": wordy})
    calling = Choice.model_validate({**spoken, "index": 0})
    dumped = {"finish_reason": "stop", "message": wordy}
    given = Trajectory(messages_and_choices=[ASKED, spoken, answer(), choice, dumped, calling])
    assert given.messages() == [
        ASKED,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        *[{"role": "assistant", "content": "Green."}] * 3,
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    assert json.dumps(given.finish().metrics).startswith('{"duration": ')


async def test_options_reach_the_command_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    script = "import sys, pathlib; pathlib.Path(sys.argv[1], 'rate').write_text(sys.argv[2])"
    backend = CommandBackend(
        f'python -c "{script}" {{checkpoint_dir}} {{learning_rate}}',
        base_url="http://127.0.0.1:1/v1",
        options={"learning_rate": 1e-5},
    )
    learner = art.TrainableModel(name="m", project="p", base_model="b", base_path=tmp_path, report_metrics=[])
    await learner.register(backend)
    groups = [TrajectoryGroup([rollout(1.0)])]
    with pytest.raises(TrackingError, match=r"CommandBackend\.train takes learning_rate, not kl_penalty_coef"):
        await learner.train(groups, art.TrainConfig(kl_penalty_coef=0.1))
    await learner.train(groups)
    await learner.train(groups, art.TrainConfig(learning_rate=2e-5))
    await learner.train(groups, {"learning_rate": 2e-5}, learning_rate=3e-5)
    rates = [(root(tmp_path) / f"checkpoints/{step:04d}/rate").read_text() for step in (1, 2, 3)]
    assert rates == ["1e-05", "2e-05", "3e-05"]
    with pytest.raises(TrackingError, match="config is a int"):
        await learner.train(groups, 7)


async def test_a_client_needs_an_address(tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match="no address or key"):
        model(tmp_path).openai_client()
    one: Any = art.Model(
        name="m", project="p", base_path=tmp_path, inference_base_url="http://127.0.0.1:1/v1", inference_api_key="key"
    )
    client = one.openai_client()
    assert client is one.openai_client()
    assert str(client.base_url) == "http://127.0.0.1:1/v1/"
    await one.close()
    assert client.is_closed()
