"""Scores a run again from its evidence: needs no browser and no site, and does not change the run.

The result is a file derived from the journals, one per dialect. Without a judge, the recorded replies of the run's
judge are used again, so a changed rule also applies to judged tasks; a task without a recorded reply is unscored. With
a corrected reference, a recorded reply counts where its question is asked again. A judge that is given has the reply
cache of its settings, under the keys that the run's judge had. Where the evidence holds a secret and gives another
score without it, the task is unscored, too, and the reason names the secret.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from harness.api import (
    NO_EVALUATORS,
    Artifacts,
    Evaluator,
    Finding,
    Judge,
    JudgeAccess,
    JudgedEvaluator,
    JudgeQuestion,
    RecordedEpisode,
    Reply,
)
from harness.codec import digest, plain
from harness.episode.episode_score import Case, cannot_be_scored, score_stored
from harness.episode.references import is_scored_with, newest_reference, realigned, with_reference
from harness.errors import ModelUnavailable
from harness.evaluators.scorer import Scorer
from harness.journal.final_state import FinalState, read_final_state
from harness.journal.names import journals_in
from harness.journal.store import ArtifactStore
from harness.llm.request_scope import RequestScope, requests_of
from harness.records import Reference, Scored
from harness.records.optional import optional
from harness.secrets.symbols import Symbols

_AT_ONCE = 8
"""Episodes judged by a model at the same time."""
References = Mapping[tuple[str, int], Reference | None]
"""By task id and trial; None = the reference that was played."""
NO_REFERENCES: References = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RescoreResult:
    """One (task, trial) in one dialect."""

    task_id: str
    trial: int
    scored: Scored | None
    """None = the episode has not ended."""
    before: Scored | None
    """What the journal says."""
    missing: tuple[str, ...] = optional(())
    """Secrets that are redacted in the evidence, and without which the score cannot be computed again."""

    @property
    def changed(self) -> bool:
        now, then = self.scored, self.before
        return (now and (now.status, now.value)) != (then and (then.status, then.value))


def references_of(results: Iterable[RescoreResult]) -> dict[str, str]:
    """Of results by a corrected reference: task id to the digest of the task with it."""
    return {
        one.task_id: one.scored.reference.task_digest
        for one in results
        if one.scored is not None and one.scored.reference is not None
    }


class _Recorded:
    """A `Judge` that says again what one said."""

    name = "recorded"

    def __init__(self, replies: Sequence[str]) -> None:
        self._replies = list(replies)
        self.said: dict[str, str] = {}
        """Question to reply."""

    async def judge(self, question: JudgeQuestion, /) -> Reply:
        if not self._replies:
            raise ModelUnavailable("the recorded judge has no reply to this question; give a model with --judge")
        reply = self.said[_key(question)] = self._replies.pop(0)
        return Reply(text=reply, model=self.name)


class _RecordedByQuestion:
    """A `Judge` that says again what one said to the same question, and to no other."""

    name = _Recorded.name

    def __init__(self, said: Mapping[str, str]) -> None:
        self._said = said

    async def judge(self, question: JudgeQuestion, /) -> Reply:
        if (reply := self._said.get(_key(question))) is None:
            raise ModelUnavailable("the recorded judge was not asked this question; give a model with --judge")
        return Reply(text=reply, model=self.name)


def _key(question: JudgeQuestion) -> str:
    return digest([plain(one) for one in question.messages])


async def rescore(  # noqa: PLR0913 (what scoring takes)
    folder: Path,
    dialects: Sequence[str],
    judge: Judge | None = None,
    evaluators: Mapping[str, Evaluator] = NO_EVALUATORS,
    *,
    references: References = NO_REFERENCES,
    is_wanted: Callable[[str, int], bool] | None = None,
) -> dict[str, list[RescoreResult]]:
    """Score the episodes of a run again.

    Args:
        folder: The run folder.
        dialects: Each is scored separately.
        judge: Who judges; None = the recorded replies do.
        evaluators: By eval type, those that are not shipped with Cairn.
        references: By task id and trial, to score with; an episode that is not named has the one of its newest score.
        is_wanted: Of a task id and trial; None = all are.
    Returns:
        By dialect, in the order of the journals' names.
    Raises:
        JournalError: A journal is damaged.
        ModelRejected: The judge's endpoint refuses.
    """
    artifacts, at_once = ArtifactStore(folder / "artifacts"), asyncio.Semaphore(_AT_ONCE)
    again = [_Again(dialect=dialect, judge=judge, evaluators=evaluators, artifacts=artifacts) for dialect in dialects]

    async def scored(path: Path) -> list[RescoreResult] | None:
        async with at_once:  # before it is read: memory holds no more states than are judged
            ended = read_final_state(path)
            if ended is None:
                return None
            place = ended.opened.task.task_id, ended.opened.trial
            if is_wanted is not None and not is_wanted(*place):
                return None
            return [
                await one.scored(ended, references.get(place, newest_reference(ended, one.dialect))) for one in again
            ]

    try:
        async with asyncio.TaskGroup() as group:  # after an error, nobody goes on to ask a judge
            tasks = [group.create_task(scored(Path(entry.path))) for entry in journals_in(folder)]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    found = [results for task in tasks if (results := task.result()) is not None]
    return {one.dialect: [results[number] for results in found] for number, one in enumerate(again)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Again:
    """With what episodes are scored again."""

    dialect: str
    judge: Judge | None
    evaluators: Mapping[str, Evaluator]
    artifacts: Artifacts

    async def scored(self, ended: FinalState, reference: Reference | None) -> RescoreResult:
        scorer = await self._scorer(ended, reference)
        return await rescored(ended, self.dialect, scorer, self.artifacts, reference=reference)

    async def _scorer(self, ended: FinalState, reference: Reference | None) -> Scorer:
        before = ended.scores.get(self.dialect)
        if self.judge is not None:
            return Scorer(self.dialect, self.judge, further=self.evaluators)
        if before is None or ended.closed is None or is_scored_with(before, reference):
            return recorded_scorer(before, self.dialect, self.evaluators)
        recorded = _recorded_judge(before)
        if recorded is not None:  # asked with the reference of the time, it is known what it replied to
            further = _as_asked(before, self.evaluators)
            then = Scorer(self.dialect, recorded, further=further)
            await rescored(ended, self.dialect, then, self.artifacts, reference=before.reference)
            return Scorer(self.dialect, _RecordedByQuestion(recorded.said), further=further)
        return Scorer(self.dialect, further=self.evaluators)


def recorded_scorer(before: Scored | None, dialect: str, evaluators: Mapping[str, Evaluator]) -> Scorer:
    """Scores with the replies of the judge that gave the score before."""
    return Scorer(dialect, _recorded_judge(before), further=_as_asked(before, evaluators))


def _as_asked(before: Scored | None, evaluators: Mapping[str, Evaluator]) -> Mapping[str, Evaluator]:
    """The evaluators as the recorded replies were asked for; an older version asked the same in both dialects."""
    found = dict(evaluators)
    for verdict in () if before is None else before.verdicts:
        evaluator = evaluators.get(verdict.evaluator)
        if isinstance(evaluator, JudgedEvaluator) and verdict.prompt == evaluator.prompt_digest:
            found[verdict.evaluator] = _InOneWay(evaluator)
    return found


class _InOneWay(JudgedEvaluator):
    """An evaluator that asks the same in every dialect."""

    def __init__(self, evaluator: JudgedEvaluator) -> None:
        self._evaluator = evaluator
        self.prompt_digest = evaluator.prompt_digest

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        return await self._evaluator.evaluate_judged(recorded, judge)


def _recorded_judge(before: Scored | None) -> _Recorded | None:
    """The judge that gave a score, as far as it replied; None = it did not."""
    replies = [] if before is None else [reply for verdict in before.verdicts for reply in verdict.replies]
    return _Recorded(replies) if replies else None


async def rescored(
    ended: FinalState, dialect: str, scorer: Scorer, artifacts: Artifacts, *, reference: Reference | None = None
) -> RescoreResult:
    """Score one episode again; `reference`: a corrected one, None = the one that was played.

    Raises:
        JournalError: An artifact that an evaluator asks for is missing or damaged.
        ModelRejected: The judge's endpoint refuses.
    """
    opened, missing = ended.opened, Symbols(missing=True)
    result = RescoreResult(
        task_id=opened.task.task_id, trial=opened.trial, scored=None, before=ended.scores.get(dialect)
    )
    if ended.closed is None:
        return result
    task = with_reference(opened.task, reference)
    case = Case(task=task, closed=realigned(ended.closed, opened.task, task), artifacts=artifacts)
    with requests_of(RequestScope(opened.task.task_id, opened.trial)):
        scored = replace(await score_stored(scorer, case, missing), reference=reference)
    result = replace(result, scored=scored)
    if not missing.names or not result.changed:
        return result
    return replace(result, scored=cannot_be_scored(scored, missing), missing=missing.names)
