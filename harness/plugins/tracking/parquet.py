"""Trajectories as a parquet file in ART's first format, written piece by piece.

The ten columns are ART's (0.5.9 to 0.5.18), in its order; its readers find in them what its own writer would have put
there. What that writer drops is in further columns, in rows its readers skip (`reward` and `messages` both null):
each exception, and each group without trajectories. `seen` says what each answer answered, see `Trajectory.seen`.
For a picture the text in `messages` says `[image]`; `message_parts` has such contents whole, `images` the pictures;
`message_fields` has names of messages, and finish reasons other than `stop`.
`tokens` has the token ids of each answer, see `Trajectory.tokens`.

Invariant: memory holds one piece (about 16 MB of text), whatever the number of trajectories. The file belongs to
the code that opened the path; naming and publishing it is `folder`'s business.
"""

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.api import Tokens
from harness.api.files import sync, translate_os_errors
from harness.api.text import cut
from harness.errors import TrackingError
from harness.plugins.tracking.inputs import GroupHeader, GroupItem
from harness.plugins.tracking.lazy import pyarrow
from harness.plugins.tracking.message_columns import MessageColumns, json_text, plain
from harness.plugins.tracking.trajectory import RolloutError, Scalar

PIECE_CHARS = 16_000_000
PIECE_ROWS = 8192
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKENS = ("prompt_ids", "completion_ids", "logprobs")
_MESSAGE = ("role", "content", "tool_calls", "tool_call_id", "trainable")


def schema() -> Any:
    """Arrow schema of the file: ART's columns, then ours."""
    pa = pyarrow()
    text, texts = pa.string(), pa.list_(pa.string())
    ids = pa.list_(pa.int32())
    tokens = pa.struct([("prompt_ids", ids), ("completion_ids", ids), ("logprobs", pa.list_(pa.float64()))])
    fields = pa.struct([("message", pa.int32()), ("name", text), ("finish_reason", text)])
    message = pa.struct([*((name, text) for name in _MESSAGE[:-1]), (_MESSAGE[-1], pa.bool_())])
    return pa.schema(
        [
            ("group_index", pa.int64()),
            ("group_metadata", text),
            ("group_metrics", text),
            ("group_logs", texts),
            ("reward", pa.float64()),
            ("metrics", text),
            ("metadata", text),
            ("tools", text),
            ("logs", texts),
            ("messages", pa.list_(message)),
            ("seen", pa.list_(pa.list_(pa.int32()))),
            ("message_parts", pa.list_(pa.struct([("message", pa.int32()), ("content", text)]))),
            ("images", pa.list_(pa.struct([("bytes", pa.binary()), ("path", text)]))),
            ("message_fields", pa.list_(fields)),
            ("tokens", pa.list_(tokens)),
            ("exception_type", text),
            ("exception_message", text),
            ("exception_traceback", text),
        ]
    )


