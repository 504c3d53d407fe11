"""The pending jobs of a run: tasks and their results in, jobs out. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.choices import Dialect
from harness.episode.job import Job
from harness.journal.index import EpisodeResult, Outcomes
from harness.records import Status, Task
from harness.settings.resume import ResumeSettings
from harness.settings.run import RunSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPolicy:
    scoring: Dialect
    """The scoring that must be there for a task to be finished."""
    resume: ResumeSettings = field(default_factory=ResumeSettings)
    run: RunSettings = field(default_factory=RunSettings)
    asked: Mapping[tuple[str, int], int] | None = None
    """Which ones, by task and trial, and the attempt each was at when that was asked; None = it is asked now."""

    @property
    def dialect(self) -> str:
        return self.scoring.value


def pending_jobs(tasks: Sequence[Task], trials: int, outcomes: Outcomes, policy: PendingPolicy) -> tuple[Job, ...]:
    """List the jobs of all trials, in task order, trial by trial."""
    jobs = list[Job]()
    for trial in range(trials):
        for task in tasks:
            became = outcomes.get((task.task_id, trial))
            if became is None or not is_finished(became, policy):
                jobs.append(Job(task=task, trial=trial))
            elif wants_retry(became, policy):
                jobs.append(Job(task=task, trial=trial, reopen_at=became.attempt))
    return tuple(jobs)


def is_finished(became: EpisodeResult, policy: PendingPolicy) -> bool:
    """Scored, out of attempts, or set aside because of a doubt."""
    if became.closed is not None:
        return policy.dialect in became.scores
    return became.is_set_aside or became.failures >= policy.resume.max_attempts


def wants_retry(became: EpisodeResult, policy: PendingPolicy) -> bool:
    """Whether the person asked for this ended task to be opened again, and it was not yet."""
    if policy.run.retry is not None and policy.asked is not None:
        # A task that was opened again is at a later attempt, so a killed command does not open it twice.
        return policy.asked.get((became.task_id, became.trial)) == became.attempt
    score = became.scores.get(policy.dialect)
    unscored = score is None or score.status is Status.ERROR
    match policy.run.retry:
        case "infra":
            return unscored
        case "failed":
            return unscored or (score is not None and score.value != 1.0)
        case "all":
            return True
        case _:
            return False
