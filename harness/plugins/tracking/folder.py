"""A model's folder on disk, shared by any number of processes that log to it.

Invariant: under the lock (released by the kernel when its holder dies) a trajectory file takes its name and its history
line is written; readers see whole parquet files only, and ART's the newest of a step; no file that was published is
lost unless `replace` was asked for. A writer that is killed leaves a file in `.staging/`: an unfinished one, which the
next one removes, or a second name of one that was published, whose history line the next one writes.

    <base_path>/<project>/models/<name>/trajectories/<split>/<step:04d>.parquet        the newest of the step
    <base_path>/<project>/models/<name>/trajectories/<split>/<step:04d>.v1.parquet     the first, when it was logged
    again <base_path>/<project>/models/<name>/history.jsonl
"""

import errno
import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Literal

from harness.api import CodecError, JsonObject, dumps, loads
from harness.api.files import (
    Within,
    hold,
    remove_if_left,
    safe_files,
    sync,
    sync_folder,
    translate_os_errors,
    write_atomic,
)
from harness.errors import TrackingError
from harness.plugins.tracking.history import LAST_COLUMNS, History, Row
from harness.plugins.tracking.name_rules import path_part
from harness.plugins.tracking.parquet import footer_of, same_content
from harness.plugins.tracking.totals import SCENARIOS, RunningTotals, with_totals, without_totals

OnRepeat = Literal["version", "refuse", "once", "replace"]
ON_REPEAT = ("version", "refuse", "once", "replace")
ROW_KEY = "cairn.history"
"""Footer key of a trajectory file that holds its history line, without running totals."""
SCENARIOS_KEY = "cairn.scenarios"
"""Footer key that holds the scenario ids, a JSON array."""
STATE_NAME = "state.json"
TOTALS_KEY = "_metrics_builder_state"
"""Where ART keeps its running totals in `state.json`."""
_SCENARIO_IDS = "unique_scenario_ids"
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
"""What a file system says that has no second name for a file."""
_ROW_TO_COME = ".row-to-come"
"""Ends the second name of a file that is being published, until its history line is written."""
_serial = count()


