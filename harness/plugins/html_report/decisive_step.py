"""Which step of an episode a reader should look at to understand how it ended.

A rule for each ending and each evaluator, over what is recorded; no model is asked, and the step is a place to begin
reading, not a proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.api import CloseReason, Stop
from harness.runs.task_page import StepView, TaskPageModel

_ANSWERS = ("string", "answer", "response", "fuzzy")
"""Parts of the names of evaluators that judge an answer."""
_STATES = ("program", "html", "state", "network")
"""Parts of the names of evaluators that look at what a site holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLink:
    """A step, and what happened there."""

    step: int
    what: str


def ending_step(moments: Sequence[StepView], reason: CloseReason) -> StepLink | None:
    """The step at which an ending that was not the agent's own choice began."""
    if not moments:
        return None
    last = moments[-1]
    match reason:
        case CloseReason.REPEATED:
            return _first_of(moments, [one.action == last.action for one in moments], "equal actions")
        case CloseReason.PARSE_FAILURES:
            broken = [one.is_unreadable for one in moments]
            return _first_of(moments, broken, "unreadable replies")
        case CloseReason.MAX_STEPS | CloseReason.BUDGET:
            return StepLink(step=last.number, what="the last step")
        case _:
            return None


def verdict_step(moments: Sequence[StepView], evaluator: str, reason: CloseReason | None = None) -> StepLink | None:
    """The step whose outcome this evaluator judged; None when there was no step.

    Args:
        moments: The steps of the attempt that counts.
        evaluator: Its name.
        reason: How the attempt ended; an ending that the agent did not choose matters more than what was judged.
    """
    name = evaluator.casefold()
    if reason is not None and (begun := ending_step(moments, reason)) is not None:
        return begun
    if any(part in name for part in _ANSWERS):
        found = _last(moments, [isinstance(one.decided.action, Stop) for one in moments], "the answer was given here")
    elif any(part in name for part in _STATES):
        found = _last(moments, [bool(one.effects) for one in moments], "the last one that changed a site")
    elif "reward" in name:
        given = [one.acted is not None and one.acted.reward is not None for one in moments]
        found = _last(moments, given, "the last one with a reward")
    else:
        found = None
    performed = [one.acted is not None and not one.refused and not one.is_unreadable for one in moments]
    return (
        found
        or _last(moments, performed, "the last action performed")
        or _last(moments, [True] * len(moments), "the last step")
    )


def cause_step(story: TaskPageModel) -> StepLink | None:
    """The step for the cause that a task did not pass, by the score that its page shows first."""
    closed, first = story.episode.closed, next(iter(story.scores), None)
    if closed is None:
        return StepLink(step=story.moments[-1].number, what="the last step") if story.moments else None
    failing = [one for one in first.verdicts if one.value not in (None, 1)] if first else []
    return verdict_step(story.moments, failing[0].evaluator, closed.reason) if failing else None


def refusals(moments: Sequence[StepView]) -> tuple[int, ...]:
    """Steps whose action could not be performed."""
    return tuple(one.number for one in moments if one.refused)


def _last(moments: Sequence[StepView], fits: Sequence[bool], what: str) -> StepLink | None:
    number = next((one.number for one, is_it in zip(reversed(moments), reversed(fits), strict=True) if is_it), None)
    return None if number is None else StepLink(step=number, what=what)


def _first_of(moments: Sequence[StepView], fits: Sequence[bool], what: str) -> StepLink:
    """The first of those at the end that fit without a gap; the last step when it does not fit."""
    count = next((at for at, is_it in enumerate(reversed(fits)) if not is_it), len(fits)) or 1
    return StepLink(step=moments[-count].number, what=f"the first of {count} {what}" if count > 1 else "the last step")
