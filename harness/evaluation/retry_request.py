"""A retry that was requested with `run.retry`, stored until it is complete.

Invariant: one command with `run.retry` reopens each task and trial at most once, however often it is killed and
repeated; when all of them have ended, the same command starts a new request. So the list of episodes that had ended,
with the attempt of each, is written to the run folder before the first task runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.codec import dumps
from harness.files.disk import translate_os_errors
from harness.files.side_file import SideFile
from harness.journal.index import Outcomes
from harness.journal.store import RunFolder
from harness.records import Task
from harness.runner.pending import PendingPolicy, is_finished, pending_jobs, wants_retry

RETRY_NAME = "retry.json"
"""In a run folder: the request that is not complete yet."""
NOT_ASKED = 0
"""Instead of an attempt: it was not over then, or is none of those that were asked for."""


# A list beside the journals: a mark in `opened` would need a name for the command, and people repeat one on purpose.
@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    retry: str
    asked: tuple[tuple[str, int, int], ...]
    """Task id, trial, and the attempt it was at."""


Asked = dict[tuple[str, int], int]


def standing(
    policy: PendingPolicy, folder: Path, tasks: Sequence[Task], outcomes: Outcomes, *, trials: int
) -> PendingPolicy:
    """What counts as pending, including the retry request that is active or begins now; reads only.

    Raises:
        JournalError: What was asked for cannot be read.
    """
    if policy.run.retry is None:
        return policy
    asked = _read(folder / RETRY_NAME, policy.run.retry)
    for key in ((task.task_id, trial) for trial in range(trials) for task in tasks):
        if key not in asked:
            became = outcomes.get(key)
            wanted = became is not None and is_finished(became, policy) and wants_retry(became, policy)
            asked[key] = became.attempt if became is not None and wanted else NOT_ASKED
    return replace(policy, asked=asked)


def remember(policy: PendingPolicy, run: RunFolder, tasks: Sequence[Task], outcomes: Outcomes, *, trials: int) -> None:
    """Record the request before the first task runs."""
    policy = standing(policy, run.path, tasks, outcomes, trials=trials)
    if policy.run.retry is not None and policy.asked is not None:
        _write(run, policy.run.retry, policy.asked)


def settle(policy: PendingPolicy, run: RunFolder, tasks: Sequence[Task], outcomes: Outcomes, *, trials: int) -> None:
    """Remove the request for these tasks when all of them have ended, whichever command has played them."""
    path = run.path / RETRY_NAME
    # Its own value: a command without `run.retry` may have finished what another one asked for and reopened.
    if (kept := SideFile(RETRY_NAME, _Asked).find(run.path)) is None:
        return
    asks_itself = policy.run.retry is not None
    policy = replace(policy, run=replace(policy.run, retry=kept.retry))
    if pending_jobs(tasks, trials, outcomes, standing(policy, run.path, tasks, outcomes, trials=trials)):
        return
    # What was asked for tasks and trials that this command leaves out is kept.
    mine = {(task.task_id, trial) for task in tasks for trial in range(trials)}
    asked = _read(path, kept.retry)
    if left := {key: attempt for key, attempt in asked.items() if key not in mine}:
        # Without `run.retry`, the whole of it: the command that asked would open again what this one has finished.
        _write(run, kept.retry, left if asks_itself else asked)
    else:
        with translate_os_errors(path, "remove"):
            path.unlink(missing_ok=True)


def _read(path: Path, retry: str) -> Asked:
    """The recorded request with that value of `run.retry`; one with another value does not count."""
    fix = f"restore it, or delete it: run.retry={retry} then retries everything again"
    kept = SideFile(path.name, _Asked, fix).read(path.parent)
    if kept is None or kept.retry != retry:
        return {}
    return {(task_id, trial): attempt for task_id, trial, attempt in kept.asked}


def _write(run: RunFolder, retry: str, asked: Mapping[tuple[str, int], int]) -> None:
    lines = [[task_id, trial, attempt] for (task_id, trial), attempt in asked.items()]
    run.write(RETRY_NAME, dumps({"retry": retry, "asked": lines}) + b"\n")