class ModelFolder:
    """Where one model's trajectories and metrics are."""

    def __init__(self, base_path: str | os.PathLike[str], project: str, name: str) -> None:
        self.root = Path(base_path) / path_part(project, "project") / "models" / path_part(name, "name")
        self.history = History(self.root / "history.jsonl")
        self._totals = RunningTotals()
        self._counted_to = 0

    def trajectories(self, split: str, step: int) -> tuple[Path, ...]:
        """The files logged for a step, in the order in which they were; the last is the one ART's readers see."""
        newest, earlier = self._path(split, step), self._earlier(split, step)
        if not newest.exists():
            return tuple(path for _, path in sorted(earlier.items()))
        return (*(path for _, path in sorted(earlier.items()) if not path.samefile(newest)), newest)

    def append(self, row: Row) -> Row:
        """Add a row of metrics alone; returns it with the running totals."""
        with self._held():
            row = self._with_totals(row, ())
            self.history.append(dumps(row))
        return row

    def state(self) -> JsonObject | None:
        """The content of `state.json`; None when there is none.

        Raises:
            TrackingError: It is not a JSON object.
        """
        path = self.root / STATE_NAME
        with translate_os_errors(path, "read"):
            data = safe_files.read_if_there(path)
        if data is None:
            return None
        try:
            found = loads(data)
        except CodecError as exc:
            raise TrackingError(f"{path} is not JSON: {exc}; repair or remove it") from exc
        if not isinstance(found, dict):
            raise TrackingError(f"{path} is not a JSON object; repair or remove it")
        return found

    def change_state(self, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
        """Replace the content of `state.json` by what `change` makes of it; other processes wait meanwhile."""
        with self._held():
            return self._change_state(change)

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """A new file to write to, which is gone at the end unless it was published."""
        staging = self.root / ".staging"
        with self._held(), translate_os_errors(staging):
            staging.mkdir(exist_ok=True)
            with safe_files.open_folder(staging, self.root) as folder:
                names = set(safe_files.names_in(staging, self.root))
                for name in sorted(names, reverse=True):  # second names before the first ones
                    if name.endswith(_ROW_TO_COME):
                        is_published = name.removesuffix(_ROW_TO_COME) not in names
                        self._complete_published(staging / name, is_published=is_published)
                    else:
                        remove_if_left(name, folder)
            path = staging / f"{os.getpid()}-{next(_serial)}.parquet"
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            hold(fd)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)
            os.close(fd)

    def publish(self, staged: Path, split: str, step: int, *, on_repeat: OnRepeat) -> Row:
        """Rename a finished file to its final name and append its history line; returns the row of the history."""
        with self._held():
            there = self.trajectories(split, step)
            row, scenarios = _footer_row(staged)
            if there and on_repeat == "refuse":
                raise repeated(split, step, there[0])
            if on_repeat == "once":
                for path in there:
                    if same_content(path, staged):
                        return self._complete(path)
            row = self._with_totals(row, scenarios)
            target = self._path(split, step)
            with translate_os_errors(target):
                _make_folder(target.parent)
                if on_repeat != "replace":
                    self._keep_beside(target, split, step)
                row_to_come = staged.with_name(f"{staged.name}{_ROW_TO_COME}")
                _link(staged, row_to_come)
                staged.replace(target)
                sync_folder(target.parent)
            self.history.append(dumps(row))
            row_to_come.unlink(missing_ok=True)
        return row

    def _keep_beside(self, newest: Path, split: str, step: int) -> None:
        """Give the newest file of a step, which is about to be followed, a name of its own besides.

        There is a file at ART's path at every moment. Who is killed in between leaves one file of two names, which is
        one.
        """
        earlier = self._earlier(split, step)
        if not newest.exists() or any(path.samefile(newest) for path in earlier.values()):
            return
        number = next(number for number in count(1) if number not in earlier)
        kept = newest.with_name(f"{step:04d}.v{number}.parquet")
        if not _link(newest, kept):
            copied = self.root / ".staging" / f"{os.getpid()}-{next(_serial)}.copy"
            shutil.copyfile(newest, copied)
            _sync(copied)
            copied.replace(kept)
        sync_folder(kept.parent)

    def _complete_published(self, second_name: Path, *, is_published: bool) -> None:
        if is_published and second_name.stat().st_nlink > 1:  # 1 = it was replaced meanwhile
            self._complete(second_name)
        second_name.unlink()

    def _complete(self, path: Path) -> Row:
        """The row of a published file, written now if its writer was killed before it could."""
        row, scenarios = _footer_row(path)
        given = without_totals(row)  # a metric of the caller's may have the name of an average
        for written in self.history.rows():
            if without_totals(written) == given:
                return written
        row = self._with_totals(row, scenarios)
        self.history.append(dumps(row))
        return row

    def _with_totals(self, row: Row, scenarios: Sequence[str]) -> Row:
        """A row that is about to be appended, with the running totals; `state.json` has them for ART's code."""
        if self.history.size < self._counted_to:
            self._totals, self._counted_to = RunningTotals(), 0
        for written, end in self.history.rows_from(self._counted_to):
            self._totals.add(written)
            self._counted_to = end
        totals = RunningTotals(self._totals.sums)
        found = totals.add(row)
        if found or scenarios:
            state = self._change_state(lambda state: _counted(state, totals.sums, scenarios))
            if scenarios:
                found[SCENARIOS] = float(len(state[TOTALS_KEY][_SCENARIO_IDS]))
        return with_totals(row, found, LAST_COLUMNS)

    def _change_state(self, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
        found = change(self.state() or {})
        write_atomic(self.root / STATE_NAME, dumps(found, pretty=True), within=Within(self.root))
        return found

    def _path(self, split: str, step: int) -> Path:
        return self._split(split) / f"{step:04d}.parquet"

    def _earlier(self, split: str, step: int) -> dict[int, Path]:
        pattern = re.compile(rf"{step:04d}\.v([0-9]+)\.parquet")
        found = _files(self._split(split))
        return {int(match[1]): path for path in found if (match := pattern.fullmatch(path.name))}

    def _split(self, split: str) -> Path:
        return self.root / "trajectories" / path_part(split, "split")

    @contextmanager
    def _held(self) -> Iterator[None]:
        """The model's lock; blocks until it is free, so never call this on the event loop."""
        with translate_os_errors(self.root):
            _make_folder(self.root)
            fd = safe_files.open_regular(self.root / ".lock", os.O_RDWR | os.O_CREAT)
        try:
            with translate_os_errors(self.root):
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)  # a process forked meanwhile, as by a data loader, has it open, too
            os.close(fd)


def repeated(split: str, step: int, path: Path) -> TrackingError:
    return TrackingError(
        f"step {step} of split {split!r} was already logged ({path}): give another step, "
        "or on_repeat='version' to keep both"
    )


def _footer_row(path: Path) -> tuple[Row, tuple[str, ...]]:
    """The history line of a trajectory file, without totals, and its scenarios."""
    return dict(loads(footer_of(path, ROW_KEY) or "{}")), tuple(loads(footer_of(path, SCENARIOS_KEY) or "[]"))


def _counted(state: JsonObject, sums: Mapping[str, float], scenarios: Sequence[str]) -> JsonObject:
    kept = state.get(TOTALS_KEY)
    known = kept.get(_SCENARIO_IDS) if isinstance(kept, dict) else None
    ids = dict.fromkeys([*(map(str, known) if isinstance(known, list) else ()), *scenarios])
    return {**state, TOTALS_KEY: {"cum_state": dict(sums), _SCENARIO_IDS: list(ids)}}


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    with translate_os_errors(folder, "read"):
        return sorted(folder.iterdir())


def _link(path: Path, second_name: Path) -> bool:
    """False = the file system has no second names."""
    try:
        os.link(path, second_name)
    except OSError as exc:
        if exc.errno not in _NO_LINKS:
            raise
        return False
    return True


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync(fd)
    finally:
        os.close(fd)


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir()
        sync_folder(folder.parent)
