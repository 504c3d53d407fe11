"""What a run still owes: tasks and journals in, jobs out; pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from harness.records import Episode, Status, Task
from harness.runner.episode import Job

RETRIES = ("infra", "failed", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What counts as owed."""

    dialect: str
    """The scoring that must be there for a task to be finished."""
    max_attempts: int
    retry: str | None = None
    """`infra`, `failed` or `all`: ended tasks to open again."""


def owed(
    tasks: Sequence[Task], trials: int, standing: Callable[[Task, int], Episode], policy: Policy
) -> tuple[Job, ...]:
    """List what is owed, unfinished attempts of every trial included, in task order, trial by trial."""
    return tuple(_owed(tasks, range(trials), standing, policy))


def _owed(
    tasks: Sequence[Task], trials: Iterable[int], standing: Callable[[Task, int], Episode], policy: Policy
) -> Iterable[Job]:
    for trial in trials:
        for task in tasks:
            episode = standing(task, trial)
            if wants_retry(episode, policy):
                yield Job(task=task, trial=trial, reopen=True)
            elif not is_over(episode, policy):
                yield Job(task=task, trial=trial)


def is_over(episode: Episode, policy: Policy) -> bool:
    """Scored, or out of attempts."""
    if episode.closed is not None:
        return policy.dialect in episode.scores
    return len(episode.failures) >= policy.max_attempts


def wants_retry(episode: Episode, policy: Policy) -> bool:
    """Whether the person asked for this ended episode to be opened again."""
    if policy.retry is None or not is_over(episode, policy):
        return False
    score = episode.scores.get(policy.dialect)
    unscored = episode.closed is None or score is None or score.status is Status.ERROR
    match policy.retry:
        case "infra":
            return episode.closed is None
        case "failed":
            return unscored or (score is not None and score.value != 1.0)
        case _:
            return True
