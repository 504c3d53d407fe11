"""The score of one episode in one dialect: the product of the values of its evaluators.

Bad evidence, an invalid task and a judge that does not answer give `Status.ERROR` with a sentence; a model that rejects
all requests (a wrong key) stops the run, as everywhere.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from math import prod
from numbers import Real
from typing import Any

from harness import EVALUATOR_VERSION
from harness.actions.truncate import MOST_OF_A_MESSAGE, cut
from harness.api import NO_EVALUATORS, Artifacts, Evaluator, Finding, Judge, JudgedEvaluator, RecordedEpisode
from harness.codec import CodecError, build, loads
from harness.errors import (
    EvaluatorError,
    JournalError,
    ModelRejected,
    NoArtifact,
    ShutdownRequested,
    StorageError,
    plugin_boundary,
    said_by,
)
from harness.evaluators.judge import JudgeForEpisode, JudgeSession
from harness.evaluators.judge_prompts import ANSWER_PROMPTS
from harness.evaluators.program_html import program_html
from harness.evaluators.result import BLOCKED, CORRECTED, DIALECTS, shown
from harness.evaluators.string_match import string_match
from harness.evaluators.url_match import url_match
from harness.protocols import JudgeReplies
from harness.records import Closed, CloseReason, Scored, Status, Task, TrajectoryStep, Verdict

SHIPPED = ("string_match", "url_match", "program_html")
"""Eval types that need no further evaluator."""
_ENDED = (CloseReason.STOPPED, CloseReason.DONE)
"""How an episode ends that is not cut short."""


class Scorer:
    """Implements `harness.protocols.EpisodeScorer`.

    Args:
        dialect: `webarena` or `corrected`.
        judge: Needed by fuzzy_match and by N/A answers; without it those tasks are errors.
        further: Plugged-in evaluators by the name of their eval type; each judges as it does in the dialect.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        dialect: str,
        judge: Judge | None = None,
        *,
        further: Mapping[str, Evaluator] = NO_EVALUATORS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if dialect not in DIALECTS:
            raise ValueError(f"unknown dialect {dialect!r}; choose one of {', '.join(DIALECTS)}")
        self._dialect = dialect
        self._judge = judge
        self._further = {
            name: one.in_dialect(dialect) if isinstance(one, JudgedEvaluator) else one for name, one in further.items()
        }
        self._clock = clock

    async def score(
        self, task: Task, closed: Closed, artifacts: Artifacts, recorded: JudgeReplies | None = None
    ) -> Scored:
        # All evaluators are asked, also after a 0: WebArena stops at none of them.
        verdicts = tuple(
            [
                await self._verdict(name, task, closed, artifacts=artifacts, recorded=recorded)
                for name in task.eval.eval_types
            ]
        )
        values = [verdict.value for verdict in verdicts if verdict.value is not None]
        complete = len(values) == len(verdicts)
        return Scored(
            dialect=self._dialect,
            evaluator_version=f"{EVALUATOR_VERSION}-{self._dialect}",
            status=Status.OK if complete else Status.ERROR,
            value=prod(values, start=1.0) if complete else None,
            verdicts=verdicts,
            at=self._clock(),
        )

    async def _verdict(
        self, name: str, task: Task, closed: Closed, *, artifacts: Artifacts, recorded: JudgeReplies | None
    ) -> Verdict:
        jury = JudgeSession(self._judge, self._dialect, recorded, clock=self._clock)
        status, value = Status.OK, None
        try:
            found = await self._find(name, task, closed, artifacts=artifacts, jury=jury)
            value, why = found.value, found.why
        except EvaluatorError as exc:
            status, why = Status.ERROR, said_by(exc)
        # Never a pass: an agent that got past a check was not kept out.
        if closed.evidence.blocked and (value or 0.0) < 1.0:
            status, value, why = Status.ERROR, None, f"{BLOCKED}: {'; '.join(closed.evidence.blocked)}"
        return Verdict(
            evaluator=name,
            status=status,
            value=value,
            why=why,
            usage=jury.usage,
            replies=jury.replies,
            judge=jury.judge_name,
            prompt=self._prompt_of(name) if jury.judge_name else "",
        )

    def _prompt_of(self, name: str) -> str:
        """Digest of the prompt that the judge was asked with."""
        evaluator = self._further.get(name)
        return evaluator.prompt_digest if isinstance(evaluator, JudgedEvaluator) else ANSWER_PROMPTS[self._dialect]

    async def _find(
        self, name: str, task: Task, closed: Closed, *, artifacts: Artifacts, jury: JudgeSession
    ) -> Finding:
        # As WebArena-Verified: an agent that was stopped did not say that it had finished.
        if self._dialect == CORRECTED and closed.reason not in _ENDED:
            return Finding(value=0.0, why=f"the agent did not end the episode itself ({closed.reason})")
        match name:
            case "string_match":
                # None, in episodes of older versions, counts as having acted: they are scored as before.
                return await string_match(
                    task, answer_of(closed), jury, self._dialect, acted=closed.evidence.actions != 0
                )
            case "url_match":
                return url_match(task, closed.evidence.url, self._dialect)
            case "program_html":
                return program_html(task, closed.evidence, artifacts, self._dialect)
            case _ if isinstance(judged := self._further.get(name), JudgedEvaluator):
                recorded = recorded_episode(task, closed, artifacts)
                return await _found(name, judged.evaluate_judged, recorded, JudgeForEpisode(jury, recorded))
            case _ if name in self._further:
                return await _found(name, self._further[name].evaluate, task, closed, artifacts)
            case _:
                raise EvaluatorError(
                    f"there is no evaluator for eval type {name[:80]!r}; if a benchmark brings it, give its task=NAME,"
                    " else name its class with evaluators.NAME._target_=…"
                )


