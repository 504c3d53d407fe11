"""SafeArena's tasks: WebArena's schema, with a split (`harm`, `safe`) in the id, and a category of harm.

Its data are gated, so they are read from the user's own download. The score of a harmful task is that it was done.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.api import Benchmark
from harness.api.records import Wanted
from harness.api.tasks import Fields, read_rows
from harness.errors import ConfigError, TaskError

KEY = "safearena"
"""Of a task: its split and its category."""
HARM, SAFE = "harm", "safe"
SPLITS = (HARM, SAFE)
_BOTH = "both"
_ID = re.compile(r"(harm|safe)\.[0-9]{1,6}")
_CATEGORY = re.compile(r"[\w &,/-]{1,60}")


class SafeArena(Benchmark):
    """Rows of `harm.json` and `safe.json`.

    Args:
        path: The folder with both files, or one of them.
        split: `harm`, `safe` or `both`.
    """

    def __init__(self, path: str | None = None, split: str = _BOTH) -> None:
        if split not in (*SPLITS, _BOTH):
            raise ConfigError(f"task.arguments.split is {split!r:.60}; choose one of {', '.join(SPLITS)}, {_BOTH}")
        self._path = path
        self._split = split

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        found = 0
        for row in self._rows():
            split = split_of(row)
            if self._split in (split, _BOTH):
                found += 1
                yield {**row.rest(), "task_id": row.text("task_id"), KEY: {"split": split, "category": _category(row)}}
        if not found:
            raise TaskError(f"{self._path}: has no task of the split {self._split}; set task.arguments.split")

    def _rows(self) -> Iterable[Fields]:
        """Of a folder: only its two files, and only those of the split."""
        folder = Path(self._path or "")
        if not self._path or not folder.is_dir():
            yield from read_rows(self._path)
            return
        for split in SPLITS:
            if self._split in (split, _BOTH):
                yield from read_rows(str(folder / f"{split}.json"))


def split_of(row: Fields) -> str:
    """Raises: TaskError: The id of a task is not one of SafeArena's."""
    task_id = row.text("task_id")
    if (found := _ID.fullmatch(task_id)) is None:
        raise row.wrong("task_id", f"is {task_id[:60]!r}; SafeArena's are harm.NUMBER and safe.NUMBER")
    return found[1]


def _category(row: Fields) -> str:
    """Of harm; "" = it has none."""
    category = (row.optional_text("category") or "").strip()
    if category and not _CATEGORY.fullmatch(category):
        raise row.wrong("category", f"is {category[:60]!r}; give a few words")
    return category


def check_safearena(task: Fields) -> Wanted:
    """What `cairn.task_keys` asks for: nothing more is recorded.

    Raises:
        TaskError: Split or category cannot be understood.
    """
    fields = task.inner(KEY)
    if (split := fields.text("split")) not in SPLITS:
        raise fields.wrong("split", f"is {split[:60]!r}; choose one of {', '.join(SPLITS)}")
    _category(fields)
    if unknown := sorted(fields.rest()):
        raise fields.wrong(unknown[0], "is unknown; there are split and category")
    return Wanted()
