"""Whether an episode has ended, and why. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.actions import Action, Stop
from harness.records import CloseReason, Episode, EpisodeLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Termination:
    """How an episode ended."""

    reason: CloseReason
    detail: str = ""
    """In the benchmark's words, when the agent did not stop by itself."""
    answer: str = ""


StopRules = Callable[[Sequence[Action], EpisodeLimits], Termination | None]
"""Given all actions of an attempt, oldest first: why it must end before the next decision; None = it may continue."""


def max_steps_only(actions: Sequence[Action], limits: EpisodeLimits) -> Termination | None:
    """The stop rule of a benchmark without one of its own."""
    if len(actions) < limits.max_steps:
        return None
    return Termination(reason=CloseReason.MAX_STEPS, detail=f"{limits.max_steps} steps were taken (limits.max_steps)")


def check_termination(
    limits: EpisodeLimits, episode: Episode, rules: StopRules = max_steps_only, *, kept: int = 0
) -> Termination | None:
    """Why the episode has ended; None if it has not.

    Asked before every decision and before every action; a pending action other than `stop` is still carried out.

    Args:
        kept: Bytes that the attempt has on disk.
    """
    if episode.pending is not None:
        action = episode.pending.action
        return Termination(reason=CloseReason.STOPPED, answer=action.answer) if isinstance(action, Stop) else None
    if episode.steps and episode.steps[-1].acted.done:
        return Termination(reason=CloseReason.DONE)
    spent = overspent(limits, episode, kept)
    if spent is not None:
        return Termination(reason=CloseReason.BUDGET, detail=spent)
    actions = [step.decided.action for step in episode.steps]
    return rules(actions, limits)


def overspent(limits: EpisodeLimits, episode: Episode, kept: int = 0) -> str | None:
    """The budget that an attempt has spent, in words; None = there is something left of all of them.

    Args:
        kept: As of `check_termination`.
    """
    tokens = episode.usage.prompt_tokens + episode.usage.completion_tokens
    spent = (
        ("tokens", tokens, limits.max_tokens),
        ("USD", episode.usage.cost_usd, limits.max_cost_usd),
        ("seconds of work", episode.elapsed_ms / 1000, limits.max_working_s),
        ("MB on disk", kept / (1 << 20), limits.max_disk_mb),
    )
    for unit, value, limit in spent:
        if limit is not None and value >= limit:
            return f"Budget of {limit:g} {unit} is reached ({value:g})"
    return None
