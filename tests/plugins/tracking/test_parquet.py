"""The trajectory file: ART's columns, ours beside them, and reading both back."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pyarrow.parquet as pq
import pytest

from harness.errors import TrackingError
from harness.plugins.tracking import parquet
from harness.plugins.tracking.group_reader import read_groups
from harness.plugins.tracking.trajectory import RolloutError, Trajectory, TrajectoryGroup
from tests.plugins.tracking.rollouts import ASKED, answer, model, rollout, root, rows

ART = ["group_index", "group_metadata", "group_metrics", "group_logs", "reward"]
ART += ["metrics", "metadata", "tools", "logs", "messages"]


async def written(folder: Path, *given: Any) -> Path:
    await model(folder).log(given)
    return root(folder) / "trajectories/val/0000.parquet"


async def test_arts_columns_come_first_and_none_of_its_second_format(tmp_path: Path) -> None:
    schema = pq.read_schema(await written(tmp_path, rollout()))
    assert schema.names[:10] == ART
    assert not {"format_version", "trajectory_index", "group_json", "trajectory_json"} & set(schema.names)
    assert (
        b"art.trajectory_parquet.version"
        not in pq.read_metadata(tmp_path / "p/models/m/trajectories/val/0000.parquet").metadata
    )
    assert (
        str(schema.field("messages").type)
        == "list<element: struct<role: string, content: string, tool_calls: string, tool_call_id: string, trainable:"
        " bool>>"
    )
    columns = pq.ParquetFile(tmp_path / "p/models/m/trajectories/val/0000.parquet").metadata.row_group(0)
    assert {columns.column(i).compression for i in range(columns.num_columns)} == {"ZSTD"}


async def test_what_is_empty_is_null_but_no_messages_are_an_empty_list(tmp_path: Path) -> None:
    (row,) = rows(await written(tmp_path, Trajectory(reward=1)))
    assert (row["reward"], row["messages"]) == (1.0, [])
    assert all(row[name] is None for name in ART if name not in ("group_index", "reward", "messages"))


async def test_values_keep_their_kinds(tmp_path: Path) -> None:
    given = rollout(metrics={"b": True, "i": 3, "f": 0.5}, metadata={"s": "é", "n": None, "i": 2, "b": False})
    (row,) = rows(await written(tmp_path, given))
    assert row["metrics"] == '{"b":true,"i":3,"f":0.5}'
    assert row["metadata"] == '{"s":"é","n":null,"i":2,"b":false}'


async def test_metadata_that_art_would_write_ends_no_training_step(tmp_path: Path) -> None:
    path = await written(tmp_path, rollout(metadata={"loss": float("nan"), "seed": numpy.int64(7), "ok": numpy.True_}))
    (group,) = read_groups(path)
    assert str(group.trajectories[0].metadata) == "{'loss': nan, 'seed': 7, 'ok': True}"


async def test_a_name_that_utf8_cannot_say_is_written_as_contents_are(tmp_path: Path) -> None:
    (row,) = rows(await written(tmp_path, Trajectory(messages_and_choices=[{**ASKED, "name": "a\ud800"}])))
    assert row["message_fields"][0]["name"] == "a\ufffd"


@dataclass
class Choice:
    """As openai's objects are: no dict, but able to become one."""

    text: str

    def model_dump(self) -> dict[str, Any]:
        return {"finish_reason": "tool_calls", "message": Said(self.text)}


@dataclass
class Said:
    content: str
    role: str = "assistant"
    tool_calls: tuple[Any, ...] = ({"id": "c1", "function": {"name": "look", "arguments": "{}"}},)


async def test_choices_tool_calls_and_answers_of_tools(tmp_path: Path) -> None:
    told = {"role": "tool", "tool_call_id": "c1", "content": None}
    (row,) = rows(await written(tmp_path, Trajectory(messages_and_choices=[ASKED, Choice("x"), told, answer()])))
    assert [message["trainable"] for message in row["messages"]] == [False, True, False, True]
    assert row["messages"][1]["tool_calls"].startswith('[{"id":"c1"')
    assert (row["messages"][2]["tool_call_id"], row["messages"][2]["content"]) == ("c1", None)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "input_audio", "input_audio": {}}], "[audio]"),
        ([{"type": "refusal", "refusal": "no"}, "plain"], "no\nplain"),
        ({"odd": 1}, '{"odd":1}'),
        ([object()], "[object]"),
        ("a\ud800b", "a\ufffdb"),
        ("", ""),
    ],
)
async def test_odd_content_never_fails_a_call(tmp_path: Path, content: Any, text: str) -> None:
    (row,) = rows(await written(tmp_path, Trajectory(messages_and_choices=[{"role": "user", "content": content}])))
    assert row["messages"][0]["content"] == text


async def test_a_message_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=r"trajectory 0 .*, message 1 is a int"):
        await written(tmp_path, Trajectory(messages_and_choices=[ASKED, 3]))


async def test_groups_are_read_back_as_they_were(tmp_path: Path) -> None:
    full = rollout(0.5, metrics={"a": 1}, metadata={"k": "v"}, logs=["l"], tools=[{"type": "function"}], seen=[(0,)])
    groups = [
        TrajectoryGroup([full, rollout()], metadata={"task": "7"}, metrics={"g": 2}, logs=["began"]),
        TrajectoryGroup([], metadata={"task": "8"}),
        TrajectoryGroup([RolloutError(type="T", message="m", traceback="tb")]),
    ]
    await model(tmp_path).log(groups)
    read = list(read_groups(root(tmp_path) / "trajectories/val/0000.parquet"))
    assert [(group.metadata, group.metrics, group.logs, group.exceptions) for group in read] == [
        (group.metadata, group.metrics, group.logs, group.exceptions) for group in groups
    ]
    assert [len(group) for group in read] == [2, 0, 0]
    back = read[0].trajectories[0]
    assert (back.reward, back.metrics, back.metadata, back.logs) == (0.5, {"a": 1}, {"k": "v"}, ["l"])
    assert (back.tools, back.messages_and_choices) == ([{"type": "function"}], [ASKED, answer()])
    assert back.seen == [[0]]


async def test_many_rows_are_written_in_pieces(tmp_path: Path) -> None:
    count = parquet.PIECE_ROWS + 7
    path = await written(tmp_path, *(rollout(float(number)) for number in range(count)))
    assert pq.ParquetFile(path).num_row_groups == 2
    assert pq.read_table(path, columns=["reward"])["reward"].to_pylist() == list(range(count))


async def test_what_is_no_such_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"no")
    with pytest.raises(TrackingError, match="cannot be read as trajectories"):
        list(read_groups(tmp_path / "x.parquet"))
