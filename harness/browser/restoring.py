"""How an episode is led back to where its journal ends, decided from the records alone.

Pure but for `replay`, which performs recorded actions through a function it is given. No recorded effect is ever repeated on
a site that cannot be reset, whatever strategy is asked for. A pending decision whose effect is unknown is never performed
blindly: `plan` asks for an exactly equal page where it could have changed such a site.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from harness.actions.space import Action, Aimed, Code, Drag, Hover, Keyboard, Mouse, Press, Target
from harness.browser.comparing import similarity
from harness.browser.settings import RestoreSettings
from harness.errors import EnvironmentDiverged, InfraError
from harness.protocols import Landed
from harness.records import Acted, Done, Episode, Site, Task, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a restore will do."""

    strategy: str
    """`reset` (nothing to restore), `replay` or `checkpoint`."""
    reset: tuple[Site, ...]
    """Sites put back to their seed first."""
    least: float
    """How much alike a page must be to the recorded one."""
    least_at_end: float
    """The same for the last page, on which a pending decision will be performed."""


def plan(task: Task, episode: Episode, *, sites: tuple[Site, ...], settings: RestoreSettings) -> Plan:
    """Choose.

    Raises:
        EnvironmentDiverged: The settings ask for a new attempt.
        InfraError: They ask for leaving the episode as it is.
    """
    mine = tuple(site for site in sites if site.name in task.sites)
    resettable = tuple(site for site in mine if site.reset_url is not None)
    if episode.arrival is None:
        return Plan(strategy="reset", reset=resettable, least=0.0, least_at_end=0.0)
    if settings.strategy == "restart":
        raise EnvironmentDiverged("a new attempt instead of a restore was asked for (resume.strategy=restart)")
    if settings.strategy == "fail":
        raise InfraError("interrupted episodes are left as they are (resume.strategy=fail)")
    whole = len(resettable) == len(mine)
    effects = any(step.acted.effects for step in episode.steps)
    strategy = settings.strategy
    if strategy == "auto":
        strategy = "checkpoint" if effects and not whole else "replay"
    unsure = episode.pending is not None and may_change_sites(episode.pending.action)
    fresh = strategy == "replay" and whole
    if strategy == "replay" and effects and not whole:
        raise EnvironmentDiverged(_would_repeat(episode, mine))
    return Plan(
        strategy=strategy,
        reset=resettable if fresh else (),
        least=settings.min_similarity,
        least_at_end=1.0 if unsure and not fresh else settings.min_similarity,
    )


def _would_repeat(episode: Episode, sites: tuple[Site, ...]) -> str:
    """Why a replay was not even begun, and what would do instead."""
    number, effect = next(
        (number, step.acted.effects[0]) for number, step in enumerate(episode.steps, 1) if step.acted.effects
    )
    names = ", ".join(site.name for site in sites if site.reset_url is None)
    return (
        f"a replay would repeat {effect.method} {effect.url} of step {number}, and {names} cannot be put back before it"
        " (sites.X.reset_url); resume=auto goes on from a checkpoint instead"
    )


def may_change_sites(action: Action) -> bool:
    """Whether performing it twice could do something twice."""
    return isinstance(action, Aimed | Press | Mouse | Keyboard | Code) and not isinstance(action, Hover)


def compare(view: View, recorded: Acted, *, least: float, step: int) -> float:
    """How much alike they are.

    Raises:
        EnvironmentDiverged: Less than `least`.
    """
    alike = similarity(view.observation, recorded.observation)
    if alike < least:
        raise EnvironmentDiverged(
            f"step {step} led to {view.observation.url}, {alike:.2f} like the recorded {recorded.observation.url}"
            f" (at least {least:g} is asked for)"
        )
    return alike


async def replay(
    episode: Episode, arrival: View, *, step: Callable[[Action, bool], Awaitable[Landed]], plan: Plan
) -> tuple[View, tuple[float, ...]]:
    """Perform the recorded actions again, comparing after each.

    Args:
        arrival: The start pages as they are now.
        step: Performs an action, settles and observes; told whether it is the last one.
    Returns:
        The last view, and how much alike each one was, arrival included.
    """
    assert episode.arrival is not None
    view = arrival
    least = [plan.least] * len(episode.steps) + [plan.least_at_end]
    alike = [compare(view, episode.arrival, least=least[0], step=0)]
    for number, recorded in enumerate(episode.steps, start=1):
        action = aim(recorded.decided.action, view)
        if action is None and isinstance(recorded.acted.outcome, Done):
            raise EnvironmentDiverged(f"step {number}: {_wanted(recorded.decided.action)} is not there this time")
        if action is not None:
            landed = await step(action, number == len(episode.steps))
            view = landed.view
            if type(landed.outcome) is not type(recorded.acted.outcome):
                raise EnvironmentDiverged(
                    f"step {number}: {landed.outcome} this time, {recorded.acted.outcome} in the record"
                )
        alike.append(compare(view, recorded.acted, least=least[number], step=number))
    return view, tuple(alike)


def aim(action: Action, view: View) -> Action | None:
    """The action with its targets' ids as of this view; None when no such element is in it."""
    if not isinstance(action, Aimed):
        return action
    target = _found(action.target, view)
    if target is None:
        return None
    if isinstance(action, Drag):
        onto = _found(action.onto, view)
        return None if onto is None else replace(action, target=target, onto=onto)
    return replace(action, target=target)


def _found(target: Target, view: View) -> Target | None:
    for id, node in view.nodes.items():
        if (node.role, node.name, node.nth) == (target.role, target.name, target.nth):
            return replace(target, id=id)
    return None


def _wanted(action: Action) -> str:
    assert isinstance(action, Aimed)
    return f"{action.target.role} {action.target.name!r} (number {action.target.nth})"
