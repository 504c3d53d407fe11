"""One log call: what it computes, what it writes, what it refuses."""

import asyncio
import errno
import json
import math
import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.api import Tokens
from harness.errors import TrackingError
from harness.plugins.tracking.group_reader import read_groups
from harness.plugins.tracking.history import History
from harness.plugins.tracking.model import Model
from harness.plugins.tracking.sft_samples import samples
from harness.plugins.tracking.trajectory import TrajectoryGroup
from tests.plugins.tracking.rollouts import answer, history, model, rollout, root, rows


async def test_a_call_writes_arts_files_under_arts_names(tmp_path: Path) -> None:
    logged = await model(tmp_path).log([rollout(0.4), rollout(1.0)], "train", step=42)
    assert [row["reward"] for row in rows(root(tmp_path) / "trajectories" / "train" / "0042.parquet")] == [0.4, 1.0]
    assert history(tmp_path) == [logged]
    assert logged["train/reward"] == (0.4 + 1.0) / 2
    assert logged["train/exception_rate"] == 0.0
    assert (logged["step"], logged["training_step"]) == (42, 42)
    assert logged["recorded_at"].endswith("+00:00")


async def test_a_mean_is_over_all_trajectories_and_the_deviation_within_groups(tmp_path: Path) -> None:
    groups = [
        TrajectoryGroup([rollout(0.0), rollout(1.0)], metrics={"progress": 0.5}),
        TrajectoryGroup([rollout(1.0)], metrics={"progress": 0.0}),
        TrajectoryGroup([], metrics={"progress": 9.0}),
    ]
    logged = await model(tmp_path).log(groups)
    assert logged["val/reward"] == 2 / 3
    assert logged["val/reward_std_dev"] == 0.5
    assert logged["val/group_progress"] == 0.25


async def test_exceptions_count_and_are_kept(tmp_path: Path) -> None:
    logged = await model(tmp_path).log([rollout(), ValueError("no page"), rollout()])
    assert logged["val/exception_rate"] == 1 / 3
    kept = [row for row in rows(root(tmp_path) / "trajectories/val/0000.parquet") if row["reward"] is None]
    assert [(row["messages"], row["exception_type"], row["exception_message"]) for row in kept] == [
        (None, "ValueError", "no page")
    ]
    alone = await model(tmp_path).log([ValueError("x")], "test")
    assert alone["test/exception_rate"] == 1.0
    assert "test/reward" not in alone


async def test_a_custom_metric_is_averaged_over_those_that_have_it_and_costs_add_up(tmp_path: Path) -> None:
    given = [
        rollout(metrics={"found": True, "costs/judge": 0.25}),
        rollout(metrics={"found": False, "costs/judge": 0.5}),
        rollout(),
    ]
    logged = await model(tmp_path).log(given)
    assert logged["val/found"] == 0.5
    assert logged["costs/judge"] == 0.75
    assert all(isinstance(value, float) for key, value in logged.items() if "/" in key)


async def test_costs_of_a_group_count_also_where_all_its_rollouts_failed(tmp_path: Path) -> None:
    groups = [
        TrajectoryGroup([ValueError("no page")], metrics={"costs/train/judge": 0.5, "progress": 9.0}),
        TrajectoryGroup([rollout()], metrics={"costs/train/judge": 0.25, "progress": 1.0}),
    ]
    logged = await model(tmp_path).log(groups, "train")
    assert (logged["costs/all"], logged["costs/cum/all"]) == (0.75, 0.75)
    assert logged["train/group_progress"] == 1.0


