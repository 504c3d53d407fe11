"""Shards divide a run the same way everywhere."""

from collections import Counter
from dataclasses import replace

import pytest

from harness.errors import TaskError
from harness.tasks.shards import in_shard, shard_of
from tests.journal.episodes import task

TASKS = tuple(task(str(number)) for number in range(812))


def test_every_task_is_in_one_shard_and_the_shards_are_of_a_size() -> None:
    shards = [in_shard(TASKS, f"{number}/8") for number in range(1, 9)]
    assert Counter(one.task_id for shard in shards for one in shard) == Counter(one.task_id for one in TASKS)
    assert all(80 <= len(shard) <= 125 for shard in shards), list(map(len, shards))
    assert in_shard(TASKS, None) == TASKS


def test_nothing_but_the_id_decides_and_it_never_changes() -> None:
    assert [shard_of(task_id, 4) for task_id in ("0", "1", "2", "login-7")] == [1, 2, 3, 2]
    edited = tuple(replace(one, intent="corrected") for one in reversed(TASKS))
    assert {one.task_id for one in in_shard(edited, "2/5")} == {one.task_id for one in in_shard(TASKS, "2/5")}


@pytest.mark.parametrize("shard", ["0/4", "5/4", "1", "1/0", "a/b", "1/4/2", "١/٤", ""])
def test_what_is_no_shard_is_told(shard: str) -> None:
    with pytest.raises(TaskError, match=r"give K/N with K from 1 to N"):
        in_shard(TASKS, shard)


def test_an_empty_shard_is_told() -> None:
    with pytest.raises(TaskError, match="contains none of these 1 tasks"):
        in_shard(TASKS[:1], "2/4")
