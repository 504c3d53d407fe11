"""From a file or folder to raw tasks, each with an id and the place it was read from.

Ids become file names later, so they are checked here, together with being unique. No other field is looked at.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.codec import CodecError, JsonObject, loads, plain
from harness.errors import TaskError, UnsafeFile
from harness.files import safe_files

# A line of a journal holds 120 levels of free values, and a task is a part of one.
_DEEPEST = 100
_SAFE_ID = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,64}", re.ASCII)
# Trial 1 of `x` and trial 0 of `x.trial-1` would have one journal.
_TRIAL_SUFFIX = re.compile(r"\.trial-\d+(\.|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEntry:
    """A task as it stands in a file, unchecked but for its id."""

    task_id: str
    place: str
    """Its place in the file, as messages name it."""
    file: Path
    fields: JsonObject


def read(path: Path, given: Iterable[object] | None = None) -> tuple[TaskEntry, ...]:
    """All tasks of `path`, or those that are given, unchecked but for their ids."""
    try:
        if given is not None:
            raw = [(path, f"{path}, entry {index}", _given(path, index, entry)) for index, entry in enumerate(given)]
        else:
            raw = _read_folder(path) if path.is_dir() else _read_file(path)
    except FileNotFoundError as exc:
        raise TaskError(
            f"{path}: there is no such file or folder; correct the path of the tasks (task.path, --tasks, or `path` in"
            " a suite file)"
        ) from exc
    except OSError as exc:
        raise TaskError(f"{path}: cannot be read ({exc.strerror})") from exc
    first_place: dict[str, str] = {}
    entries = []
    for file, place, value in raw:
        entry = _entry(file, place, value)
        if entry.task_id in first_place:
            raise TaskError(f"{entry.place}: task id {entry.task_id!r} is already used in {first_place[entry.task_id]}")
        first_place[entry.task_id] = place
        entries.append(entry)
    return tuple(entries)


def _given(path: Path, index: int, entry: object) -> Any:
    try:
        return plain(entry)
    except CodecError as exc:
        raise TaskError(f"{path}, entry {index}: is not JSON ({exc})") from exc


_Raw = tuple[Path, str, Any]
"""File, place within it, JSON value."""


def _read_folder(folder: Path) -> list[_Raw]:
    files = [file for file in folder.glob("*.json") if file.is_file()]
    # WebArena's folder holds `test.raw.json` beside the numbered files, with all of their tasks once more.
    numbered = [file for file in files if re.fullmatch(r"\d+", file.stem, re.ASCII)]
    chosen = sorted(numbered or files, key=lambda file: _natural(file.stem))
    if not chosen:
        raise TaskError(f"{folder}: this folder contains no .json files; give a folder of {{task_id}}.json, or a file")
    return [(file, str(file), _parse(_bytes(file), str(file))) for file in chosen]


def _natural(stem: str) -> list[tuple[int, str]]:
    # What Python calls a digit may be no number, as `²`.
    parts = re.split(r"([0-9]+)", stem)
    return [(int(part), "") if part.isascii() and part.isdecimal() else (-1, part) for part in parts]


def _read_file(file: Path) -> list[_Raw]:
    data = _bytes(file)
    if file.suffix == ".jsonl":
        lines = [(number, line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
        return [(file, f"{file}:{number}", _parse(line, f"{file}:{number}")) for number, line in lines]
    value = _parse(data, str(file))
    if isinstance(value, dict):
        return [(file, str(file), value)]
    if not isinstance(value, list):
        raise TaskError(f"{file}: contains {_kind(value)}; a task file is a JSON array of tasks")
    return [(file, f"{file}, entry {index}", item) for index, item in enumerate(value)]


def _bytes(file: Path) -> bytes:
    """What a file holds; a link to one is the person's own, a FIFO or a device would never end."""
    try:
        return safe_files.read_named(file)
    except UnsafeFile as exc:
        raise TaskError(f"{file}: the file cannot be read ({exc.why}); give a file or folder of tasks") from exc


def _parse(data: bytes, place: str) -> Any:
    if not data.strip():
        raise TaskError(f"{place}: is empty; a task file is a JSON array of tasks")
    try:
        return loads(data)
    except ValueError as exc:
        fix = "" if _is_utf8(data) or "save it as UTF-8" in str(exc) else "; save it as UTF-8"
        raise TaskError(f"{place}: is not valid JSON ({exc}){fix}") from exc


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _entry(file: Path, place: str, value: Any) -> TaskEntry:
    if not isinstance(value, dict):
        raise TaskError(f"{place}: contains {_kind(value)}; a task is a JSON object")
    task_id = value.get("task_id")
    if isinstance(task_id, int) and not isinstance(task_id, bool):
        task_id = str(task_id)
    if not isinstance(task_id, str):
        raise TaskError(f"{place}: field `task_id` is missing or is neither a number nor a string")
    if not _SAFE_ID.fullmatch(task_id) or _TRIAL_SUFFIX.search(task_id):
        raise TaskError(
            f"{place}: field `task_id` is {task_id!r}; ids become file names, so use 1 to 64 of A-Z a-z 0-9 . _ - "
            "without a leading dot or a `.trial-N` in it"
        )
    if (deep := _deepest(value)) is not None:
        raise TaskError(f"{place}: field `{deep}` is nested more than {_DEEPEST} levels deep; flatten it")
    return TaskEntry(task_id=task_id, place=f"{file}: task {task_id}", file=file, fields=value)


def _deepest(task: JsonObject) -> str | None:
    """A field that is nested too deeply to be walked through and written down; None when there is none."""
    for key, value in task.items():
        # Level by level: recursion would fail on the very tasks that are looked for.
        level = [value]
        for _ in range(_DEEPEST):
            if not (level := [inner for outer in level for inner in _inside(outer)]):
                break
        else:
            return key
    return None


def _inside(value: Any) -> Iterable[Any]:
    """What may be nested further."""
    found = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (inner for inner in found if isinstance(inner, dict | list))


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
