"""Resolves an action that may have reached a site before it was interrupted. Pure.

Known facts come first: a request of the action that the site answered, or the site's own report of its effects.
Otherwise `resume.in_doubt` decides. By default an action that may change something is not repeated.
Why: docs/decisions/resume.md#by-default-the-agent-decides-about-an-action-in-doubt
"""

from collections.abc import Collection, Mapping

from harness.errors import ActionInDoubt, EnvironmentDiverged
from harness.protocols import InDoubt
from harness.records import Decided, DoubtResolution, Episode, SideEffect

POLICIES = tuple(list(DoubtResolution)[:5])
"""What `resume.in_doubt` may be."""
_NOTICE = (
    "the run was interrupted during this action. It is unknown whether the site received it. The action was not"
    " repeated, and the page was opened again. Check whether the action took effect before you repeat it."
)
_NOTICE_PERFORMED = (
    "the run was interrupted after the site had received this action. The action was not repeated; the page was opened"
    " again."
)


def resolve(episode: Episode, sites: Collection[str], *, now: Mapping[str, str], policy: str) -> InDoubt:
    """Decide about the pending action of an episode.

    Args:
        sites: Names of those it may have reached; only when all of them say that nothing happened, nothing did.
        now: Site to what its `effects_url` answers now, for those asked before the action (`Decided.effects_seen`).
        policy: `resume.in_doubt`.
    Raises:
        EnvironmentDiverged: A new attempt is wanted.
        ActionInDoubt: The episode is to be left without a score.
    """
    pending = episode.pending
    assert pending is not None
    what = f"{pending.action.render()} (step {pending.step})"
    if (effect := _answered(episode, pending)) is not None:
        return InDoubt(
            resolution=DoubtResolution.PERFORMED,
            why=(
                f"{what} was interrupted after its {effect.method} {effect.url} had been answered with {effect.status};"
                " the resulting page is unknown"
            ),
            notice=_NOTICE_PERFORMED,
        )
    before = pending.effects_seen
    if changed := [site for site, answer in now.items() if answer != before[site]]:
        return InDoubt(
            resolution=DoubtResolution.PERFORMED,
            why=(
                f"{what} was interrupted; {', '.join(changed)} reports that it had an effect (effects_url), but the"
                " resulting page is unknown"
            ),
            notice=_NOTICE_PERFORMED,
        )
    if now.keys() >= set(sites) and not _seen(episode, pending):
        return InDoubt(
            resolution=DoubtResolution.NOT_PERFORMED,
            why=f"{what} was interrupted; {', '.join(now)} reports that it had no effect (effects_url)",
        )
    why = f"{what} was interrupted; it is unknown whether the site received it"
    match DoubtResolution(policy):
        case DoubtResolution.RESTART:
            raise EnvironmentDiverged(f"{why}; a new attempt begins (resume.in_doubt=restart)")
        case DoubtResolution.UNSCORED:
            raise ActionInDoubt(f"{why}; the episode gets no score (resume.in_doubt=unscored)")
        case resolution:
            notice = _NOTICE if resolution is DoubtResolution.ASK_PAGE else ""
            return InDoubt(resolution=resolution, why=f"{why}; {_DONE[resolution]}", notice=notice)


_DONE = {
    DoubtResolution.ASK_PAGE: "it was not repeated, and the agent was notified",
    DoubtResolution.SKIP: "it was not repeated",
    DoubtResolution.REPEAT: "it was repeated",
}


def _seen(episode: Episode, pending: Decided) -> list[SideEffect]:
    """Effects that were seen while the action was performed, until something broke."""
    return [
        effect
        for failed in episode.failures
        if failed.attempt == episode.attempt and failed.at >= pending.at and failed.boundary == "act"
        for effect in failed.effects
    ]


def _answered(episode: Episode, pending: Decided) -> SideEffect | None:
    return next((effect for effect in _seen(episode, pending) if effect.status is not None), None)
