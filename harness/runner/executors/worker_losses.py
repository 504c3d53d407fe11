"""Attributes a lost worker to one of the jobs that ran on it.

All jobs of a lost worker are interrupted, and at most one of them is the cause. So the first loss of a job at a point
of its journal does not count. A job that loses a second worker at the same point is a suspect: it runs alone on a
worker until it gets further, and a worker lost meanwhile counts as a failure of that job. No job uses up an attempt
because of another job on its worker. A job of a hosted run that waits for its client does nothing: it is neither a
suspect nor company.
Why: docs/decisions/resume.md#how-a-lost-worker-is-attributed
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness import EVALUATOR_VERSION
from harness.choices import Dialect
from harness.episode.job import Job, task_digest
from harness.episode.recorder import JournalWriter
from harness.episode.references import is_scored_with, reference_for, with_asked_scores
from harness.journal.index import result_of
from harness.protocols import Phase, ProgressEvent
from harness.records import Episode, Failed, Record, Scored, Status, Usage, Verdict
from harness.runner.pending import PendingPolicy, is_finished

_Key = tuple[str, int]
_ACTING = (Phase.acting,)
"""Phases of a lane whose step has surely been decided: evidence is gathered, too, when limits end an episode."""


@dataclass(slots=True)
class _Loss:
    """What a job was at when it last lost a worker."""

    attempt: int
    point: int
    """Records of whole steps and of a pending decision, counted."""
    closed: bool
    """Whether only its score was pending."""
    count: int = 1
    """Workers lost here without a record in between."""
    failures: int = 0
    """Of them, those that count as the job's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossVerdict:
    """What the loss of its worker means for a job."""

    note: str
    begun: bool = False
    """Whether the worker had begun it."""
    over: bool = False
    """Whether it is not pending any more."""
    step: int = 0
    """Steps recorded."""
    usage: Usage = field(default_factory=Usage)
    """What the episode cost, when it is over."""


class WorkerLosses:
    """Keeps account over all workers of a run."""

    def __init__(self, policy: PendingPolicy, clock: Callable[[], float] = time.time) -> None:
        self._policy = policy
        self._clock = clock
        self._lost: dict[_Key, _Loss] = {}

    def is_suspect(self, job: Job) -> bool:
        """Whether it has to be played alone."""
        loss = self._lost.get(_key(job))
        # Not after the first loss: after one shortage of memory, every job of the worker would have to be alone.
        return loss is not None and loss.count > 1

    def judge(self, job: Job, journal: JournalWriter, *, alone: bool, waited: bool = False) -> LossVerdict:
        """Take note that a job lost its worker, and record it if that is a failure of its own.

        Args:
            alone: Whether no other job was on the worker, but for such that waited for their clients.
            waited: Whether it waited for its client itself.
        """
        episode, note = journal.episode, "its worker was lost"
        # Nothing of this attempt was written: such a loss counts as a start of the worker without work.
        if episode.opened is None or job.reopens(episode.attempt):
            return LossVerdict(note=note)
        if waited:
            return LossVerdict(note=note, begun=True, step=len(episode.steps))
        loss = self._noted(job, episode)
        # Any task of the worker may have caused the loss; only one that was alone on it is sure to have.
        if loss.count > 1 and alone:
            loss.failures += 1
            note += " again, while it ran no other task"
            for record in self._records(job, episode, loss.failures):
                journal.append(record)
        elif loss.count > 1:
            note += " again; it runs alone on a worker until it gets further"
        became = result_of(journal.episode)
        over = became is not None and is_finished(with_asked_scores(became, task_digest(job.task)), self._policy)
        usage = episode.usage if over else Usage()
        return LossVerdict(note=note, begun=True, over=over, step=len(episode.steps), usage=usage)

    def _noted(self, job: Job, episode: Episode) -> _Loss:
        now = _Loss(episode.attempt, _point(episode), episode.closed is not None)
        before = self._lost.get(_key(job))
        if before is None or (before.attempt, before.point, before.closed) != (now.attempt, now.point, now.closed):
            self._lost[_key(job)] = now
            return now
        before.count += 1
        return before

    def _records(self, job: Job, episode: Episode, lost: int) -> tuple[Record, ...]:
        """What a loss that counts leaves: a failure or, where only the score was pending, in the end that there is
        none.
        """
        at = self._clock()
        if episode.closed is None:
            message = f"its worker was lost at step {len(episode.steps) + 1}, while it ran no other task"
            return (Failed(attempt=episode.attempt, boundary="worker", type="WorkerLost", message=message, at=at),)
        # No failure may follow `closed` in a journal, so the score itself becomes an error.
        return _unjudged(job, episode, lost=lost, at=at) if lost >= self._policy.resume.max_attempts else ()

    def hear(self, event: ProgressEvent) -> bool:
        """Forget the loss once the job got past the point where its worker died; whether it had been suspected."""
        key = (event.task_id, event.trial)
        loss = self._lost.get(key)
        # Counted as `_point` counts: two for each whole step, one for a pending decision.
        if loss is None or (event.step - 1) * 2 + (event.phase in _ACTING) <= loss.point:
            return False
        del self._lost[key]
        return loss.count > 1

    def settled(self, job: Job) -> None:
        """It left its worker whole."""
        self._lost.pop(_key(job), None)


