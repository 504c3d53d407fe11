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
    seed: int | None = None
    """Of a new attempt; None = `run.seed` + trial."""
    reopen_at: int | None = None
    """The ended attempt after which a new one was asked for (`run.retry`); None = it was not."""
    instances: Mapping[str, str] = field(default_factory=dict)
    """Site to the real base URL to play it on, for sites of which there are several."""
    clean: tuple[str, ...] = ()
    """Sites that are at their seed, and stay so but for what this job does."""
    leftovers: tuple[str, ...] = ()
    """Sites that earlier attempts changed, or may have changed, and that were not reset since."""
    used_since: tuple[str, ...] = ()
    """Sites that other jobs of the run changed since it last did something: what they answer now says nothing of it."""
    withheld: str = ""
    """Why it cannot be played now although it was its turn; the lane only records that."""
    images: tuple[str, ...] = ()
    """Artifact hashes of the task's pictures, in its order."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Address or path to artifact hash, of further files that the benchmark asked for."""
    refused: str = ""
    """Why it cannot be played at all in this start: a picture or a file of its task cannot be had."""
    alone: bool = False
    """It was in a browser that broke while others were in it, and is played in one of its own."""

    def reopens(self, attempt: int) -> bool:
        """Whether a new attempt is to begin after this one, although it has ended."""
        # Not of a later one: a job that comes back from a lost worker must not play again what was asked for once.
        return attempt == self.reopen_at


def task_digest(task: Task) -> str:
    """The digest of a task, as it is recorded."""
    # Of the recorded form: the same task has the same digest on another machine.
    return digest(recorded_task(task))


def recorded_task(task: Task) -> Task:
    """The task without the folders of its files: where they are on this machine is not for a journal to say."""
    state = task.storage_state
    if state is not None:
        task = replace(task, storage_state=PurePath(state).name)
    if task.images:
        task = replace(task, images=tuple(one if "://" in one else PurePath(one).name for one in task.images))
    return task


def unplaced(job: Job) -> Job:
    """The job as it waits in the queue, without chosen instances."""
    return replace(job, instances={}, clean=(), leftovers=(), used_since=(), withheld="")
