"""Trajectory files read back, ours and ART's, piece by piece."""

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, TypedDict

from harness.api import CodecError, JsonObject, Tokens, loads
from harness.errors import TrackingError
from harness.plugins.tracking.lazy import pyarrow
from harness.plugins.tracking.message_columns import without_places
from harness.plugins.tracking.trajectory import RolloutError, Trajectory, TrajectoryGroup


class _Message(TypedDict):
    """A message as ART's format has it: `tool_calls` is JSON."""

    role: str | None
    content: str | None
    tool_calls: str | None
    tool_call_id: str | None
    trainable: bool


def read_groups(path: Path) -> Iterator[TrajectoryGroup]:
    """The groups of a file, in order; one group at a time is held.

    Raises:
        TrackingError: It is not a trajectory file.
    """
    pa = pyarrow()
    try:
        with pa.parquet.ParquetFile(path) as file:
            for _, rows in groupby(_rows(file), key=lambda row: row.get("group_index") or 0):
                yield _group(list(rows))
    except (OSError, pa.ArrowInvalid, ValueError, KeyError, IndexError, TypeError) as exc:
        raise TrackingError(f"{path} cannot be read as trajectories: {exc}") from exc


def _rows(file: Any) -> Iterator[JsonObject]:
    for batch in file.iter_batches(batch_size=256):
        yield from batch.to_pylist()


def _group(rows: list[JsonObject]) -> TrajectoryGroup:
    first = rows[0]
    items = [item for row in rows if (item := _item(row)) is not None]
    return TrajectoryGroup(
        items,
        metadata=_json(first.get("group_metadata"), {}),
        metrics=_json(first.get("group_metrics"), {}),
        logs=first.get("group_logs"),
    )


def _item(row: JsonObject) -> Trajectory | RolloutError | None:
    if row["reward"] is None and row["messages"] is None:
        if (kind := row.get("exception_type")) is None:
            return None
        return RolloutError(type=kind, message=row["exception_message"], traceback=row["exception_traceback"])
    whole, fields = _contents(row), {one["message"]: one for one in row.get("message_fields") or ()}
    return Trajectory(
        messages_and_choices=[
            _message(message, whole.get(at), fields.get(at, {})) for at, message in enumerate(row["messages"] or ())
        ],
        tools=_json(row["tools"], None),
        reward=row["reward"],
        metrics=_json(row["metrics"], {}),
        metadata=_json(row["metadata"], {}),
        logs=row["logs"] or [],
        seen=row.get("seen"),
        tokens=_tokens(row.get("tokens")),
    )


def _tokens(column: list[JsonObject | None] | None) -> list[Tokens | None] | None:
    if column is None:
        return None
    return [None if one is None else Tokens(**{name: tuple(ids) for name, ids in one.items()}) for one in column]


def _contents(row: JsonObject) -> dict[int, Any]:
    """The contents that are not text alone, by the position of their message."""
    images = [image["bytes"] for image in row.get("images") or ()]
    parts = row.get("message_parts") or ()
    return {part["message"]: without_places(loads(part["content"]), images) for part in parts}


def _message(flat: _Message, content: Any, fields: JsonObject) -> JsonObject:
    message: JsonObject = {"role": flat["role"], "content": content or flat["content"]}
    if name := fields.get("name"):
        message["name"] = name
    if flat["tool_calls"]:
        message["tool_calls"] = loads(flat["tool_calls"])
    if flat["tool_call_id"]:
        message["tool_call_id"] = flat["tool_call_id"]
    if not flat["trainable"]:
        return message
    return {"finish_reason": fields.get("finish_reason") or "stop", "index": 0, "message": message}


def _json(text: str | None, otherwise: Any) -> Any:
    if not text:
        return otherwise
    try:
        return loads(text)
    except CodecError:
        return json.loads(text)  # knows NaN, which may be a metric
