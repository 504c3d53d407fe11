"""What is not known after a restore: of the pending action, and of sites whose pages were opened again."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from harness.actions import Click
from harness.browser.network import effects_url
from harness.browser.session import in_doubt, restoration
from harness.browser.session.browser_session import BrowserSession
from harness.browser.session.restored_effects import RestoredEffects
from harness.choices import InDoubtPolicy
from harness.errors import EnvironmentDiverged
from harness.protocols import InDoubt, RestoreResult
from harness.records import DoubtResolution, Episode, Site


class RestoreDoubts:
    """The doubts of one restore: sites are asked for their effects before it, and again after it."""

    def __init__(
        self,
        episode: Episode,
        plan: restoration.Plan,
        *,
        sites: Sequence[Site],
        facts: in_doubt.SiteFacts,
        policy: InDoubtPolicy,
    ) -> None:
        """`policy` is `resume.in_doubt`."""
        self._episode = episode
        self._plan = plan
        self._sites = sites
        self._facts = facts
        self._policy = policy
        self._before: Mapping[str, str] = {}

    async def begin(self) -> None:
        """To be called before anything is opened."""
        pending = self._episode.pending
        asked = pending.effects_seen if self._plan.in_doubt and pending is not None else {}
        self._before = await effects_url.answers(self._sites, {*self._plan.not_reset, *asked})

    async def settle(
        self,
        restored: RestoreResult,
        effects: RestoredEffects,
        *,
        window: BrowserSession,
        guard: AbstractAsyncContextManager[None],
    ) -> RestoreResult:
        """The restored view as it may be acted upon, what is to be done there first, and what is in doubt.

        Args:
            effects: What the restore has caused.
            guard: Watches what is asked of the page.
        Raises:
            EnvironmentDiverged: The pending action means something else there, or a new attempt is wanted.
            ActionInDoubt: The episode is to be left without a score.
        """
        # Asked last: a site may still have been at work on what was sent to it.
        now = await effects_url.answers(self._sites, self._before.keys())
        doubt = None
        if self._plan.in_doubt:
            async with guard:
                doubt = await self._doubt(restored, window, now)
        facts = replace(self._facts, unchanged=[site for site in now if now[site] == self._before[site]])
        changed = in_doubt.changed_by_restore(self._episode, effects.aside, facts)
        if not changed and self._plan.strategy == "checkpoint":
            is_doubtful = self._is_doubtful(restored, doubt)
            changed = in_doubt.changed_by_reopening(self._episode, facts, is_doubtful=is_doubtful)
        return replace(
            self._with_pending(restored, doubt),
            sent=effects.take_aside(),
            changed=changed,
            typed_again=self._plan.types_again(self._episode),
        )

    def _is_doubtful(self, restored: RestoreResult, doubt: InDoubt | None) -> bool:
        """Whether the score carries a doubt for another reason: one that is recorded, or will be with this restore."""
        episode = self._episode
        is_first_of_fork = episode.inherited > 0 and not episode.resumed
        known = any(not one.is_settled for one in episode.doubts) or restored.similarity[-1] < 1.0
        return known or is_first_of_fork or (doubt is not None and not doubt.resolution.is_settled)

    def _with_pending(self, restored: RestoreResult, doubt: InDoubt | None) -> RestoreResult:
        if (last := self._episode.last) is None:
            return restored
        if doubt is not None and doubt.resolution in restoration.NOT_REPEATED:
            return replace(restored, doubt=doubt)  # the page may differ by what the action did, if it did it
        pending = None if self._episode.pending is None else self._episode.pending.action
        if doubt is None or doubt.resolution is not DoubtResolution.SAFE:
            restoration.check_end(restored.view, last, pending=pending, step=len(self._episode.steps))
        if pending is not None:
            pending = restoration.aim_pending(pending, restored.view, last.observation)
        return replace(restored, pending=pending, doubt=doubt)

    async def _doubt(self, restored: RestoreResult, window: BrowserSession, now: Mapping[str, str]) -> InDoubt:
        assert self._episode.pending is not None
        asked = self._episode.pending.effects_seen
        return in_doubt.resolve(
            self._episode,
            self._plan.not_reset,
            now={site: answer for site, answer in now.items() if site in asked},
            policy=self._policy,
            safe_link=await self._safe_link(restored, window),
        )

    async def _safe_link(self, restored: RestoreResult, window: BrowserSession) -> str:
        """The address that a click leads to, if it only opens an address that changes nothing; "" = this is not known.

        The page need not be alike: a link leaves it, so what it had of its own (a draft, a banner) does not matter.
        """
        last, pending = self._episode.last, self._episode.pending
        assert last is not None and pending is not None
        if not isinstance(pending.action, Click) or pending.action.target.role != "link":
            return ""
        if restored.view.observation.url != last.observation.url:
            return ""
        try:
            aimed = restoration.aim_pending(pending.action, restored.view, last.observation)
        except EnvironmentDiverged:
            return ""
        url = await window.plain_link(aimed.targets[0])
        return url if url and self._facts.is_safe(url) else ""
