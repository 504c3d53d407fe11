"""What an episode has come to: passed, failed or unscored, and why, in one scoring.

An episode passes with a score of 1.0. It is unscored where there is no score: it is pending, an infrastructure failure
ended it, or its evidence could not be judged. What is called its cause is a closed set of words, by which failures are
grouped; the sentence beside it is the evaluator's or the error's own.
"""

from dataclasses import dataclass

from harness.evaluators.result import BLOCKED
from harness.journal.index import EpisodeResult, IndexedScore
from harness.records import CloseReason, Status

PASSED, FAILED, UNSCORED = "passed", "failed", "unscored"
NOT_FINISHED = "not finished"
NOT_JUDGED = "not judged in this scoring"
"""It has ended, and is scored in another one only: a judge is asked in the scoring of the run."""
_CLOSED = {
    CloseReason.MAX_STEPS: "step limit reached",
    CloseReason.PARSE_FAILURES: "unreadable replies",
    CloseReason.REPEATED: "same action repeated",
    CloseReason.BUDGET: "budget spent",
    CloseReason.DONE: "ended by the benchmark",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one scoring makes of an episode."""

    scoring: str
    """`corrected` or `webarena`."""
    status: str
    """`passed`, `failed` or `unscored`."""
    value: float | None
    """In [0, 1]; None when unscored."""
    cause: str
    """Why it did not pass, in one of few words; "" when it did."""
    why: str
    """The sentence of the evaluator or the error; "" when it passed."""
    evaluator_version: str
    """"" where nothing scored it."""
    judge: str
    """Name of the judge that was asked for it; "" = none was, or its name is not recorded."""
    prompt: str
    """Digest of the prompt that judge was asked with."""
    reference: str
    """Digest of the task with the corrected reference that scored it; "" = the one that was played did."""


def score_of(result: EpisodeResult | None, scoring: str) -> Score:
    """The score of an episode; None = it has not begun."""
    score = result.scores.get(scoring) if result else None
    value = score.value if score is not None and score.status is Status.OK else None
    status = UNSCORED if value is None else PASSED if value == 1.0 else FAILED
    return Score(
        scoring=scoring,
        status=status,
        value=value,
        cause="" if status == PASSED else NOT_FINISHED if result is None else _cause(result, score),
        why=_why(result, score),
        evaluator_version=score.evaluator_version if score else "",
        judge=score.judge if score else "",
        prompt=score.prompt if score else "",
        reference=score.reference if score else "",
    )


def judged_by(result: EpisodeResult, scoring: str) -> tuple[str, str] | None:
    """Judge and prompt that decided a score, "" where an older version did not record them; None = none did."""
    score = result.scores.get(scoring)
    if score is None or score.status is not Status.OK:
        return None
    # A version that names judges does so in each scoring: what was asked for the other one did not decide this one.
    is_old = score.is_judged and not any(one.judge for one in result.scores.values())
    return (score.judge, score.prompt) if score.judge or is_old else None


def is_judgeable(result: EpisodeResult, scoring: str) -> bool:
    """Whether an evaluator failed on an episode that has ended, so that its evidence can be scored again."""
    score = result.scores.get(scoring)
    is_error = score is not None and score.status is Status.ERROR and not score.why.startswith(BLOCKED)
    return is_error and result.closed is not None


def _why(result: EpisodeResult | None, score: IndexedScore | None) -> str:
    if score is not None:
        is_fault = score.status is Status.ERROR and not score.why.startswith(BLOCKED)
        return f"evaluator error: {score.why}" if is_fault else score.why
    if result is not None and _is_judged_otherwise(result):
        return NOT_JUDGED
    if result is not None and result.failure:
        return f"infrastructure: {result.failure}"
    return NOT_FINISHED


def _is_judged_otherwise(result: EpisodeResult) -> bool:
    return result.closed is not None and bool(result.scores)


def _cause(result: EpisodeResult, score: IndexedScore | None) -> str:
    if score is None:
        return NOT_JUDGED if _is_judged_otherwise(result) else result.failure_type or NOT_FINISHED
    if score.status is Status.ERROR:
        return BLOCKED if score.why.startswith(BLOCKED) else "evaluator error"
    if result.closed in _CLOSED:
        return _CLOSED[result.closed]
    return f"wrong result ({' + '.join(result.evaluators)})"
