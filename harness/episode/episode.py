"""One episode: fold, decide, act, until the journal says that it has ended.

No state is kept here: every fact is in the journal before anything depends on it. So a new episode is a resume from an
empty journal, and the process can be killed at any time. Scoring reads the evidence only and needs no browser.
"""

import logging
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import chain

from harness.actions import Action, Cdp
from harness.api import Artifacts, Decision
from harness.episode.artifacts import store_evidence, store_response
from harness.episode.attempt import Termination, check_actions, is_unbegun, new_attempt_reason, without_answers
from harness.episode.background import cancellation_as_error, running
from harness.episode.decision import agent_session, ask_sites, checked_decision, public_episode, public_task, with_shown
from harness.episode.episode_score import Case, cannot_be_scored, resumed, score
from harness.episode.job import Job, recorded_task, task_digest
from harness.episode.recorder import EpisodeDeps, JournalJudgeReplies, JournalReplies, JournalWriter, Recorder
from harness.episode.references import is_scored_with, realigned, reference_for
from harness.errors import EpisodeLeft, HarnessError, InfraError, JournalError, SiteUnavailable, UsageError, said_by
from harness.journal.memory_artifacts import MemoryArtifacts
from harness.journal.prompt_store import put_messages
from harness.llm.decision_replies import DecisionReplies
from harness.llm.request_scope import RequestScope, requests_of
from harness.protocols import (
    AgentSession,
    DrivingSession,
    Environment,
    InDoubt,
    Phase,
    ProgressEvent,
    RestoreResult,
)
from harness.records import (
    Acted,
    Closed,
    Decided,
    Done,
    DoubtReason,
    DoubtResolution,
    Episode,
    LiveObservation,
    Opened,
    Resumed,
    Task,
    Unknown,
    Usage,
)
from harness.secrets.symbols import Symbols
from harness.working_time import working_s

logger = logging.getLogger(__name__)