async def test_further_costs_add_to_those_of_the_trajectories(tmp_path: Path) -> None:
    given = [rollout(metrics={"costs/train/judge": 0.25, "data/step_num_scenarios": 2, "found": 1.0})]
    metrics = {"costs/train/judge": 0.5, "data/step_num_scenarios": 5.0, "data/step_num_groups_trainable": 3.0}
    logged = await model(tmp_path).log(given, "train", metrics={**metrics, "found": 0.0})
    assert (logged["costs/train/judge"], logged["costs/cum/train/judge"]) == (0.75, 0.75)
    assert logged["data/step_num_scenarios"] == 5.0 + 2.0, "a given size replaces what was counted, and nothing else"
    assert (logged["data/step_num_groups_trainable"], logged["data/step_num_trajectories"]) == (3.0, 1.0)
    assert logged["train/found"] == 0.0


async def test_generators_lose_nothing(tmp_path: Path) -> None:
    of_trajectories = await model(tmp_path).log((rollout(reward) for reward in (0.0, 0.5, 1.0)), step=1)
    of_groups = await model(tmp_path).log((TrajectoryGroup([rollout(reward)]) for reward in (0.0, 1.0)), step=2)
    assert (of_trajectories["val/reward"], of_groups["val/reward"]) == (0.5, 0.5)
    assert [row["group_index"] for row in rows(root(tmp_path) / "trajectories/val/0002.parquet")] == [0, 1]


async def test_metrics_alone_are_a_row_and_nothing_at_all_is_none(tmp_path: Path) -> None:
    assert await model(tmp_path).log(metrics={"loss": 1}, split="train", step=3) == history(tmp_path)[0]
    assert history(tmp_path)[0]["train/loss"] == 1.0
    assert await model(tmp_path).log() == {}
    assert len(history(tmp_path)) == 1


async def test_metrics_of_a_section_keep_their_name(tmp_path: Path) -> None:
    logged = await model(tmp_path).log(metrics={"loss/policy": 0.1, "own/x": 2.0, "train/lr": 3.0})
    assert {"loss/policy", "val/own/x", "train/lr"} <= logged.keys()
    assert "other/loss/policy" in await model(tmp_path).log(metrics={"loss/policy": 0.1}, split="other")


async def test_an_empty_batch_is_an_empty_file(tmp_path: Path) -> None:
    logged = await model(tmp_path).log([])
    assert rows(root(tmp_path) / "trajectories/val/0000.parquet") == []
    assert logged["val/reward_std_dev"] == 0.0
    assert "val/reward" not in logged


async def test_a_repeated_step_is_kept_beside_the_first(tmp_path: Path) -> None:
    for reward in (0.0, 0.5, 1.0):
        await model(tmp_path).log([rollout(reward)])
    files = model(tmp_path).folder.trajectories("val", 0)
    assert [path.name for path in files] == ["0000.v1.parquet", "0000.v2.parquet", "0000.parquet"]
    assert [rows(path)[0]["reward"] for path in files] == [0.0, 0.5, 1.0]
    assert len(history(tmp_path)) == 3


async def test_a_repeated_step_can_be_refused_replaced_or_logged_once(tmp_path: Path) -> None:
    logging = model(tmp_path)
    first = await logging.log([rollout(0.5)], on_repeat="once")
    assert await logging.log([rollout(0.5)], on_repeat="once") == first
    assert history(tmp_path) == [first]
    with pytest.raises(TrackingError, match="step 0 of split 'val' was already logged"):
        await logging.log([rollout(0.1)], on_repeat="refuse")
    await logging.log([rollout(0.1)], on_repeat="once")
    await logging.log([rollout(0.2)], on_repeat="replace")
    assert [rows(path)[0]["reward"] for path in logging.folder.trajectories("val", 0)] == [0.5, 0.2]


async def test_who_is_killed_between_the_two_names_of_a_file_has_logged_nothing_twice(tmp_path: Path) -> None:
    logging = model(tmp_path)
    await logging.log([rollout(0.0)])
    folder = root(tmp_path) / "trajectories/val"
    os.link(folder / "0000.parquet", folder / "0000.v1.parquet")  # as if killed before the new file took its place
    assert [path.name for path in logging.folder.trajectories("val", 0)] == ["0000.parquet"]
    await logging.log([rollout(0.5)])
    assert [path.name for path in logging.folder.trajectories("val", 0)] == ["0000.v1.parquet", "0000.parquet"]
    assert [rows(path)[0]["reward"] for path in logging.folder.trajectories("val", 0)] == [0.0, 0.5]


