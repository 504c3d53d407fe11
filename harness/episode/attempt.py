"""Whether an attempt continues or a new one begins, and whether it has ended, and why. Pure."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.actions import Action, Code, InvalidAction, Stop, Type
from harness.actions.sameness import same_action
from harness.errors import EnvironmentDiverged
from harness.records import CloseReason, Episode, EpisodeLimits
from harness.secrets.symbols import Symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Termination:
    """How an episode ended."""

    reason: CloseReason
    detail: str = ""
    """In the benchmark's words, when the agent did not stop by itself."""
    answer: str = ""


StopRules = Callable[[Sequence[Action], EpisodeLimits], Termination | None]
"""Given all actions of an attempt, oldest first: why it must end before the next decision; None = it may continue."""


def stop_rules(
    actions: Sequence[Action], limits: EpisodeLimits, same: Callable[[Action, Action], bool] = same_action
) -> Termination | None:
    """The limits of the settings, in WebArena's words, which journals have had from the first.

    A limit of 0 unreadable replies means all of them, so none at all will do; None switches a rule off. Typing counts
    anywhere in the attempt, any other action in a row.

    Args:
        same: Of the action set.
    """
    if len(actions) >= limits.max_steps:
        return Termination(reason=CloseReason.MAX_STEPS, detail=f"Reach max steps {limits.max_steps}")
    # None for benchmarks without this rule: a large number would still be compared, and read like a rule.
    if limits.parsing_failures is not None and (detail := _unreadable(actions, limits.parsing_failures)):
        return Termination(reason=CloseReason.PARSE_FAILURES, detail=detail)
    if limits.repeated_actions is not None and actions:
        if detail := _repetition(actions, limits.repeated_actions, same):
            return Termination(reason=CloseReason.REPEATED, detail=detail)
    return None


def without_answers(episode: Episode, sites: Collection[str]) -> Episode:
    """The episode without what these sites had answered before its pending action: what they answer now is no news of
    it, as others have changed them since.
    """
    if episode.pending is None or not sites:
        return episode
    seen = {site: answer for site, answer in episode.pending.effects_seen.items() if site not in sites}
    return replace(episode, pending=replace(episode.pending, effects_seen=seen))


def check_termination(
    limits: EpisodeLimits, episode: Episode, rules: StopRules = stop_rules, *, kept: int = 0
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
    # Without what judging cost: limits end an attempt, and it is judged after that.
    tokens = episode.usage.prompt_tokens + episode.usage.completion_tokens
    spent = (
        ("tokens", tokens, limits.max_tokens),
        ("USD", episode.usage.cost_usd, limits.max_cost_usd),
        ("seconds of work", episode.elapsed_ms / 1000, limits.max_working_s),
        ("MB on disk", kept / (1 << 20), limits.max_disk_mb),
    )
    for unit, value, limit in spent:
        if limit is not None and value >= limit:
            return f"Budget of {limit:.15g} {unit} is reached ({round(value, 6):.15g})"
    return None


def _unreadable(actions: Sequence[Action], threshold: int) -> str:
    tail = actions[-threshold:]
    failed = len(tail) >= threshold and all(isinstance(action, InvalidAction) for action in tail)
    return f"Failed to parse actions for {threshold} times" if failed else ""


def _repetition(actions: Sequence[Action], threshold: int, same: Callable[[Action, Action], bool]) -> str:
    last = actions[-1]
    if _is_typing(last):
        again = sum(same(action, last) for action in actions)
        return f"Same typing action for {threshold} times" if again >= threshold else ""
    tail = actions[-threshold:]
    repeated = len(tail) >= threshold and all(same(action, last) for action in tail)
    return f"Same action for {threshold} times" if repeated else ""


def _is_typing(action: Action) -> bool:
    return isinstance(action, Type) or (isinstance(action, Code) and action.verb == Type.kind)


def new_attempt_reason(
    episode: Episode, instances: Mapping[str, str], config_digest: str, *, reopen: bool
) -> str | None:
    """Why a new attempt begins, as in `Opened.why`; None if the current one continues.

    Args:
        episode: What the journal holds.
        instances: Where it would be played, see `Job.instances`.
        config_digest: Of the present settings.
        reopen: Whether the person asked for a new attempt after this one.
    """
    if episode.opened is None:
        return "first"
    if reopen:
        return "retry"
    if episode.has_diverged:
        return "diverged"
    if episode.opened.config_digest != config_digest and episode.arrival is None and is_unbegun(episode):
        return "settings"
    # What an attempt did to its sites it did on these instances; without a record of them there was only one of each.
    before = episode.opened.instances
    moved = (before.get(site) != url for site, url in instances.items() if site in before or episode.arrival is None)
    return "moved" if any(moved) else None


def is_unbegun(episode: Episode) -> bool:
    """Whether the attempt has been opened, and nothing was done in it that its journal tells."""
    # A fork inherits its first steps.
    inherits = episode.opened is not None and episode.opened.fork is not None
    has_stepped = len(episode.steps) > episode.inherited or episode.pending is not None
    has_failed = any(failed.attempt == episode.attempt for failed in episode.failures)
    return not (has_stepped or has_failed or episode.resumed) and (inherits or episode.arrival is None)


def check_actions(episode: Episode) -> None:
    """See that what an attempt did, and is about to do, can be done again: that its texts are known.

    Raises:
        EnvironmentDiverged: One was redacted for good, or its secret is no longer configured.
    """
    decided = (*(step.decided for step in episode.steps), *((episode.pending,) if episode.pending else ()))
    for decision in decided:
        missing = Symbols(missing=True)
        missing.text(decision.action.render())
        if missing.names:
            raise EnvironmentDiverged(
                f"the action of step {decision.step} holds {missing}, which was redacted: it cannot be performed again"
            )