class EpisodeRunner:
    """Plays one job on one lane."""

    def __init__(self, deps: EpisodeDeps, job: Job, journal: JournalWriter, *, lane: int = 0) -> None:
        self._deps = deps
        self._job = job
        self._journal = journal
        self._lane = lane
        limits = deps.limits_of(job.task) or deps.limits
        self._recorder = Recorder(deps, journal, limits, spent=lambda: self._tell(Phase.spending))
        self._boundary = "restore"
        self._is_retried = False  # whether an earlier try has begun the attempt
        self._asking: RequestScope | None = None
        """Of the decision that is being made."""
        self._said: Case | None = None
        """What is judged, once this process has closed the episode: nothing in it was redacted."""

    async def play(self, opening: AbstractAsyncContextManager[Environment]) -> None:
        """Go on from where the journal ends until the episode is closed, or the run is stopping.

        Raises:
            InfraError: Recorded as Failed; the episode stays pending. An unexpected exception also counts as
                infrastructure, so that one task does not end the whole run.
        """
        self._is_retried = not await self._ensure_opened()
        await self._doubt_leftovers()
        await self._recorder.count()
        try:
            # In an attempt, as every failure is: the scheduler has no journal, so a lane records that sites cannot be
            # had.
            if why := self._job.refused or self._job.withheld:
                raise SiteUnavailable(why)
            with cancellation_as_error("the episode was cancelled"):
                await self._play_in(opening)
        except EpisodeLeft:
            await self._recorder.late()
            raise
        except InfraError as error:
            await self._recorder.failure(error, self._boundary, self._spent)
            raise
        # The person has to act, or wants the run to end; the task is as pending as before.
        except (UsageError, JournalError, KeyboardInterrupt, GeneratorExit, CancelledError):
            raise
        # Letting it escape would end a sweep of twenty hours because of one task, and with exit code 0 on `sys.exit`.
        except BaseException as error:
            logger.exception("task %s: unexpected error", self._job.task.task_id)
            await self._recorder.failure(error, self._boundary, self._spent)
            raise InfraError(f"unexpected {type(error).__name__}: {said_by(error)}") from error

    async def score(self) -> None:
        """Judge a closed episode from its evidence, in every dialect not yet judged with the task's reference.

        A judge that would be asked twice, differently, is asked in the run's own scoring only.
        """
        closed = self._journal.episode.closed
        if closed is None:
            return
        self._tell(Phase.scoring)
        opened, missing = self._journal.episode.opened, Symbols(missing=True)
        assert opened is not None
        reference = reference_for(self._job.task, opened)
        case = Case(task=self._job.task, closed=closed, artifacts=self._deps.artifacts)
        case = self._said or resumed(case, missing)
        case = replace(case, closed=realigned(case.closed, opened.task, case.task))
        scope = self._scope(judged.asked for judged in self._journal.episode.judged.values())
        recorded = JournalJudgeReplies(self._recorder, scope)
        # The run's own scoring comes last: where its line is, a crash has cost none of the others.
        scorers = list(self._deps.evaluators.items())
        # Asking in both would double the price of judging, for a score that few look at.
        for dialect, evaluator in scorers[-1:] if self._deps.asks_apart(self._job.task) else scorers:
            if not is_scored_with(self._journal.episode.scores.get(dialect), reference):
                with requests_of(scope):
                    scored = await score(evaluator, case, self._deps.redactor, recorded)
                scored = cannot_be_scored(scored, missing) if missing.names else scored
                # All verdicts in one line: a crash between two lines would leave half a score.
                await self._recorder.append(replace(scored, reference=reference))

    async def _play_in(self, opening: AbstractAsyncContextManager[Environment]) -> None:
        env: Environment | None = None
        try:
            async with opening as env:
                await self._play(env)
        finally:
            if env is not None:  # also what its windows sent while they were closed
                self._recorder.note(env.take_effects())
        await self._recorder.late()

    async def _play(self, env: Environment) -> None:
        restored = await self._restore(env)
        async with agent_session(self._deps.agent, self._recorder, env) as agent:
            if isinstance(agent, DrivingSession):
                restored = await self._resume(agent, restored)
            end = await self._steps(env, agent, restored)
        if end is not None:
            await self._close(env, end)

    async def _steps(self, env: Environment, agent: AgentSession, restored: RestoreResult) -> Termination | None:
        """Decide and act until the episode has ended; None = the run is stopping, and no action is pending."""
        view, aimed = restored.view, restored.pending
        end: Termination | None
        while (end := self._recorder.check_termination(self._job.task)) is None:
            pending = self._journal.episode.pending
            if pending is None:
                # Not between a decision and its action: the next start could not know that it was not performed.
                if self._deps.stopping():
                    return None
                await self._decide(env, agent, view)
            else:
                view = await self._act(env, pending, aimed or pending.action)
                # The recorded action names elements of the page before the restart; later ones need no aim.
                aimed = None
        return end

    async def _ensure_opened(self) -> bool:
        """Whether a new attempt had to be opened."""
        episode = self._journal.episode
        reopen = self._job.reopens(episode.attempt)
        if (why := new_attempt_reason(episode, self._job.instances, self._deps.config_digest, reopen=reopen)) is None:
            return False
        fork = None if episode.opened is None else episode.opened.fork
        opened = Opened(
            attempt=episode.attempt + 1,
            why=why,
            trial=self._job.trial,
            # Whole: a copy of the task file beside the journals would be a second source of the same facts.
            task=recorded_task(self._job.task),
            task_digest=task_digest(self._job.task),
            # It names the artifact with the measuring settings, so that a resume can say which of them changed.
            config_digest=self._deps.config_digest,
            # Inherited steps were played with it.
            seed=episode.opened.seed if fork and episode.opened else self._seed,
            # By address: an index would mean another instance when the list is reordered.
            instances=self._job.instances,
            fork=fork,
            # By hash: an address could give a resumed episode another picture than before.
            images=self._job.images,
            files=self._job.files,
            at=self._deps.clock(),
        )
        await self._recorder.append(opened)
        return True

    async def _doubt_leftovers(self) -> None:
        """Record that the attempt begins on sites that earlier ones may have changed."""
        # Asked of the journal at every start, as the one that opened the attempt may have been killed before its doubt.
        if not self._job.leftovers or not is_unbegun(episode := self._journal.episode) or episode.attempt == 1:
            return
        sites = ", ".join(site or "a site that is not configured" for site in self._job.leftovers)
        why = f"attempt {episode.attempt} began on {sites} without a reset; an earlier attempt may have changed it"
        if not self._is_doubted(why):
            restarts = InDoubt(resolution=DoubtResolution.RESTART, why=why)
            await self._recorder.doubt(0, DoubtReason.EARLIER_ATTEMPT, restarts)

    def _is_doubted(self, why: str) -> bool:
        return any(doubt.why == why for doubt in self._journal.episode.doubts)

    @property
    def _seed(self) -> int:
        return self._deps.seed + self._job.trial if self._job.seed is None else self._job.seed

    async def _restore(self, env: Environment) -> RestoreResult:
        self._tell(Phase.restoring)
        episode = self._journal.episode
        check_actions(episode)
        with self._timed("restore") as elapsed_ms:
            # What the first page load sends is in the record of step 0.
            watching = nullcontext() if episode.arrival is None else running(self._watch_for_late(env, replayed=False))
            # Written while the restore runs, so that a kill in the middle of it loses nothing that was written.
            async with watching:
                believed = without_answers(episode, self._job.used_since)
                restored = await env.restore(self._job.task, believed, self._job.clean)
            restored = replace(restored, view=with_shown(restored.view, self._deps.renderer))
        took_ms = elapsed_ms()
        self._recorder.typed_again = restored.typed_again
        self._recorder.note(restored.sent)
        await self._recorder.late(replayed=False)
        # The first try of an attempt opens its pages for the first time, and sends nothing twice.
        if restored.changed and (episode.arrival is not None or self._is_retried):
            await self._recorder.accept(DoubtReason.REOPENED, restored.changed)
        if episode.arrival is None:
            await self._recorder.keep(
                lambda: Acted(
                    step=0,
                    outcome=Done(),
                    observation=self._recorder.stored(restored.view),
                    timers=restored.view.timers,
                    effects=restored.effects,
                    intent=restored.intent,
                    elapsed_ms=took_ms,
                    at=self._deps.clock(),
                )
            )
        elif restored.strategy != "reset":
            # Before the record that ends its being due: a kill between the two must not lose it.
            await self._doubt_fork(episode, restored)
            resumed = Resumed(
                step=len(episode.steps),
                strategy=restored.strategy,
                similarity=restored.similarity,
                reset=tuple(sorted(self._job.clean)),
                elapsed_ms=took_ms,
                at=self._deps.clock(),
            )
            await self._recorder.append(resumed)
            if restored.strategy == "checkpoint" and restored.doubt is None and restored.similarity[-1] < 1.0:
                why = f"resumed at step {resumed.step}; page similarity {restored.similarity[-1]:.2f}"
                await self._recorder.accept(DoubtReason.PAGE_DIFFERS, why)
        if restored.doubt is not None:
            return await self._settle_doubt(restored, restored.doubt)
        return restored

    async def _resume(self, agent: DrivingSession, restored: RestoreResult) -> RestoreResult:
        """Let an agent that drives the browser do again what the journal holds of it."""
        with self._timed("restore") as elapsed_ms:
            led = await agent.resume(self._asked, self._journal.episode, restored)
        is_compared_start_page = restored.strategy == "reset" and bool(restored.similarity)
        if led is restored and not is_compared_start_page:  # a first start, or `_restore` has recorded it
            return restored
        resumed = Resumed(
            step=len(self._journal.episode.steps),
            strategy="replay",
            similarity=led.similarity,
            reset=tuple(sorted(self._job.clean)),
            elapsed_ms=elapsed_ms(),
            at=self._deps.clock(),
        )
        await self._recorder.append(resumed)
        return replace(led, view=with_shown(led.view, self._deps.renderer))

    async def _doubt_fork(self, episode: Episode, restored: RestoreResult) -> None:
        """Record that a fork goes on upon a site as its parent, or others, have left it."""
        fork = None if episode.opened is None else episode.opened.fork
        if fork is None or episode.resumed or restored.strategy != "checkpoint" or not episode.has_acted:
            return
        why = (
            f"forked from step {fork.step} of {fork.run} on a site that was not reset; {fork.run} or other runs may"
            " have changed it since that step"
        )
        if not self._is_doubted(why):
            await self._recorder.accept(DoubtReason.EARLIER_ATTEMPT, why)

    async def _settle_doubt(self, restored: RestoreResult, doubt: InDoubt) -> RestoreResult:
        """Record what is not known of the pending action; where it is not to be performed again, its step is over."""
        pending = self._journal.episode.pending
        assert pending is not None
        # Before the record that ends the step: a kill between the two leaves one doubt too many, and never one too few.
        await self._recorder.doubt(pending.step, DoubtReason.INTERRUPTED, doubt)
        if restored.pending is not None:
            return restored
        seen = restored.view.observation
        notices = (*seen.notices, *((doubt.notice,) if doubt.notice else ()))
        view = replace(restored.view, observation=replace(seen, notices=notices))
        performed = doubt.resolution is DoubtResolution.PERFORMED
        await self._recorder.keep(
            lambda: Acted(
                step=pending.step,
                outcome=Done() if performed else Unknown(why=doubt.notice),
                observation=self._recorder.stored(view),
                timers=view.timers,
                elapsed_ms=0.0,
                at=self._deps.clock(),
            )
        )
        return replace(restored, view=view)

    async def _decide(self, env: Environment, agent: AgentSession, view: LiveObservation) -> None:
        self._tell(Phase.deciding)
        episode = self._journal.episode
        recorded = chain((step.decided.asked for step in episode.steps), (reply.asked for reply in episode.replied))
        self._asking = scope = self._scope(recorded)
        scope.replies = replies = DecisionReplies(JournalReplies(self._recorder, scope))
        with self._timed("decide") as elapsed_ms:
            async with running(self._watch_for_late(env)):
                shown = replace(view, task_images=self._task_images)
                with requests_of(scope), cancellation_as_error("the agent raised CancelledError"):
                    try:
                        decided = await agent.decide(self._asked, public_episode(episode), shown)
                    except HarnessError:
                        await replies.fail()
                        raise
                    finally:
                        replies.close()
        if decided is None and agent is not self._deps.agent:
            return
        decision = checked_decision(decided)
        effects_seen = await ask_sites(env, decision.action, replies)
        # Waiting for a permit is not the agent's time.
        took_ms = max(0.0, elapsed_ms() - decision.reply.waited_s * 1000)
        asked = scope.recorded()
        counted = replies.counted(decision.reply)
        # A process that drives the browser may have done something before that.
        unsent = env.is_lost and not isinstance(decision.action, Cdp)
        await self._recorder.keep(
            lambda: replace(self._decided(decision, effects_seen, took_ms), asked=asked, counted=counted, unsent=unsent)
        )
        self._asking = None

    def _decided(self, decision: Decision, effects_seen: Mapping[str, str], took_ms: float) -> Decided:
        """The record of a decision, with what it names among the artifacts."""
        prompt = put_messages(decision.messages, self._recorder.artifacts)
        return Decided(
            step=len(self._journal.episode.steps) + 1,
            action=decision.action,
            reply=decision.reply.text,
            prompt=prompt.messages,
            # Named here as well as in the messages, so that `harness clean` learns it without reading artifacts.
            pictures=prompt.pictures,
            model=decision.reply.model,
            usage=decision.reply.usage,
            effects_seen=effects_seen,
            # In the line of the action that it led to: neither is ever on the disk without the other.
            memory=decision.memory,
            finish_reason=decision.reply.unfinished,
            # Whole: what providers say beyond text and usage grows with each of their releases.
            response=store_response(decision.reply.raw, self._recorder.artifacts),
            request=store_response(decision.reply.request, self._recorder.artifacts),
            request_id=decision.reply.request_id,
            earlier_responses=tuple(self._recorder.artifacts.put(raw) for raw in decision.reply.earlier),
            elapsed_ms=took_ms,
            at=self._deps.clock(),
        )

    def _scope(self, recorded: Iterable[tuple[str, ...]]) -> RequestScope:
        """For requests that come after those that this attempt has recorded."""
        return RequestScope.after(self._job.task.task_id, self._job.trial, recorded, lane=self._lane)

    @property
    def _spent(self) -> Usage:
        """What was paid for the decision that is being made."""
        return Usage() if self._asking is None else self._asking.spent

    @property
    def _asked(self) -> Task:
        """The task as the agent is asked: with the objective of this attempt, where the benchmark made one."""
        arrival, task = self._journal.episode.arrival, public_task(self._job.task)
        return replace(task, intent=arrival.intent) if arrival and arrival.intent else task

    @cached_property
    def _task_images(self) -> tuple[bytes, ...]:
        """Raises: SiteUnavailable: The attempt was opened without them; no agent is asked for half of a task."""
        opened, task = self._journal.episode.opened, self._job.task
        recorded = () if opened is None else opened.images
        if len(recorded) != len(task.images):
            raise SiteUnavailable(f"the journal names {len(recorded)} of the {len(task.images)} pictures of the task")
        return tuple(map(self._recorder.artifacts.read, recorded))

    async def _watch_for_late(self, env: Environment, *, replayed: bool = True) -> None:
        """Record what is done to the sites while the model thinks, or the browser is restored (not `replayed`)."""
        while True:
            # Holding requests until they are recorded would cost a round trip and the HTTP cache, and help no resume.
            await env.effects_begun()
            await self._record_late(env, replayed=replayed)

    async def _record_late(self, env: Environment, *, replayed: bool = True) -> None:
        self._recorder.note(env.take_effects())
        await self._recorder.late(replayed=replayed)

    async def _act(self, env: Environment, pending: Decided, action: Action) -> LiveObservation:
        """Perform the pending decision's action, aimed at the page as it is now."""
        self._tell(Phase.acting)
        await self._record_late(env)  # so that what is seen from here on is this action's
        self._recorder.typed_again = False
        with self._timed("act") as elapsed_ms:
            landed = await env.act(action)
            landed = replace(landed, view=with_shown(landed.view, self._deps.renderer))
        took_ms = elapsed_ms()
        # Before the step: a kill between the two must not leave a step without its doubt.
        if landed.doubt:
            await self._recorder.accept(DoubtReason.REOPENED, landed.doubt)
        await self._recorder.keep(
            lambda: Acted(
                step=pending.step,
                outcome=landed.outcome,
                observation=self._recorder.stored(landed.view),
                timers=landed.view.timers,
                effects=landed.effects,
                checkpoint=None if landed.checkpoint is None else self._deps.checkpoints.put(landed.checkpoint),
                reward=None if landed.reward is None else landed.reward.value,
                done=landed.reward is not None and landed.reward.done,
                matched=landed.matched,
                elapsed_ms=took_ms,
                at=self._deps.clock(),
            )
        )
        return landed.view

    async def _close(self, env: Environment, end: Termination) -> None:
        self._tell(Phase.gathering)
        with self._timed("gather"):
            gathered = await env.gather(self._job.task)
        # What pages sent until they were cut off; nothing leaves the browser from here on.
        await self._record_late(env)
        if gathered.doubt:
            await self._recorder.accept(DoubtReason.REOPENED, gathered.doubt)
        said = MemoryArtifacts(over=self._deps.artifacts)

        def closed(artifacts: Artifacts) -> Closed:
            evidence = store_evidence(
                gathered,
                artifacts,
                episode=self._journal.episode,
                keeps_trajectory=self._deps.keeps_trajectory(self._job.task),
                task=self._job.task,
            )
            return Closed(
                reason=end.reason, detail=end.detail, answer=end.answer, evidence=evidence, at=self._deps.clock()
            )

        def close() -> Closed:
            # Twice, as it was said and as it may be stored: what is redacted has other digests.
            self._said = Case(task=self._job.task, closed=closed(said), artifacts=said)
            return closed(self._deps.artifacts)

        await self._recorder.keep(close)

    def _tell(self, phase: Phase) -> None:
        episode = self._journal.episode
        newest = episode.pending or (episode.steps[-1].decided if episode.steps else None)
        self._deps.progress.tell(
            ProgressEvent(
                lane=self._lane,
                task_id=self._job.task.task_id,
                trial=self._job.trial,
                phase=phase,
                step=len(episode.steps) + 1,
                action="" if newest is None else episode.said(newest),
                usage=episode.usage,
            )
        )

    @contextmanager
    def _timed(self, boundary: str) -> Iterator[Callable[[], float]]:
        """Name the boundary being crossed and measure it, in ms of working time."""
        self._boundary = boundary
        begun = working_s()
        yield lambda: (working_s() - begun) * 1000