class TrajectoryFile:
    """A file being written. `add` entries, `flush` whenever it `is_full`, then `close`; an unclosed file is invalid."""

    def __init__(self, path: Path) -> None:
        self._pa = pyarrow()
        self._path = path
        self._schema = schema()
        with translate_os_errors(path):
            self._writer = self._pa.parquet.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: dict[str, list[Any]] = {}
        self._clear()
        self._head: GroupHeader | None = None
        self._head_columns: tuple[Any, ...] = ()

    def add(self, entry: GroupItem, place: str) -> None:
        """Append one row; `place` names it when it cannot be."""
        head = entry.head
        if head is not self._head:
            self._head, self._head_columns = head, _head_columns(head)
        item = entry.item
        if item is None or isinstance(item, RolloutError):
            self._append(*_exception_columns(item))
            self._offsets.append(None)
        else:
            start = len(self._messages)
            self._chars += self._messages.add(item.messages_and_choices or (), place)
            parts, images = self._messages.take_parts(start)
            fields = self._messages.take_fields(start)
            _check_choices(item, self._messages.trainable[start:], place)
            self._chars += sum(len(image["bytes"]) for image in images or ())
            tokens = _tokens(item)
            self._chars += sum(8 * len(ids) for one in tokens or () if one for ids in one.values())
            self._append(*_trajectory_columns(item, place), parts, images, fields, tokens, None, None, None)
            self._offsets.append(start)

    @property
    def is_full(self) -> bool:
        """Whether a piece is complete, so that `flush` is due."""
        return len(self._offsets) >= PIECE_ROWS or self._chars >= PIECE_CHARS

    def close(self, footer: Mapping[str, str]) -> None:
        """Finish the file, with `footer` among its metadata, and bring it to the disk."""
        self.flush()
        self._writer.add_key_value_metadata(dict(footer))
        with translate_os_errors(self._path):
            self._writer.close()
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                sync(fd)
            finally:
                os.close(fd)

    def _clear(self) -> None:
        self._rows = {name: [] for name in self._schema.names if name != "messages"}
        self._columns = list(self._rows.values())
        self._offsets: list[int | None] = []
        self._messages = MessageColumns()
        self._chars = 0

    def _append(self, *values: Any) -> None:
        for column, value in zip(self._columns, (*self._head_columns, *values), strict=True):
            column.append(value)

    def flush(self) -> None:
        """Write what was added since the last time; it blocks, so not on the event loop."""
        if not self._offsets:
            return
        try:
            batch = self._batch(lambda column: column)
        except UnicodeEncodeError:  # lone surrogates: rare, so looked for only when Arrow stumbles over them
            batch = self._batch(_clean)
        with translate_os_errors(self._path):
            self._writer.write_batch(batch)
        self._clear()

    def _batch(self, change: Callable[[list[Any]], list[Any]]) -> Any:
        pa, fields = self._pa, self._schema
        kind = fields.field("messages").type
        parts = [
            pa.array(change(part), type=kind.value_type.field(name).type)
            for name, part in zip(_MESSAGE, self._messages.columns(), strict=True)
        ]
        items = pa.StructArray.from_arrays(parts, fields=list(kind.value_type))
        offsets = pa.array([*self._offsets, len(self._messages)], type=pa.int32())
        columns = {name: pa.array(change(column), type=fields.field(name).type) for name, column in self._rows.items()}
        columns["messages"] = pa.ListArray.from_arrays(offsets, items)
        return pa.RecordBatch.from_arrays([columns[name] for name in fields.names], schema=fields)


def same_content(one: Path, other: Path) -> bool:
    """Whether two files hold the same rows; NaN is the same as NaN. What cannot be read, as a file that a killed ART
    left, holds none."""
    pa = pyarrow()
    try:
        with pa.parquet.ParquetFile(one) as a, pa.parquet.ParquetFile(other) as b:
            alike = a.num_row_groups == b.num_row_groups and a.schema_arrow.equals(b.schema_arrow)
            return alike and all(_same_rows(a.read_row_group(i), b.read_row_group(i)) for i in range(a.num_row_groups))
    except (pa.ArrowInvalid, OSError):  # OSError: what Arrow makes of damaged pages
        return False


def _same_rows(one: Any, other: Any) -> bool:
    one, other = _comparable(one), _comparable(other)
    if one.equals(other):
        return True
    tokens = [table["tokens"].to_pylist() for table in (one, other)]  # log probabilities may be NaN, too
    return one.drop(["tokens"]).equals(other.drop(["tokens"])) and repr(tokens[0]) == repr(tokens[1])


def _comparable(table: Any) -> Any:
    """The table with its rewards as bits: Arrow holds NaN for another one than itself."""
    pa = pyarrow()
    place = table.schema.get_field_index("reward")
    bits = pa.chunked_array([chunk.view(pa.int64()) for chunk in table.column(place).chunks], type=pa.int64())
    return table.set_column(place, "reward", bits)


def footer_of(path: Path, key: str) -> str | None:
    """What `close` was given under `key`."""
    value = (pyarrow().parquet.read_metadata(path).metadata or {}).get(key.encode())
    return None if value is None else str(value.decode())