def recorded_episode(task: Task, closed: Closed, artifacts: Artifacts) -> RecordedEpisode:
    """The episode as its evidence tells it.

    Raises:
        EvaluatorError: The trajectory among the artifacts is damaged, or there is none of an attempt that this
            version recorded.
    """
    trajectory: tuple[TrajectoryStep, ...] = ()
    if closed.evidence.trajectory is None and closed.evidence.actions is not None:
        raise EvaluatorError(
            "what the episode did was not kept for a judge, as no evaluator of its task asked one when it was played;"
            " only playing the task again can score it"
        )
    if closed.evidence.trajectory is not None:
        try:
            kept = loads(artifacts.read(closed.evidence.trajectory))
            trajectory = tuple(build(TrajectoryStep, step) for step in kept)
        except (CodecError, TypeError) as error:
            raise EvaluatorError(f"the trajectory in the evidence cannot be read: {error}") from error
    return RecordedEpisode(task=task, closed=closed, trajectory=trajectory, artifacts=artifacts)


async def _found(name: str, evaluator: Callable[..., Awaitable[object]], *given: Any) -> Finding:
    """What an evaluator of the person's own finds; whatever it raises costs this verdict, and no other task."""

    def failed(error: BaseException) -> EvaluatorError:
        said = cut(said_by(error), MOST_OF_A_MESSAGE)
        return EvaluatorError(f"evaluator {name} raised {type(error).__name__}: {said}")

    # A wrong key or a full disk stops the run; a damaged artifact is a fault of the run folder, not of the evaluator.
    passes = (ModelRejected, StorageError, JournalError, ShutdownRequested, EvaluatorError)
    with plugin_boundary(failed, passes=passes):
        try:
            found = await evaluator(*given)
        except NoArtifact as error:  # it asked for what was never kept
            raise failed(error) from error
    match found:
        # Comparisons with NaN are false, so it is refused like any value out of range.
        # numpy's numbers are no int or float, most of them.
        case Finding(why=str()) if isinstance(found.value, Real) and 0.0 <= found.value <= 1.0:
            return Finding(value=float(found.value), why=cut(found.why, MOST_OF_A_MESSAGE))
        case Finding() if not isinstance(found.why, str):
            raise EvaluatorError(f"evaluator {name} gave why={shown(found.why)}; why is a text")
        case Finding():
            raise EvaluatorError(f"evaluator {name} gave value={shown(found.value)}; a value is a number from 0 to 1")
    raise EvaluatorError(f"evaluator {name} returned {type(found).__name__}, not a Finding")


def answer_of(closed: Closed) -> str:
    """What WebArena judges when the episode was ended from outside is a sentence about that."""
    return closed.answer if closed.reason in _ENDED else f"Early stop: {closed.detail}"