async def test_a_file_system_without_links_keeps_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    for reward in (0.0, 0.5, 1.0):
        await model(tmp_path).log([rollout(reward)])
    files = model(tmp_path).folder.trajectories("val", 0)
    assert [rows(path)[0]["reward"] for path in files] == [0.0, 0.5, 1.0]
    assert not list((root(tmp_path) / ".staging").iterdir())


async def test_a_reward_that_is_no_number_is_kept_and_warned_of(tmp_path: Path, caplog: Any) -> None:
    given = [rollout(0.5, metrics={"steps": 2.0}), rollout(math.nan, metrics={"loss": math.inf})]
    row = await model(tmp_path).log(given, step=3)
    path = root(tmp_path) / "trajectories/val/0003.parquet"
    assert [str(one["reward"]) for one in rows(path)] == ["0.5", "nan"]
    assert json.loads(rows(path)[1]["metrics"]) == {"loss": math.inf}
    (group,) = read_groups(path)
    assert group.trajectories[1].metrics == {"loss": math.inf}
    assert history(tmp_path) == [row] and row["val/steps"] == 2.0
    assert not {"val/reward", "val/reward_std_dev", "val/loss"} & row.keys()
    (warned,) = caplog.messages
    assert "step 3 of split 'val'" in warned and "2, the first: trajectory 1 (group 0): reward is nan" in warned
    assert "not in history.jsonl: val/reward (nan), val/loss (inf)" in warned


async def test_a_loss_that_is_no_number_ends_no_training_step(tmp_path: Path, caplog: Any) -> None:
    row = await model(tmp_path).log(metrics={"loss": math.nan, "lr": 0.1}, split="train", step=1)
    assert row["train/lr"] == 0.1 and "train/loss" not in row and history(tmp_path) == [row]
    assert "not in history.jsonl: train/loss (nan)" in caplog.text


async def test_sinks_are_told_what_the_history_cannot_hold(tmp_path: Path) -> None:
    heard: list[dict[str, float]] = []
    sink = SimpleNamespace(start=lambda _: None, log=lambda row, _: heard.append(dict(row)), close=lambda: None)
    await model(tmp_path, report_metrics=[sink]).log([rollout(math.nan)])
    assert math.isnan(heard[0]["val/reward"])


async def test_the_strict_way_is_that_of_the_model_or_of_the_call(tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match="reward is nan: give a finite number"):
        await model(tmp_path, strict=True).log([rollout(math.nan)])
    await model(tmp_path, strict=True).log([rollout(math.nan)], strict=False)
    with pytest.raises(TrackingError, match="reward is nan"):
        await model(tmp_path).log([rollout(math.nan)], strict=True)
    assert len(history(tmp_path)) == 1


async def test_a_file_that_cannot_be_read_is_not_the_same_and_stays(tmp_path: Path) -> None:
    split = root(tmp_path) / "trajectories/val"
    split.mkdir(parents=True)
    (split / "0000.parquet").write_bytes(b"PAR1 half")
    await model(tmp_path).log([rollout(1.0)], on_repeat="once")
    assert (split / "0000.v1.parquet").read_bytes() == b"PAR1 half"
    assert [row["reward"] for row in rows(split / "0000.parquet")] == [1.0]


async def test_a_nan_is_the_same_as_itself_when_a_call_is_repeated(tmp_path: Path) -> None:
    tokens = [Tokens(prompt_ids=(1,), completion_ids=(2,), logprobs=(math.nan,))]
    for _ in range(2):
        await model(tmp_path).log([rollout(math.nan, tokens=tokens)], on_repeat="once")
    assert len(model(tmp_path).folder.trajectories("val", 0)) == len(history(tmp_path)) == 1