def _head_columns(head: GroupHeader) -> tuple[Any, ...]:
    place = f"group {head.index}"
    return (
        head.index,
        _metadata(head.metadata, f"{place}: metadata"),
        _metrics(head.metrics, place),
        [str(line) for line in head.logs] or None,
    )


def _trajectory_columns(item: Any, place: str) -> tuple[Any, ...]:
    tools, logs, seen = item.tools, item.logs, getattr(item, "seen", None)
    return (
        float(item.reward),
        _metrics(item.metrics, place) if item.metrics else None,
        _metadata(item.metadata, f"{place}: metadata") if item.metadata else None,
        json_text(plain(tools), f"{place}: tools") if tools else None,
        [str(line) for line in logs] if logs else None,
        None if seen is None else [list(positions) for positions in seen],
    )


def _check_choices(item: Any, trainable: Sequence[bool], place: str) -> None:
    """Raises: TrackingError: `seen` or `tokens` does not fit the choices, so that training would leave some out."""
    seen, tokens = getattr(item, "seen", None), getattr(item, "tokens", None)
    if seen is None and tokens is None:
        return
    choices = [position for position, is_choice in enumerate(trainable) if is_choice]
    for name, found in (("seen", seen), ("tokens", tokens)):
        if found is not None and len(found) != len(choices):
            raise TrackingError(f"{place}: {name} has {len(found)} entries, not {len(choices)}: one for each choice")
    for choice, positions in zip(choices, seen or (), strict=False):
        if not all(isinstance(one, int) and 0 <= one < choice for one in positions):
            wanted = f"positions of messages before its choice, which is message {choice}"
            raise TrackingError(f"{place}: seen has {cut(repr(positions), 60)}; give {wanted}")
    for one in tokens or ():
        if one is not None and not isinstance(one, Tokens):
            raise TrackingError(f"{place}: tokens has a {type(one).__name__}; give harness.api.Tokens or None")


def _exception_columns(raised: RolloutError | None) -> tuple[Any, ...]:
    columns = (None,) * 3 if raised is None else (raised.type, raised.message, raised.traceback)
    return (None,) * 10 + columns


def _tokens(item: Any) -> list[dict[str, Sequence[Any]] | None] | None:
    """A struct for each choice, null where its tokens are not known; ART's own trajectories have none."""
    if (found := getattr(item, "tokens", None)) is None:
        return None
    return [None if one is None else {name: getattr(one, name) for name in _TOKENS} for one in found]


def _metrics(metrics: Mapping[str, Any], place: str) -> str | None:
    """Integers, floats and booleans as they are; `tally` has seen that all of them are numbers.

    NaN and the infinities stand in it as Python's `json` writes and reads them, which ART uses.
    """
    values = {
        name: value if type(value) in (float, bool) or _is_int64(value) else float(value)
        for name, value in metrics.items()
    }
    if not all(map(math.isfinite, values.values())):
        return json.dumps(values)
    return json_text(values, f"{place}: metrics") if values else None


def _is_int64(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _metadata(metadata: Mapping[str, Scalar], place: str) -> str | None:
    """Scalars only: ART's reader stumbles over anything nested. NaN and the infinities are as in `_metrics`."""
    values = {name: _scalar(value) for name, value in metadata.items()}
    for name, value in values.items():
        if not isinstance(name, str) or not (value is None or isinstance(value, str | int | float)):
            raise TrackingError(
                f"{place}[{name!r}] is a {type(value).__name__}, which cannot be written: "
                "use text, numbers, booleans and null, under names that are text"
            )
    if any(isinstance(value, float) and not math.isfinite(value) for value in values.values()):
        return json.dumps(values)
    return json_text(values, place) if values else None


def _scalar(value: Any) -> Any:
    """Python's own of a scalar of numpy, which is taken as a metric, too."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _clean(value: Any) -> Any:
    """The same with U+FFFD for what UTF-8 cannot say."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value
