"""Task files: read, select, check and expand tasks of WebArena's schema.

A task file is untrusted data: every field is checked before it becomes a `Task`, nothing in it is executed,
and a complaint is one sentence with file, task and field. Running and judging tasks is not done here.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from harness.api import Attack
from harness.codec import plain
from harness.errors import HarnessError, TaskError, plugin_boundary, said_by
from harness.records import Task
from harness.tasks.further_keys import TASK_KEYS
from harness.tasks.parse_task import build
from harness.tasks.selection import Ids, Split, select
from harness.tasks.task_file import TaskEntry, read
from harness.tasks.unknown_keys import refuse_unread


def load(  # noqa: PLR0913 (the settings of a task group)
    path: str | Path,
    sites: Mapping[str, str],
    *,
    split: Split | None = None,
    ids: Ids | None = None,
    wanted_sites: Iterable[str] | None = None,
    limit: int | None = None,
    evaluators: Collection[str] = (),
    given: Iterable[object] | None = None,
    attack: Attack | None = None,
) -> tuple[Task, ...]:
    """Read the tasks of `path` that are asked for, in the file's order.

    Args:
        path: One JSON array, a JSONL file, or a folder of `{task_id}.json`.
        sites: Site name to canonical base URL, for the placeholders (`shop` for `__SHOP__`).
        split: Only tasks that are in it; None = all.
        ids: `"0-99,120"`, or several of such pieces; None = all.
        wanted_sites: Only tasks that need no other sites than these; None = all.
        limit: At most so many, the first ones; None = all.
        evaluators: Eval types besides the shipped ones.
        given: What a benchmark gives in the place of a file's entries; `path` then only says where from.
        attack: What changes the selected ones, see `Attack.keys`.
    Raises:
        TaskError: The file is missing or wrong, or nothing is left to run.
    """
    path = Path(path)
    # Only what is selected is checked: other tasks of the file may ask for what is not done here.
    present = read(path, given)
    if not present:
        raise TaskError(f"{path}: contains no tasks; give a file or folder that has some")
    entries = select(present, path, split=split, ids=ids, wanted_sites=wanted_sites, limit=limit)
    if not entries:
        raise TaskError(f"{path}: no task is selected; change task.split, task.ids or task.sites, or raise task.limit")
    # An address may end with a slash, and `__SHOP__/a` brings one.
    bases = {name: base.rstrip("/") for name, base in sites.items()}
    if given is None:  # a benchmark reads further keys of its tasks itself
        known = TASK_KEYS.names()
        for entry in entries:
            refuse_unread(entry.place, entry.fields, evaluators, known)
    # Before `build`, which checks what an attack adds as it checks a file.
    if attack is not None:
        entries = tuple(_attacked(entry, attack) for entry in entries)
    return tuple(build(entry, bases, evaluators) for entry in entries)


def _attacked(entry: TaskEntry, attack: Attack) -> TaskEntry:
    """Raises: TaskError: The class fails, or changes what a task is known by."""

    def failed(error: BaseException) -> TaskError:
        said = " ".join(said_by(error).split())[:300]
        return TaskError(f"{entry.place}: {type(attack).__name__}.keys raised {type(error).__name__}: {said}")

    with plugin_boundary(failed, passes=(HarnessError,)):
        keys = plain(dict(attack.keys(entry.fields)))
    if keys.get("task_id", entry.fields.get("task_id")) != entry.fields.get("task_id"):
        raise TaskError(f"{entry.place}: {type(attack).__name__}.keys gives another task_id; leave it out")
    return replace(entry, fields={**entry.fields, **keys})