def test_no_sample_is_made_of_a_reward_that_is_no_number() -> None:
    assert list(samples([rollout(math.nan)], min_reward=0.0)) == []
    assert len(list(samples([rollout(0.0)], min_reward=0.0))) == 1


async def test_once_writes_the_row_its_killed_writer_could_not(tmp_path: Path) -> None:
    first = await model(tmp_path).log([rollout(0.5)])
    (root(tmp_path) / "history.jsonl").unlink()  # as if killed between the file and its row
    assert await model(tmp_path).log([rollout(0.5)], on_repeat="once") == first
    assert history(tmp_path) == [first]


@pytest.mark.parametrize("name", ["cum", "cum/gain", "own/cum/x", "throughput/avg_actor_tok_per_s"])
async def test_a_metric_whose_name_is_like_a_total_counts_once_and_stops_no_total(tmp_path: Path, name: str) -> None:
    given = [rollout(metrics={name: 2.0, "costs/judge": 1.0})]
    first = await model(tmp_path).log(given, on_repeat="once")
    assert await model(tmp_path).log(given, on_repeat="once") == first
    assert len(history(tmp_path)) == 1
    assert first["costs/cum/all"] == 1.0
    assert (await model(tmp_path).log(given, step=1))["costs/cum/all"] == 2.0


async def test_what_multimodal_messages_say_is_kept(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "data:…"}}]
    shown = rollout()
    shown.messages_and_choices = [{"role": "user", "content": parts}]
    await model(tmp_path).log([shown])
    (row,) = rows(root(tmp_path) / "trajectories/val/0000.parquet")
    assert row["messages"][0]["content"] == "Look:\n[image]"


PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(200))
SHOWN = [
    {"type": "text", "text": "Look:"},
    {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{b64encode(PICTURE).decode()}", "detail": "low"},
    },
]


URL = "https://shop.test/lamp.png"


async def test_pictures_are_in_the_file_once_and_come_back(tmp_path: Path) -> None:
    shown = rollout()
    shown.messages_and_choices = [
        {"role": "user", "content": SHOWN},
        answer("red"),
        {"role": "user", "content": [{"type": "text", "text": "only text"}]},
        {"role": "user", "content": SHOWN},
        answer("blue"),
    ]
    plain = rollout()
    await model(tmp_path).log([plain, shown, rollout()])
    path = root(tmp_path) / "trajectories/val/0000.parquet"
    found = rows(path)
    assert [row["images"] and len(row["images"]) for row in found] == [None, 1, None]
    assert found[1]["images"] == [{"bytes": PICTURE, "path": None}]
    assert [message["content"] for message in found[1]["messages"]][::3] == ["Look:\n[image]", "Look:\n[image]"]
    (group,) = read_groups(path)
    back = group.trajectories[1].messages_and_choices
    assert [back[0]["content"], back[2]["content"], back[3]["content"]] == [SHOWN, "only text", SHOWN]
    assert group.trajectories[0].messages_and_choices == plain.messages_and_choices
    (sample,) = samples([shown], min_reward=1.0)
    assert [message["content"] for message in sample["messages"]] == [SHOWN, "red", "only text", SHOWN, "blue"]
    assert list(samples([group.trajectories[1]], min_reward=1.0)) == [sample]