class GivenJobs:
    """The jobs that one life of a worker has been given and has not settled."""

    def __init__(self, losses: WorkerLosses, *, is_hosted: bool = False) -> None:
        """Args: is_hosted: Whether clients decide, one of which may wait for the steps of all others."""
        self._losses = losses
        self._is_hosted = is_hosted
        self._on: dict[int, Job] = {}
        self._waiting: set[int] = set()
        self._door = asyncio.Lock()
        self._fewer = asyncio.Event()

    @property
    def jobs(self) -> Mapping[int, Job]:
        """By lane."""
        return self._on

    def waits(self, lane: int) -> bool:
        """Whether the job of a lane waits for its client."""
        return lane in self._waiting

    @property
    def active(self) -> Mapping[int, Job]:
        """Those that do not wait for their clients, by lane."""
        return {lane: job for lane, job in self._on.items() if not self.waits(lane)}

    async def admit(self, lane: int, job: Job) -> None:
        """Wait, first come first served, until neither this job nor an active one has to run alone."""
        async with self._door:
            while (active := self.active.values()) and any(map(self._losses.is_suspect, (job, *active))):
                self._fewer.clear()
                await self._fewer.wait()
            self._on[lane] = job

    def leave(self, lane: int) -> None:
        job = self._on.pop(lane, None)
        self._waiting.discard(lane)
        if job is not None:
            self._losses.settled(job)
        self._fewer.set()

    def hear(self, event: ProgressEvent) -> None:
        if not event.task_id:
            return
        waits = self._is_hosted and event.phase is Phase.deciding
        (self._waiting.add if waits else self._waiting.discard)(event.lane)
        if self._losses.hear(event) or waits:
            self._fewer.set()


def _unjudged(job: Job, episode: Episode, *, lost: int, at: float) -> tuple[Scored, ...]:
    """That there is no score, in every dialect there is none in yet."""
    assert episode.opened is not None
    reference = reference_for(job.task, episode.opened)
    why = f"{lost} workers were lost while they scored only this task"
    return tuple(
        Scored(
            dialect=dialect.value,
            evaluator_version=f"{EVALUATOR_VERSION}-{dialect.value}",
            status=Status.ERROR,
            value=None,
            verdicts=tuple(
                Verdict(evaluator=name, status=Status.ERROR, value=None, why=why) for name in job.task.eval.eval_types
            ),
            reference=reference,
            at=at,
        )
        for dialect in Dialect
        if not is_scored_with(episode.scores.get(dialect.value), reference)
    )


def _key(job: Job) -> _Key:
    return job.task.task_id, job.trial


def _point(episode: Episode) -> int:
    return len(episode.steps) * 2 + (episode.pending is not None)
