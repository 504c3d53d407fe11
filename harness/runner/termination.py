"""Whether an episode has ended, and why: a pure question to the fold."""

from dataclasses import dataclass

from harness.actions import Stop, StopRule, early_stop
from harness.records import CloseReason, Episode, EpisodeLimits

_REASONS = {
    StopRule.MAX_STEPS: CloseReason.MAX_STEPS,
    StopRule.PARSE_FAILURES: CloseReason.PARSE_FAILURES,
    StopRule.REPEATED: CloseReason.REPEATED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Termination:
    """How an episode ended."""

    reason: CloseReason
    detail: str = ""
    """In WebArena's words, when the agent did not stop by itself."""
    answer: str = ""


def check_termination(limits: EpisodeLimits, episode: Episode) -> Termination | None:
    """Say why the episode is over, or None while it goes on.

    Asked before every decision and before every action; a pending action other than `stop` is still carried out.
    """
    if episode.pending is not None:
        action = episode.pending.action
        return Termination(reason=CloseReason.STOPPED, answer=action.answer) if isinstance(action, Stop) else None
    spent = _overspent(limits, episode)
    if spent is not None:
        return Termination(reason=CloseReason.BUDGET, detail=spent)
    actions = [step.decided.action for step in episode.steps]
    stop = early_stop(
        actions,
        max_steps=limits.max_steps,
        parsing_failures=limits.parsing_failures,
        repeated_actions=limits.repeated_actions,
    )
    return None if stop is None else Termination(reason=_REASONS[stop.rule], detail=stop.detail)


def _overspent(limits: EpisodeLimits, episode: Episode) -> str | None:
    tokens = episode.usage.prompt_tokens + episode.usage.completion_tokens
    spent = (
        ("tokens", tokens, limits.max_tokens),
        ("USD", episode.usage.cost_usd, limits.max_cost_usd),
        ("seconds of work", episode.elapsed_ms / 1000, limits.max_working_s),
    )
    for unit, value, limit in spent:
        if limit is not None and value >= limit:
            return f"Budget of {limit:g} {unit} is spent ({value:g})"
    return None
