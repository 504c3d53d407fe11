"""Writes the records of an episode to its journal through one writer, and artifacts before the records that name them.

The only state are effects that are in no record yet; the next record that has the field takes them.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from harness.actions.truncate import MOST_OF_A_MESSAGE, cut
from harness.api import Agent, Artifacts, ObservationRenderer
from harness.codec import dumps
from harness.episode.artifacts import CountedArtifacts, store_response
from harness.episode.attempt import StopRules, Termination, check_termination, overspent, stop_rules
from harness.episode.background import SerialWriter
from harness.errors import BrowserLost, InfraError, ShutdownRequested, said_by
from harness.journal.prompt_store import put_messages
from harness.llm.request_scope import RequestScope
from harness.protocols import EpisodeScorer, InDoubt, Progress, SessionAgent, StagingArtifacts, StoredReply
from harness.records import (
    Doubt,
    DoubtReason,
    DoubtResolution,
    Episode,
    EpisodeLimits,
    Failed,
    Judged,
    Late,
    LiveObservation,
    Message,
    Observation,
    Record,
    Replied,
    Reply,
    SideEffect,
    Task,
    Usage,
)
from harness.secrets.redaction import NO_SECRETS, Redactor

logger = logging.getLogger(__name__)
T = TypeVar("T")


# A protocol: a worker that cannot reach the run folder has its journals in the supervisor.
class JournalWriter(Protocol):
    """The part of a journal that an episode uses."""

    @property
    def episode(self) -> Episode: ...

    @property
    def written(self) -> int:
        """Bytes that were appended since it was opened."""
        ...

    def append(self, record: Record) -> Episode: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeDeps:
    """The dependencies that all episodes of a run share."""

    agent: Agent | SessionAgent
    evaluators: Mapping[str, EpisodeScorer]
    """Dialect to scorer, the one of the run's `scoring` last; all are recorded, and that one counts."""
    asks_apart: Callable[[Task], bool] = lambda task: False
    """Whether the dialects ask the judge differently about the task; then only the last of `evaluators` asks."""
    artifacts: StagingArtifacts
    checkpoints: Artifacts
    """Storage states hold cookies, which no artifact may: they are kept apart."""
    keeps_trajectory: Callable[[Task], bool] = lambda task: False
    """Whether an evaluator of the task is to be shown what the episode did."""
    renderer: ObservationRenderer | None = None
    """Writes what the agent is shown of a page; None = the text that is recorded."""
    limits: EpisodeLimits
    limits_of: Callable[[Task], EpisodeLimits | None] = lambda task: None
    """Limits of a task's own; None = `limits`."""
    is_run_limited: bool = False
    """Whether tokens or cost of all episodes together are limited: their usage is reported with each answer."""
    stop_rules_of: Callable[[Task], StopRules] = lambda task: stop_rules
    """Of a task's benchmark and of the action set."""
    config_digest: str
    seed: int
    progress: Progress
    stopping: Callable[[], bool]
    """True once the person asked the run to end: no further step is begun."""
    redactor: Redactor = NO_SECRETS
    """What takes secrets out of journal and artifacts."""
    clock: Callable[[], float] = time.time
    write: SerialWriter = field(default_factory=SerialWriter)