async def test_names_addresses_of_pictures_and_ends_of_answers_come_back(tmp_path: Path) -> None:
    given = rollout()
    given.messages_and_choices = [
        {"role": "system", "content": "You shop."},
        {"role": "system", "name": "example_user", "content": "OBSERVATION: x"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": URL}}],
        },
        answer("cut") | {"finish_reason": "length"},
        {"role": "user", "name": "shopper", "content": [{"type": "text", "text": "go on"}]},
        answer("red"),
    ]
    await model(tmp_path).log([rollout(), given])
    (group,) = read_groups(root(tmp_path) / "trajectories/val/0000.parquet")
    back = group.trajectories[1]
    assert [item.get("finish_reason") for item in back.messages_and_choices] == [
        None,
        None,
        None,
        "length",
        None,
        "stop",
    ]
    (sample,) = samples([given], min_reward=1.0)
    assert list(samples([back], min_reward=1.0)) == [sample]
    assert (sample["messages"][1]["name"], sample["messages"][2]["content"][1]["image_url"]["url"]) == (
        "example_user",
        URL,
    )


async def test_other_tasks_get_their_turn_while_a_lot_is_logged(tmp_path: Path) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(others())
    await model(tmp_path).log(rollout() for _ in range(2000))
    task.cancel()
    assert turns > 50


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("a split that climbs", {"split": "../x"}, "split='../x' cannot be the name of a folder"),
    ("a nested split", {"split": "a/b"}, "split='a/b'"),
    ("no split", {"split": ""}, "split=''"),
    ("a split of too many bytes", {"trajectories": [rollout()], "split": "茶" * 100}, "255 bytes"),
    ("a NaN reward", {"trajectories": [rollout(), rollout(math.nan)], "strict": True}, "trajectory 1 .* reward is nan"),
    ("an infinite metric", {"metrics": {"loss": math.inf}, "strict": True}, r"metrics\['loss'\] is inf"),
    ("a reward that is text", {"trajectories": [rollout("1.0")]}, "reward is '1.0': give a number"),  # type: ignore[arg-type]
    ("a metric that is none", {"metrics": {"loss": None}}, r"metrics\['loss'\] is None: give a number"),
    ("metrics without names", {"metrics": [1.0]}, "metrics is a list: give numbers by name"),
    ("a taken name", {"trajectories": [rollout(metrics={"reward": 1})]}, "the name 'reward' is used"),
    ("a taken name beside trajectories", {"trajectories": [rollout()], "metrics": {"reward": 1}}, "'reward' is used"),
    (
        "a taken name with its split",
        {"trajectories": [rollout(metrics={"val/reward": 9})]},
        "is logged as 'val/reward'",
    ),
    ("one key under two names", {"metrics": {"loss": 1, "val/loss": 2}}, "'val/loss' is logged as 'val/loss', and so"),
    ("a taken key", {"metrics": {"step": 1}}, "'step' is used"),
    ("metadata that is not JSON", {"trajectories": [rollout(metadata={"at": {1, 2}})]}, r"metadata\['at'\] is a set"),
    ("nested metadata", {"trajectories": [rollout(metadata={"at": {"x": 1}})]}, r"metadata\['at'\] is a dict"),
    ("tools that are not JSON", {"trajectories": [rollout(tools=[object()])]}, "tools cannot be written as JSON"),
    ("too few seen", {"trajectories": [rollout(seen=[])]}, "seen has 0 entries, not 1: one for each choice"),
    ("a choice that saw itself", {"trajectories": [rollout(seen=[(0, 1)])]}, r"seen has \(0, 1\); give positions"),
    ("seen that is text", {"trajectories": [rollout(seen=["a"])]}, "seen has 'a'; give positions"),
    ("too many tokens", {"trajectories": [rollout(tokens=[None, None])]}, "tokens has 2 entries, not 1"),
    ("tokens that are none", {"trajectories": [rollout(tokens=[{}])]}, "tokens has a dict; give harness.api.Tokens"),
    ("a mixture", {"trajectories": [rollout(), TrajectoryGroup([])]}, r"trajectories\[1\] is a group"),
    ("something else", {"trajectories": [3]}, r"trajectories\[0\] is a int"),
    ("no messages", {"trajectories": [rollout(), 3]}, r"trajectories\[1\] is a int"),
    ("a folder that is not there", {"trajectories": "nowhere"}, "nowhere is not a run folder"),
    ("a folder without a run", {"trajectories": str(Path(__file__).parent)}, "tracking is not a run folder"),
    ("a negative step", {"trajectories": [], "step": -1}, "step=-1"),
    ("an unknown policy", {"trajectories": [], "on_repeat": "overwrite"}, "on_repeat='overwrite'"),
]


