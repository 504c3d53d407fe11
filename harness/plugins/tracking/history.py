"""`history.jsonl`: one line of metrics per log call, and what can be decided from it.

Invariant: a line that was written stays, whole and strict JSON, through any kill; only an unterminated tail (a line
whose append did not return) is ever cut. Callers hold the model's lock while they append. The format is ART's: metrics
as floats, then `training_step`, `time/wall_clock_sec`, `step` and `recorded_at`, which here says its zone (UTC).
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from harness.api import CodecError, loads
from harness.api.files import safe_files, sync, sync_folder, translate_os_errors, write_whole
from harness.errors import TrackingError

Mode = Literal["max", "min"]
LAST_COLUMNS = ("training_step", "time/wall_clock_sec", "step", "recorded_at")
"""After the metrics of every row."""
Row = dict[str, object]
"""One line of the file; values that are read back are checked where they are used."""
_LONGEST = 1 << 26
"""Bytes of a line."""


def row_of(metrics: Mapping[str, float], step: int, wall_clock_s: float) -> Row:
    return {
        **metrics,
        "training_step": step,
        "time/wall_clock_sec": wall_clock_s,
        "step": step,
        "recorded_at": datetime.now(UTC).isoformat(),
    }


class History:
    """The history file of one model."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, line: bytes) -> None:
        """Add a line (without its end) and bring it to the disk."""
        with translate_os_errors(self.path):
            is_new = not self.path.exists()
            fd = safe_files.open_regular(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                _cut_tail(fd)
                write_whole(fd, line + b"\n")
                sync(fd)
            finally:
                os.close(fd)
            if is_new:
                sync_folder(self.path.parent)

    def rows_from(self, start: int) -> Iterator[tuple[Row, int]]:
        """The rows that begin at byte `start` or later, each with the offset of its end; other lines are left out."""
        end = start
        for line in self._lines(start):
            end += len(line) + 1
            with suppress(CodecError):
                if isinstance(row := loads(line), dict):
                    yield row, end

    @property
    def size(self) -> int:
        """In bytes; 0 when there is no file."""
        return self.path.stat().st_size if self.path.exists() else 0

    def rows(self) -> Iterator[Row]:
        """All rows, in the order written.

        Raises:
            TrackingError: A line is not a JSON object; nothing should be decided from such a file.
        """
        for count, line in enumerate(self._lines(), start=1):
            try:
                row = loads(line) if line.strip() else {}
            except CodecError as exc:
                raise self._damaged(count) from exc
            if not isinstance(row, dict):
                raise self._damaged(count)
            yield row

    def best_step(self, metric: str, mode: Mode = "max") -> int:
        """The step whose rows have the best mean of `metric`; the earliest of equals.

        Raises:
            TrackingError: It was never logged.
        """
        if mode not in ("max", "min"):
            raise TrackingError(f"mode={mode!r} is unknown: use 'max' or 'min'")
        samples: dict[int, list[float]] = {}
        for row in self.rows():
            value, step = row.get(metric), row.get("step")
            if isinstance(value, int | float) and not isinstance(value, bool) and type(step) is int:
                samples.setdefault(step, []).append(value)
        if not samples:
            raise TrackingError(
                f"{metric!r} was never logged in {self.path}, so there is no best checkpoint; nothing was deleted; "
                "name a logged metric, as in best_checkpoint_metric='val/reward'"
            )
        sign = 1.0 if mode == "max" else -1.0
        return min(samples, key=lambda step: (-sign * sum(samples[step]) / len(samples[step]), step))

    def _lines(self, start: int = 0) -> Iterator[bytes]:
        with translate_os_errors(self.path, "read"), suppress(FileNotFoundError):
            with os.fdopen(safe_files.open_regular(self.path, os.O_RDONLY), "rb") as file:
                file.seek(start)
                while line := file.readline(_LONGEST):
                    if line.endswith(b"\n"):
                        yield line[:-1]
                    elif len(line) == _LONGEST:
                        raise TrackingError(
                            f"{self.path} has a line of more than {_LONGEST >> 20} MB, which is not a metrics row"
                        )

    def _damaged(self, line: int) -> TrackingError:
        return TrackingError(f"{self.path}:{line} is not a JSON object; fix or remove that line; nothing was changed")


def _cut_tail(fd: int) -> None:
    """Remove what a killed or refused write left behind the last whole line."""
    size = os.fstat(fd).st_size
    end = size
    while end > 0:
        start = max(0, end - 65536)
        part = os.pread(fd, end - start, start)
        if (at := part.rfind(b"\n")) >= 0:
            end = start + at + 1
            break
        end = start
    if end < size:
        os.ftruncate(fd, end)