class Recorder:
    """Writes one episode's journal; fits `SessionJournal`."""

    def __init__(
        self, deps: EpisodeDeps, journal: JournalWriter, limits: EpisodeLimits, *, spent: Callable[[], None]
    ) -> None:
        """
        Args:
            limits: Of the task.
            spent: Reports what the episode has used.
        """
        self._deps = deps
        self._journal = journal
        self._limits = limits
        self._spent = spent
        self._counted = CountedArtifacts(deps.artifacts)
        self._before = 0
        """Bytes of the attempt's records, less those that the journal has written."""
        self._paying = asyncio.Lock()
        # A deque: the event loop adds to it while the writer's thread takes from it.
        self._unrecorded: deque[SideEffect] = deque()
        """Effects that are in no record yet; taken in the writer's thread, where their record is sure to be written."""
        self.typed_again = False
        """Whether what pages send before the next action may have been sent before, see `RestoreResult.typed_again`."""

    @property
    def episode(self) -> Episode:
        return self._journal.episode

    @property
    def artifacts(self) -> StagingArtifacts:
        return self._counted

    async def count(self) -> None:
        """Count what the attempt has on disk, before it goes on."""
        written = self._journal.written
        self._before = await self._deps.write(lambda: self._counted.resume(self._journal.episode)) - written

    def check_termination(self, task: Task) -> Termination | None:
        """Why the episode has ended; None if it has not."""
        return check_termination(self._limits, self._journal.episode, self._deps.stop_rules_of(task), kept=self._kept)

    @property
    def _kept(self) -> int:
        return self._before + self._journal.written + self._counted.kept

    @asynccontextmanager
    async def paying(self) -> AsyncIterator[str | None]:
        """See `SessionJournal.paying`."""
        limits = self._limits
        if not self._deps.is_run_limited and limits.max_tokens is None and limits.max_cost_usd is None:
            yield overspent(limits, self._journal.episode, self._kept)
            return
        # One request at a time: all that are sent together would pass a limit that the first of them reaches.
        # Nor is an estimate reserved: what a process writes into a body may cost any multiple of its size.
        async with self._paying:
            if self._deps.stopping():
                raise ShutdownRequested("the run is stopping")
            yield overspent(limits, self._journal.episode, self._kept)
            # Before the next request is sent: the order of a worker's messages then makes the supervisor's sum exact.
            if self._deps.is_run_limited:
                self._spent()

    def now(self) -> float:
        return self._deps.clock()

    async def write(self, work: Callable[[], T]) -> T:
        """See `SessionJournal.write`."""
        return await self._deps.write(work)

    async def append(self, record: Record) -> None:
        await self.keep(lambda: record)

    async def keep(self, make: Callable[[], Record]) -> None:
        """Append a record; making it stores its artifacts first."""
        await self._deps.write(lambda: self._journal.append(make()))

    def stored(self, view: LiveObservation) -> Observation:
        """The observation with its screenshot and its HTML stored as artifacts."""
        put, seen = self._counted.put, view.observation
        if view.image is not None:
            seen = replace(seen, screenshot=put(view.image))
        return seen if view.html is None else replace(seen, html=put(dumps(view.html)))

    def revealed(self, digest: str) -> bytes | None:
        """An artifact with its secrets put back; None = they are not those of this run."""
        redactor, data = self._deps.redactor, self._counted.read(digest)
        found = redactor.reveal_data(data)
        return found if redactor.data(found) == data else None

    def note(self, effects: tuple[SideEffect, ...]) -> None:
        """Effects were seen; the next `late` or `failure` records them."""
        self._unrecorded.extend(effects)

    async def late(self, *, replayed: bool = True) -> None:
        """Record effects that were seen after the step that caused them, or (not `replayed`) during a restore.

        Where this is cancelled, the next call or the record of a failure has those that were not written.
        """
        if self._unrecorded:
            await self._deps.write(lambda: self._write_late(replayed=replayed))

    def _write_late(self, *, replayed: bool) -> None:
        episode = self._journal.episode
        if episode.arrival is None or episode.closed is not None or not (effects := self._taken()):
            return
        # Before the effects: a kill between the two leaves one doubt too many, and never one too few.
        if replayed and self.typed_again:
            self.typed_again = False
            sent = f"{effects[0].method} {effects[0].url}"
            typed = f"resumed at step {len(episode.steps)}; text was typed again"
            why = f"{typed}, and {sent} came after it, perhaps twice"
            self._journal.append(self._doubt(0, DoubtReason.REOPENED, _accepted(why)))
        at = self._deps.clock()
        self._journal.append(Late(step=len(episode.steps), effects=effects, replayed=replayed, at=at))

    def _taken(self) -> tuple[SideEffect, ...]:
        # As many as there are now: the event loop may add others meanwhile, for the next record.
        return tuple(self._unrecorded.popleft() for _ in range(len(self._unrecorded)))

    async def accept(self, reason: DoubtReason, why: str) -> None:
        """Record a doubt about the attempt, which goes on all the same."""
        await self.doubt(0, reason, _accepted(why))

    async def doubt(self, step: int, reason: DoubtReason, found: InDoubt) -> None:
        await self.append(self._doubt(step, reason, found))

    def _doubt(self, step: int, reason: DoubtReason, found: InDoubt) -> Doubt:
        at = self._deps.clock()
        return Doubt(step=step, reason=reason, resolution=found.resolution, why=found.why, at=at)

    async def failure(
        self,
        error: BaseException,
        boundary: str,
        usage: Usage = Usage(),  # noqa: B008 (immutable)
    ) -> None:
        """Record an infrastructure failure, with the effects that the interrupted action already had.

        Args:
            error: What happened.
            boundary: See `Failed.boundary`.
            usage: See `Failed.usage`.
        """
        episode, is_stopping = self._journal.episode, self._deps.stopping()
        has_acted = boundary == "act" and episode.pending is not None and bool(self._unrecorded)
        # A browser that goes down with the interrupted run says nothing about the task; what the pending action has
        # sent is no other step's, and its answer proves that the action was performed.
        if is_stopping and not has_acted and not usage.requests:
            return await self.late(replayed=boundary != "restore")
        opened, message = episode.opened, cut(said_by(error), MOST_OF_A_MESSAGE)
        assert opened is not None
        failed = Failed(
            attempt=opened.attempt,
            boundary=boundary,
            type=type(error).__name__,
            message=message,
            usage=usage,
            # Known of failures only: after a kill a mark before the action could tell, at an fsync for each step.
            unsent=isinstance(error, InfraError) and error.unsent,
            # Recorded although it uses up no attempt, because it holds the requests of the step.
            shared=isinstance(error, BrowserLost) or is_stopping,
            at=self._deps.clock(),
        )
        logger.error("task %s: %s while trying to %s: %s", opened.task.task_id, failed.type, boundary, message)
        await self.keep(lambda: replace(failed, effects=self._taken()))


