"""Which tasks of a file are asked for.

An id that is asked for by name must exist; a range takes what is there, but not nothing.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import TaskError
from harness.tasks.task_file import TaskEntry

Ids = str | int | Iterable[str | int]
"""`"0-99,120"`, one number, or several of both."""

ALL = "all"
"""The split that every task is in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A part of the tasks that has a name."""

    name: str
    ids: Collection[str]


_RANGE = re.compile(r"(\d{1,18})\s*-\s*(\d{1,18})", re.ASCII)


def select(  # noqa: PLR0913 (the settings of a task group)
    entries: Sequence[TaskEntry],
    path: Path,
    *,
    split: Split | None = None,
    ids: Ids | None = None,
    wanted_sites: Iterable[str] | None = None,
    limit: int | None = None,
) -> tuple[TaskEntry, ...]:
    """Keep what is asked for, in the order of `entries`."""
    keep = tuple(entry for entry in entries if split is None or entry.task_id in split.ids)
    if ids is not None:
        try:
            chosen = chosen_ids([entry.task_id for entry in keep], path, ids)
        except TaskError as error:
            if split is None:
                raise
            raise TaskError(
                f"{error}; these are the tasks of task.split={split.name}, and task.split={ALL} has more"
            ) from error
        keep = tuple(entry for entry in keep if entry.task_id in chosen)
    if wanted_sites is not None:
        wanted = _wanted(entries, path, wanted_sites)
        keep = tuple(entry for entry in keep if _sites(entry) <= wanted)
    return keep[:limit]


def pieces_of(ids: Ids) -> list[str]:
    """Ids and ranges, one by one."""
    parts: Iterable[str | int] = [ids] if isinstance(ids, str | int) else ids
    pieces = [piece.strip() for part in parts for piece in str(part).split(",")]
    return [piece for piece in pieces if piece]


def chosen_ids(known: Sequence[str], path: Path, ids: Ids) -> set[str]:
    """Those of the known ids that are asked for.

    Raises:
        TaskError: One that is asked for does not exist.
    """
    present = set(known)
    chosen: set[str] = set()
    missing = []
    for piece in pieces_of(ids):
        # An id may look like a range: `5-7` that is there means itself.
        found = {piece} & present or set(filter(_within(piece), known))
        chosen |= found
        if not found:
            missing.append(piece)
    if missing:
        raise TaskError(f"{path}: task.ids asks for {', '.join(missing[:5])}, but {_there_is(known)}")
    return chosen


def _within(piece: str) -> Callable[[str], bool]:
    bounds = _RANGE.fullmatch(piece)
    if bounds is None:
        return lambda task_id: False
    first, last = int(bounds[1]), int(bounds[2])
    return lambda task_id: task_id.isascii() and task_id.isdigit() and first <= int(task_id) <= last


def _there_is(known: Sequence[str]) -> str:
    if not known:
        return "the file contains no tasks"
    return f"the file contains {len(known)} tasks, from {known[0]} to {known[-1]}"


def _sites(entry: TaskEntry) -> set[str]:
    sites = entry.fields.get("sites")
    return {str(site) for site in sites} if isinstance(sites, list) else set()


def _wanted(entries: Sequence[TaskEntry], path: Path, wanted_sites: Iterable[str]) -> set[str]:
    wanted = set(wanted_sites)
    there = set().union(*map(_sites, entries))
    if strangers := sorted(wanted - there):
        raise TaskError(
            f"{path}: task.sites asks for {', '.join(strangers)}, but its tasks use {', '.join(sorted(there))}"
        )
    return wanted
