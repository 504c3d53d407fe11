"""Shards: the tasks of a run divided by a hash of their ids, the same on every machine and in every order."""

import re
from collections.abc import Sequence
from hashlib import sha256

from harness.errors import TaskError
from harness.records import Task

_SHARD = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})", re.ASCII)


def shard_of(task_id: str, count: int) -> int:
    """The shard of a task, from 1 to `count`; depends only on its id, so a corrected task stays in its shard."""
    # Python's own hash of a text differs from process to process.
    return int.from_bytes(sha256(task_id.encode()).digest()[:8]) % count + 1


def in_shard(tasks: Sequence[Task], shard: str | None) -> tuple[Task, ...]:
    """The tasks of shard `K/N`; None = all.

    Raises:
        TaskError: That is not a shard, or it holds none of these tasks.
    """
    if shard is None:
        return tuple(tasks)
    found = _SHARD.fullmatch(shard)
    if found is None or int(found[1]) > int(found[2]):
        raise TaskError(f"task.shard={shard} is not a shard; give K/N with K from 1 to N, as in task.shard=1/4")
    kept = tuple(task for task in tasks if shard_of(task.task_id, int(found[2])) == int(found[1]))
    if not kept:
        raise TaskError(
            f"task.shard={shard} contains none of these {len(tasks)} tasks; use fewer shards, or skip this one"
        )
    return kept
