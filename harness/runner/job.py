"""A job: one trial of a task, and where and how it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from harness.codec import digest
from harness.records import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One pending (task, trial)."""

    task: Task
    trial: int = 0
    reopen: bool = False
    """Begin a new attempt although the journal has an ended one (`run.retry`)."""
    instances: Mapping[str, str] = field(default_factory=dict)
    """Site to the real base URL to play it on, for sites of which there are several."""
    clean: tuple[str, ...] = ()
    """Sites that are at their seed, and stay so but for what this job does."""
    leftovers: tuple[str, ...] = ()
    """Sites that earlier attempts changed, or may have changed, and that were not reset since."""
    withheld: str = ""
    """Why it cannot be played now although it was its turn; the lane only records that."""
    alone: bool = False
    """It was in a browser that broke while others were in it, and is played in one of its own."""


def task_digest(task: Task) -> str:
    """The digest of a task, without the path of its file on this machine."""
    state = task.storage_state
    return digest(task if state is None else replace(task, storage_state=PurePath(state).name))


def unplaced(job: Job) -> Job:
    """The job as it waits in the queue, without chosen instances."""
    return replace(job, instances={}, clean=(), leftovers=(), withheld="")
