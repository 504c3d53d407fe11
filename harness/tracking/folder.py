"""A model's folder on disk, shared by any number of processes that log to it.

Invariant: under the lock (released by the kernel when its holder dies) a trajectory file takes its name and its history
line is written; readers see whole parquet files only; no file that was published is overwritten unless `replace` was asked
for. A writer that is killed leaves an unfinished file in `.staging/`, which the next one removes.

    <base_path>/<project>/models/<name>/trajectories/<split>/<step:04d>.parquet
    <base_path>/<project>/models/<name>/trajectories/<split>/<step:04d>.v2.parquet     the same step, logged again
    <base_path>/<project>/models/<name>/history.jsonl
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Literal

from harness.codec import loads
from harness.errors import TrackingError
from harness.journal.disk import refusals, sync_folder
from harness.journal.lock import hold
from harness.tracking.history import History, Row, line_of
from harness.tracking.naming import path_part
from harness.tracking.parquet import footer_of, same_content

OnRepeat = Literal["version", "refuse", "once", "replace"]
ON_REPEAT = ("version", "refuse", "once", "replace")
ROW_KEY = "cairn.history"
"""Footer key of a trajectory file under which its history line stands."""
_serial = count()


class ModelFolder:
    """Where one model's trajectories and metrics are."""

    def __init__(self, base_path: str | os.PathLike[str], project: str, name: str) -> None:
        self.root = Path(base_path) / path_part(project, "project") / "models" / path_part(name, "name")
        self.history = History(self.root / "history.jsonl")

    def trajectories(self, split: str, step: int) -> tuple[Path, ...]:
        """The files logged for a step, in the order of their versions."""
        return tuple(path for _, path in sorted(self._versions(split, step).items()))

    def append(self, row: Row) -> None:
        """Add a row of metrics alone."""
        with self._held():
            self.history.append(line_of(row))

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """A new file to write to, which is gone at the end unless it was published."""
        staging = self.root / ".staging"
        with self._held(), refusals(staging):
            staging.mkdir(exist_ok=True)
            for path in _files(staging):
                _remove_if_left(path)
            path = staging / f"{os.getpid()}-{next(_serial)}.parquet"
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            hold(fd)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)
            os.close(fd)

    def publish(self, staged: Path, split: str, step: int, *, on_repeat: OnRepeat) -> Row:
        """Give a finished file its name, and its history line a place; returns the row that stands there."""
        with self._held():
            there = self._versions(split, step)
            row, line = _footer_row(staged)
            if there and on_repeat == "refuse":
                raise repeated(split, step, there[min(there)])
            if on_repeat == "once":
                for path in there.values():
                    if same_content(path, staged):
                        return self._complete(path)
            number = 1 if not there or on_repeat == "replace" else max(there) + 1
            target = self._split(split) / (f"{step:04d}.v{number}.parquet" if number > 1 else f"{step:04d}.parquet")
            with refusals(target):
                _make_folder(target.parent)
                staged.replace(target)
                sync_folder(target.parent)
            self.history.append(line)
        return row

    def _complete(self, path: Path) -> Row:
        """The row of a published file, written now if its writer was killed before it could."""
        row, line = _footer_row(path)
        if not self.history.has(line):
            self.history.append(line)
        return row

    def _versions(self, split: str, step: int) -> dict[int, Path]:
        pattern = re.compile(rf"{step:04d}(?:\.v(\d+))?\.parquet")
        found = _files(self._split(split))
        return {int(match[1] or 1): path for path in found if (match := pattern.fullmatch(path.name))}

    def _split(self, split: str) -> Path:
        return self.root / "trajectories" / path_part(split, "split")

    @contextmanager
    def _held(self) -> Iterator[None]:
        """The model's lock; waits for whoever has it, so never call this on the event loop."""
        with refusals(self.root):
            _make_folder(self.root)
            fd = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            with refusals(self.root):
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def repeated(split: str, step: int, path: Path) -> TrackingError:
    return TrackingError(
        f"step {step} of split {split!r} was logged already ({path}): give another step, "
        "or on_repeat='version' to keep both"
    )


def _footer_row(path: Path) -> tuple[Row, bytes]:
    text = footer_of(path, ROW_KEY) or "{}"
    return dict(loads(text)), text.encode()


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    with refusals(folder, "read"):
        return sorted(folder.iterdir())


def _remove_if_left(path: Path) -> None:
    """Remove an unfinished file whose writer is gone: nobody holds it any more."""
    with suppress(FileNotFoundError):
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            if hold(fd):
                path.unlink()
        finally:
            os.close(fd)


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir()
        sync_folder(folder.parent)