def written_under(folder: Path) -> list[Path]:
    return [*folder.rglob("*.parquet"), *folder.rglob("history.jsonl")]


@pytest.mark.parametrize(("given", "said"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
async def test_a_bad_call_is_one_sentence_and_writes_nothing(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(TrackingError, match=said) as refused:
        await model(tmp_path).log(**given)
    assert "\n" not in str(refused.value)
    assert not written_under(tmp_path)


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a\\b", "a\x00b", "x" * 200, "茶" * 100])
def test_a_name_that_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TrackingError, match="cannot be the name of a folder"):
        Model(name=name, project="p", base_path=tmp_path)


def test_a_missing_library_is_one_sentence(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; sys.modules['pyarrow'] = None; sys.modules['pyarrow.parquet'] = None\n"
        "from harness.plugins.tracking.model import Model\n"
        f"model = Model(name='m', project='p', base_path={str(tmp_path)!r}, report_metrics=[])\n"
        "asyncio.run(model.log(metrics={'loss': 1.0}))\n"
        "asyncio.run(model.log([]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("which is not installed: pip install 'cairn-harness[tracking]'"), done.stderr
    assert len(history(tmp_path)) == 1, "metrics alone need no library"


async def test_a_prompted_model_is_at_step_0(tmp_path: Path) -> None:
    prompted = model(tmp_path, inference_model_name="gpt")
    assert await prompted.get_step() == 0
    assert (prompted.get_inference_name(), prompted.get_inference_name(3)) == ("gpt", "gpt@3")


async def test_the_history_decides_by_the_mean_of_a_step_and_the_earliest_of_equals(tmp_path: Path) -> None:
    logging = model(tmp_path)
    for step, reward in ((3, 0.5), (1, 1.0), (1, 0.0), (2, 0.5), (4, 0.1)):
        await logging.log([rollout(reward)], step=step)
    assert logging.folder.history.best_step("val/reward") == 1
    assert logging.folder.history.best_step("val/reward", "min") == 4
    with pytest.raises(TrackingError, match="'val/other' was never logged"):
        logging.folder.history.best_step("val/other")


async def test_arts_own_objects_are_understood(tmp_path: Path) -> None:
    """By their attributes: ART is not imported here, see test_art for the real ones."""

    group = SimpleNamespace(
        trajectories=[rollout(0.5)],
        exceptions=[SimpleNamespace(type="T", message="m", traceback="t")],
        metadata={"scenario_id": "7"},
        metrics={"g": 1},
        logs=["hello"],
    )
    logged = await model(tmp_path).log([group])
    assert (logged["val/exception_rate"], logged["val/group_g"]) == (0.5, 1.0)
    assert rows(root(tmp_path) / "trajectories/val/0000.parquet")[0]["group_logs"] == ["hello"]


def test_a_torn_tail_is_cut_by_the_next_row_and_a_damaged_line_decides_nothing(tmp_path: Path) -> None:
    found = History(tmp_path / "history.jsonl")
    found.path.write_bytes(b'{"val/reward":1.0,"step":1}\n{"val/rew')
    assert found.best_step("val/reward") == 1
    found.append(b'{"val/reward":2.0,"step":2}')
    assert found.path.read_bytes().count(b"\n") == 2
    assert found.best_step("val/reward") == 2
    found.append(b'{"val/reward":Infinity,"step":3}')
    with pytest.raises(TrackingError, match=r"history.jsonl:3 is not a JSON object"):
        found.best_step("val/reward")