def _accepted(why: str) -> InDoubt:
    return InDoubt(resolution=DoubtResolution.ACCEPTED, why=why)


class JournalReplies:
    """`KeptReplies` of the decision that is made next."""

    def __init__(self, recorder: Recorder, scope: RequestScope) -> None:
        episode = recorder.episode
        self._recorder = recorder
        self._scope = scope
        self._step = len(episode.steps) + 1
        self._known = {reply.key: reply for reply in episode.replied if reply.step == self._step}

    @property
    def is_begun(self) -> bool:
        """Whether there are any."""
        return bool(self._known)

    async def read(self, key: str) -> tuple[StoredReply, Usage] | None:
        if (replied := self._known.get(key)) is None:
            return None
        raw = await self._stored(replied.response)
        request = await self._stored(replied.request) if replied.request else b""
        if raw is None or request is None:
            return None
        return StoredReply(raw=raw, request_id=replied.request_id, request=request), replied.usage

    async def _stored(self, digest: str) -> bytes | None:
        return await self._recorder.write(lambda: self._recorder.revealed(digest))

    async def keep(self, key: str, reply: Reply) -> None:
        asked, artifacts = self._scope.recorded(), self._recorder.artifacts
        if not reply.usage.from_cache:  # what came over the network is counted by this record now
            self._scope.spent = self._scope.spent.without(reply.usage)
        await self._recorder.keep(
            lambda: Replied(
                step=self._step,
                key=key,
                model=reply.model,
                usage=reply.usage,
                response=artifacts.put(reply.raw),
                request=store_response(reply.request, artifacts),
                request_id=reply.request_id,
                asked=asked,
                at=self._recorder.now(),
            )
        )


# Replies are records: a cache beside the journal would keep what was paid for in two places.
@dataclass(frozen=True, slots=True)
class JournalJudgeReplies:
    recorder: Recorder
    scope: RequestScope

    def said(self, key: str) -> Judged | None:
        return self.recorder.episode.judged.get(key)

    async def keep(self, judged: Judged, raw: bytes, messages: Sequence[Message] = ()) -> None:
        asked, artifacts = self.scope.recorded(), self.recorder.artifacts

        def stored() -> Judged:
            sent = put_messages(messages, artifacts)
            response = store_response(raw, artifacts)
            return replace(judged, response=response, prompt=sent.messages, pictures=sent.pictures, asked=asked)

        await self.recorder.keep(stored)
