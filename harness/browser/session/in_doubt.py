"""Resolves an action that may have reached a site before it was interrupted, and says what a restore may have changed.

Pure. Known facts come first: a request of the action that the site answered, or the site's own report of its effects.
Otherwise `resume.in_doubt` decides. By default an action that may change something is not repeated.
Why: docs/decisions/resume.md#by-default-the-agent-decides-about-an-action-in-doubt
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from harness.browser.network.addresses import SiteFinder
from harness.choices import InDoubtPolicy
from harness.errors import ActionInDoubt, EnvironmentDiverged
from harness.protocols import InDoubt, RestoreResult
from harness.records import (
    DoubtReason,
    DoubtResolution,
    Episode,
    ReopenedPage,
    SideEffect,
    Site,
    Task,
    reopened_pages,
)

_NOTICE = (
    "the run was interrupted during this action. It is unknown whether the site received it. The action was not"
    " repeated, and the page was opened again. Check whether the action took effect before you repeat it."
)
_NOTICE_PERFORMED = (
    "the run was interrupted after the site had received this action. The action was not repeated; the page was opened"
    " again."
)


def resolve(
    episode: Episode, sites: Collection[str], *, now: Mapping[str, str], policy: InDoubtPolicy, safe_link: str = ""
) -> InDoubt:
    """Decide about the pending action of an episode.

    Args:
        sites: Names of those it may have reached; only when all of them say that nothing happened, nothing did.
        now: Site to what its `effects_url` answers now, for those asked before the action (`Decided.effects_seen`).
        policy: `resume.in_doubt`.
        safe_link: Where the action leads, if it only opens an address of a site whose addresses change nothing.
    Raises:
        EnvironmentDiverged: A new attempt is wanted.
        ActionInDoubt: The episode is to be left without a score.
    """
    pending = episode.pending
    assert pending is not None
    what = f"{pending.action.render()} (step {pending.step})"
    # An answer proves that the action was performed: repeating it would do it twice.
    if (effect := next((one for one in sent_by_pending(episode) if one.status is not None), None)) is not None:
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
    if now.keys() >= set(sites) and not sent_by_pending(episode):
        return InDoubt(
            resolution=DoubtResolution.NOT_PERFORMED,
            why=f"{what} was interrupted; {', '.join(now)} reports that it had no effect (effects_url)",
        )
    if safe_link and not sent_by_pending(episode):
        return InDoubt(
            resolution=DoubtResolution.SAFE,
            why=f"{what} was interrupted; it opens {safe_link}, which changes nothing (safe_get), and was repeated",
        )
    why = f"{what} was interrupted; it is unknown whether the site received it"
    match DoubtResolution(policy.value):
        case DoubtResolution.RESTART:
            raise EnvironmentDiverged(f"{why}; a new attempt begins (resume.in_doubt=restart)")
        case DoubtResolution.UNSCORED:
            raise ActionInDoubt(f"{why}; the episode gets no score (resume.in_doubt=unscored)")
        # To repeat it is wrong if it was performed, to skip it in silence if it was not: so the agent decides.
        case resolution:
            notice = _NOTICE if resolution is DoubtResolution.ASK_PAGE else ""
            return InDoubt(resolution=resolution, why=f"{why}; {_DONE[resolution]}", notice=notice)


_DONE = {
    DoubtResolution.ASK_PAGE: "it was not repeated, and the agent was notified",
    DoubtResolution.SKIP: "it was not repeated",
    DoubtResolution.REPEAT: "it was repeated",
}


def _sent_by_restores(episode: Episode) -> Iterator[SideEffect]:
    """Effects of restores of this attempt that did not come to their end."""
    for late in episode.own_late:
        if not late.replayed:
            yield from late.effects
    for _, failed in episode.own_failures():
        if failed.boundary == "restore" and episode.arrival is None:
            yield from failed.effects


def sent_by_pending(episode: Episode) -> list[SideEffect]:
    """Effects that were seen while the pending action was performed, until something broke."""
    pending = episode.pending
    return [
        effect
        for step, failed in episode.own_failures()
        if pending is not None and step == pending.step and failed.boundary == "act" and not failed.unsent
        for effect in failed.effects
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFacts:
    """What is known of the sites during a restore."""

    site_of: Callable[[str], str | None]
    """Canonical address to the name of its site; None = it is on none."""
    reset: Collection[str]
    """Names of the sites that were reset since."""
    is_safe: Callable[[str], bool]
    """Whether the settings say that opening this canonical address changes nothing."""
    unchanged: Collection[str] = field(default=())
    """Sites whose `effects_url` answers the same before and after the restore."""

    @classmethod
    def of(cls, task: Task, sites: Sequence[Site], reset: Collection[str]) -> "SiteFacts":
        """
        Args:
            sites: All configured ones.
            reset: Names of those that were reset.
        """
        site_of = SiteFinder((site.name, site.canonical) for site in sites)
        # RFC 9110 asks that GET changes nothing, and many sites do not hold to it: only a declaration counts.
        safe = {site.name for site in sites if site.safe_get or site.read_only}

        def is_safe(url: str) -> bool:
            site, changed = site_of(url), task.mutates
            return site in safe or changed is False or (isinstance(changed, tuple) and site not in changed)

        return cls(site_of=site_of, reset=frozenset(reset), is_safe=is_safe)

    def was_reset(self, url: str) -> bool:
        """Whether an address is on a site that was reset since."""
        return self.site_of(url) in self.reset

    def changed(self, effects: Iterable[SideEffect]) -> list[SideEffect]:
        """The effects that may have changed a site that was not reset."""
        return [effect for effect in effects if not self.holds(effect.url)]

    def holds(self, url: str) -> bool:
        """Whether the site of an address is surely as it was."""
        return self.was_reset(url) or self.site_of(url) in self.unchanged


NOTHING_KNOWN = SiteFacts(site_of=lambda url: None, reset=(), is_safe=lambda url: False)


def is_repeated(episode: Episode, restored: RestoreResult) -> bool:
    """Whether the pending action is performed although it is not known that it was not before."""
    if restored.pending is None or episode.is_unsent:
        return False
    return restored.doubt is None or restored.doubt.resolution is DoubtResolution.SAFE


def repeated(episode: Episode | None, effects: Sequence[SideEffect], sites: SiteFacts) -> str:
    """Why the action that was pending may have changed a site twice; "" = it did not.

    Args:
        episode: Before it was performed again; None = it was not.
        effects: Of its performance.
    """
    if episode is None or episode.pending is None:
        return ""
    for effect in sites.changed((*sent_by_pending(episode), *effects)):
        what = f"{episode.pending.action.render()} (step {episode.pending.step})"
        return f"{what} was interrupted and performed again; it sent {effect.method} {effect.url}, perhaps twice"
    return ""


def changed_by_restore(episode: Episode, sent: Iterable[SideEffect], sites: SiteFacts) -> str:
    """What a restore has sent to sites that were not reset, or does not send again; "" = nothing.

    Args:
        sent: Effects of the restore; those of interrupted ones are in the journal.
    """
    return _first(chain(_sent_again(episode, sent, sites), _never_sent(episode, sites)))


def changed_by_reopening(episode: Episode, sites: SiteFacts, *, is_doubtful: bool) -> str:
    """Why opening the tabs of the last step again may have changed a site twice; "" = it may not.

    Args:
        is_doubtful: The score carries a doubt anyway, so what is only possible is not another one.
    """
    sent = (
        f"{_opened(episode, page)}, which sent {page.sent[0].method} {page.sent[0].url} the first time"
        for page in reopened_pages(episode)
        if page.sent and not sites.holds(page.url)
    )
    known = _first(sent)
    # A change by GET cannot be seen from the request.
    return known if known or is_doubtful else _first(_possible(episode, sites))


def _first(found: Iterable[str]) -> str:
    why, *more = [*found] or [""]
    return f"{why}; and {len(more)} more" if more else why


def _opened(episode: Episode, page: ReopenedPage) -> str:
    return f"resumed at step {len(episode.steps)}; {page.url} was opened again"


def _possible(episode: Episode, sites: SiteFacts) -> Iterator[str]:
    for page in reopened_pages(episode):
        if not page.sent and not sites.holds(page.url) and not sites.is_safe(page.url):
            action = episode.said(episode.steps[page.step - 1].decided)
            yield (
                f"{_opened(episode, page)}, to which {action} had led; if this address changes something, it did so"
                " twice (sites.X.safe_get)"
            )


def _never_sent(episode: Episode, sites: SiteFacts) -> Iterator[str]:
    """What pages sent beside the steps while a site was gone: a page that is opened again does not send it."""
    late = (effect for one in episode.own_late for effect in one.effects)
    failed = (
        effect for _, one in episode.own_failures() if one.boundary not in ("act", "restore") for effect in one.effects
    )
    for effect in chain(late, failed):
        if effect.refused and not sites.was_reset(effect.url):
            what = f"{effect.method} {effect.url} found no connection, and was not sent again"
            yield f"resumed at step {len(episode.steps)}; {what}"


def _sent_again(episode: Episode, sent: Iterable[SideEffect], sites: SiteFacts) -> Iterator[str]:
    resumed = f"resumed at step {len(episode.steps)}"
    for effect in sites.changed(sent):
        yield f"{resumed}; a page that was opened again sent {effect.method} {effect.url}"
    if not any(doubt.reason is DoubtReason.REOPENED for doubt in episode.doubts):
        for effect in sites.changed(_sent_by_restores(episode)):
            yield f"a resume that was interrupted opened a page again, which sent {effect.method} {effect.url}"
