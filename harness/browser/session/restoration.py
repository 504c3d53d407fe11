"""How an episode is restored to the end of its journal, decided from the records alone.

Pure except for `replay`, which performs recorded actions through a given function. The rule: an action that may change
a site is performed again only if the site was reset since. Otherwise its pages are opened again from a checkpoint, and
an interrupted action is in doubt.
Why: docs/decisions/resume.md#an-action-is-repeated-only-if-the-site-was-reset-since
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from harness.actions import Action, Cdp, Target
from harness.browser.network.addresses import SiteFinder, site_address
from harness.browser.rendering.similarity import difference, entries, similarity
from harness.browser.session.page_age import acted_at
from harness.browser.session.restored_effects import kind_of, repeating
from harness.choices import Strategy
from harness.errors import EnvironmentDiverged, InfraError
from harness.protocols import StepResult
from harness.records import (
    Acted,
    Decided,
    Done,
    DoubtResolution,
    Episode,
    LiveObservation,
    Observation,
    SideEffect,
    Site,
    Task,
    Unknown,
)
from harness.settings.resume import ResumeSettings

ELSEWHERE = ""
"""In a set of site names: pages of no configured site."""
NOT_REPEATED = (DoubtResolution.ASK_PAGE, DoubtResolution.SKIP, DoubtResolution.PERFORMED)
"""After these the pending action is over."""
_SAME_PLACE_PX = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a restore will do."""

    strategy: str
    """`reset` (nothing to restore), `replay` or `checkpoint`."""
    anchor: int
    """Step whose pages are opened from its checkpoint; the steps after it are performed again. A replay begins at 0."""
    least: float
    """How much alike a page must be to the recorded one."""
    not_reset: frozenset[str] = frozenset()
    """Names of the sites this attempt may have changed and that were not reset since."""
    in_doubt: bool = False
    """Whether the pending action may have reached a site that was not reset since."""

    @property
    def sends_again(self) -> bool:
        """Whether all that is recorded is performed again, on sites that were reset."""
        return self.strategy == "replay" and not self.not_reset

    def types_again(self, episode: Episode) -> bool:
        """Whether text is typed again on a site that was not reset."""
        again = episode.steps[self.anchor :] if self.not_reset else ()
        return any(step.decided.action.only_fills_in() for step in again)


RESET = Plan(strategy="reset", anchor=0, least=0.0)
"""There is nothing to restore."""


def plan(
    task: Task, episode: Episode, *, sites: Sequence[Site], settings: ResumeSettings, clean: Collection[str]
) -> Plan:
    """Choose.

    Args:
        sites: All configured ones.
        clean: Names of the sites that are at their seed now.
    Raises:
        EnvironmentDiverged: The settings ask for a new attempt, or nothing else can be right.
        InfraError: They ask for leaving the episode as it is.
    """
    if episode.arrival is None:
        return RESET
    _check_strategy(settings)
    at_risk = sites_at_risk(task, episode, sites)
    is_fresh = at_risk <= set(clean)
    acts = not all(_harmless(episode)) or bool(episode.late)
    strategy = settings.strategy.value
    if settings.strategy is Strategy.auto:
        # A replay although a checkpoint is faster: a checkpoint has neither the history of tabs nor what scripts
        # remember, so an agent that goes back would reach another page.
        strategy = "replay" if is_fresh or not acts else "checkpoint"
    if (acts or episode.arrival.effects) and at_risk and is_fresh:
        # The site was reset since: what a checkpoint goes on from is not there any more, nor what step 0 stored there.
        strategy = "replay"
    if acts and not is_fresh:
        # To repeat the effects would order things twice, and to take the checkpoint would make `replay` another word
        # for `auto`.
        if strategy == "replay":
            why = _would_repeat(task, episode, sites, at_risk - set(clean))
            raise EnvironmentDiverged(f"{why}; resume=auto continues from a checkpoint instead")
        if reset := sorted(at_risk & set(clean)):
            raise EnvironmentDiverged(f"{', '.join(reset)} was reset since, but other sites of the task were not")
    return Plan(
        strategy=strategy,
        anchor=_anchor(episode) if strategy == "checkpoint" else 0,
        least=settings.min_similarity,
        not_reset=frozenset(at_risk - set(clean)),
        in_doubt=episode.is_in_doubt and not is_fresh,
    )


def _check_strategy(settings: ResumeSettings) -> None:
    """See that the settings ask for a restore at all."""
    if settings.strategy is Strategy.restart:
        raise EnvironmentDiverged("a new attempt begins instead of a restore (resume.strategy=restart)")
    if settings.strategy is Strategy.fail:
        raise InfraError("interrupted episodes are not resumed (resume.strategy=fail)")


def is_driven(episode: Episode) -> bool:
    """Whether a process has driven the browser itself in this attempt: only it can do again what it did."""
    pending = episode.pending
    return bool(episode.commanded) or (pending is not None and isinstance(pending.action, Cdp))


def check_driven(
    task: Task, episode: Episode, *, sites: Sequence[Site], settings: ResumeSettings, clean: Collection[str]
) -> None:
    """See that a process which drives the browser itself may do again all that it did.

    Raises:
        EnvironmentDiverged: It would repeat what a site that was not reset has seen, or a new attempt is wanted.
        InfraError: The settings ask for leaving the episode as it is.
    """
    _check_strategy(settings)
    if settings.strategy is Strategy.checkpoint:
        raise EnvironmentDiverged(
            "a process that drives the browser itself cannot go on from a checkpoint (resume.strategy=checkpoint)"
        )
    if left := sites_at_risk(task, episode, sites) - set(clean):
        why = _would_repeat(task, episode, sites, left)
        raise EnvironmentDiverged(f"{why}; a process that drives the browser itself cannot continue from a checkpoint")


def may_be_in_doubt(task: Task, sites: Sequence[Site], clean: Collection[str]) -> bool:
    """Whether an interrupted action of the task may have changed a site that is not reset before the next try."""
    kept = {site.name for site in sites if site.read_only} | set(clean)
    return task.mutates is not False and not (task.sites and kept.issuperset(task.sites))


def sites_at_risk(task: Task, episode: Episode, sites: Sequence[Site]) -> set[str]:
    """Names of the sites this attempt may have changed; `ELSEWHERE` when it may have been none of them.

    Those that requests were recorded on, those the task may change, and those on whose pages it did what may change a
    site.
    """
    on = _sites_of(task, sites)
    changed = on(effect.url for _, effect in _effects(episode))
    if task.mutates is False:
        return changed
    # Records lack the request of a timer that was lost with the process, and a change by GET.
    acted_on = on(url for _, url in _acted_on(episode))
    declared = set(task.mutates) if isinstance(task.mutates, tuple) else {*task.sites, *acted_on}
    return changed | (declared - {site.name for site in sites if site.read_only})


def _sites_of(task: Task, sites: Sequence[Site]) -> Callable[[Iterable[str]], set[str]]:
    """Gives the names of the sites that addresses are on; `ELSEWHERE` for a web address of no configured site."""
    find = SiteFinder((site.name, site.canonical) for site in sites)
    unknown = set(task.sites) - {site.name for site in sites} or {ELSEWHERE}

    def on(urls: Iterable[str]) -> set[str]:
        return set[str]().union(*({site} if (site := find(url)) else unknown for url in urls if site_address(url)))

    return on


def _effects(episode: Episode) -> Iterator[tuple[int, SideEffect]]:
    """All that were recorded of this attempt, each with the step it was seen in or after."""
    acted = [*([episode.arrival] if episode.arrival else []), *(step.acted for step in episode.steps)]
    recorded = ((one.step, one.effects) for one in acted)
    late = ((one.step, one.effects) for one in episode.late)
    failed = ((step, one.effects) for step, one in episode.own_failures())
    for number, effects in chain(recorded, late, failed):
        yield from ((number, effect) for effect in effects)


def _acted_on(episode: Episode) -> Iterator[tuple[int, str]]:
    """Addresses of the pages on which something was done that may change a site, each with the step that did it.

    A page without an address of its own, such as `about:blank`, may be written by the page that opened it: what is done
    there counts for every page that the attempt had seen by then. An empty tab adds no site.
    """
    pages = (episode.arrival, *(step.acted for step in episode.steps))
    seen = set[str]()
    for number, (page, decided) in enumerate(zip(pages, _decisions(episode), strict=False), start=1):
        if page is None:
            return
        url = page.observation.url
        seen |= {tab.url for tab in page.observation.tabs if site_address(tab.url)}
        if decided.action.may_change_sites():
            yield from ((number, one) for one in ((url,) if site_address(url) else sorted(seen)))


def _decisions(episode: Episode) -> tuple[Decided, ...]:
    """The decisions of this attempt, including a pending one."""
    pending = () if episode.pending is None else (episode.pending,)
    return (*(step.decided for step in episode.steps), *pending)


def _harmless(episode: Episode) -> Iterator[bool]:
    """For each step, whether it can be performed again on a site that was not reset."""
    often = repeating(episode)
    for number, step in enumerate(episode.steps, start=1):
        action = step.decided.action
        late = episode.sent_after(number)[len(step.acted.effects) :]
        sends = bool(step.acted.effects) or any(kind_of(effect.method, effect.url) not in often for effect in late)
        yield not sends and (not action.may_change_sites() or action.only_fills_in())


def _anchor(episode: Episode) -> int:
    """The last step that opened a page or must not be performed again; what came after it can be."""
    anchor, before = 0, episode.arrival
    assert before is not None
    for number, (step, is_harmless) in enumerate(zip(episode.steps, _harmless(episode), strict=True), start=1):
        if step.acted.observation.tabs != before.observation.tabs or not is_harmless:
            anchor = number
        before = step.acted
    return anchor


def _would_repeat(task: Task, episode: Episode, sites: Sequence[Site], left: Collection[str]) -> str:
    """Why a replay was not even begun: the first request that was recorded on one of these sites, or else the first
    step that may have changed one.
    """
    on = _sites_of(task, sites)
    steps = [number for number, url in _acted_on(episode) if on((url,)) & set(left)]
    steps += [number for number, is_harmless in enumerate(_harmless(episode), start=1) if not is_harmless]
    requests = [(number, effect) for number, effect in _effects(episode) if on((effect.url,)) & set(left)]
    what = f"step {steps[0] if steps else len(episode.steps)}"
    if requests:
        number, effect = min(requests, key=lambda request: request[0])
        what = f"{effect.method} {effect.url} of step {number}"
    names = ", ".join(sorted(name or "a site that is not configured" for name in left))
    return f"a replay would repeat {what}, and {names} was not reset before it (sites.X.reset_url or reset_command)"


def compare(view: LiveObservation, recorded: Acted, *, least: float, step: int) -> float:
    """How much alike they are.

    Raises:
        EnvironmentDiverged: Less than `least`.
    """
    alike = similarity(view.observation, recorded.observation)
    if alike < least:
        raise EnvironmentDiverged(
            f"step {step} led to {view.observation.url}; its similarity to the recorded {recorded.observation.url} is"
            f" {alike:.2f}, below {least:g}"
        )
    return alike


def check_end(view: LiveObservation, recorded: Acted, *, pending: Action | None, step: int) -> None:
    """See that an agent can act on the restored page as it could on the recorded one.

    Raises:
        EnvironmentDiverged: It cannot, or the pending action means something else there.
    """
    if (why := difference(view.observation, recorded.observation)) is not None:
        raise EnvironmentDiverged(f"step {step} led to a page on which {why}")
    # What goes where the focus or the pointer is needs the very same page: no comparison of elements shows either.
    by_place = pending is not None and pending.may_change_sites() and not pending.targets
    if by_place and view.observation.fingerprint != recorded.observation.fingerprint:
        raise EnvironmentDiverged(
            f"step {step} led to a page that differs from the recorded one, on which {pending} was decided"
        )


Perform = Callable[[Action, Acted, bool], Awaitable[StepResult]]
"""Performs a recorded action again, settles and observes; given what it had led to, and whether it is the last one."""


async def replay(
    episode: Episode, view: LiveObservation, *, begin: int, perform: Perform, least: float
) -> tuple[LiveObservation, tuple[float, ...]]:
    """Perform the recorded actions after step `begin` again, comparing after each.

    Args:
        view: The page of step `begin` as it is now.
    Returns:
        The last view, and how much alike each one was, the first included.
    """
    before = acted_at(episode, begin)
    alike = [compare(view, before, least=least, step=begin)]
    for number, recorded in enumerate(episode.steps[begin:], start=begin + 1):
        action = aim(recorded.decided.action, view, before.observation)
        if isinstance(recorded.acted.outcome, Unknown):
            raise EnvironmentDiverged(
                f"step {number} was interrupted and its outcome is unknown, so it cannot be replayed"
            )
        if action is None and isinstance(recorded.acted.outcome, Done):
            raise EnvironmentDiverged(f"step {number}: {_wanted(recorded.decided.action)} is missing this time")
        if action is not None:
            landed = await perform(action, recorded.acted, number == len(episode.steps))
            view = landed.view
            if type(landed.outcome) is not type(recorded.acted.outcome):
                raise EnvironmentDiverged(
                    f"step {number}: {landed.outcome} this time, {recorded.acted.outcome} in the record"
                )
        # Before the next action: going on at once saves 5 ms, but another page may send something when it is left.
        alike.append(compare(view, recorded.acted, least=least, step=number))
        before = recorded.acted
    return view, tuple(alike)


def aim(action: Action, view: LiveObservation, recorded: Observation) -> Action | None:
    """The action with its targets' ids as of this view; None when no such element is surely in it.

    Args:
        recorded: What the action was decided upon.
    """
    found = {target: _found(target, view, recorded) for target in action.targets}
    if None in found.values():
        return None
    return action.with_targets(lambda target: found[target] or target)


def aim_pending(action: Action, view: LiveObservation, recorded: Observation) -> Action:
    """Aim a decision that was not performed yet in the same way.

    Raises:
        EnvironmentDiverged: Its element is not there.
    """
    if any(not target.role for target in action.targets):
        return action  # the agent named an id that it was not shown, and hears so
    aimed = aim(action, view, recorded)
    if aimed is None:
        raise EnvironmentDiverged(f"the pending decision's {_wanted(action)} is not on the restored page")
    return aimed


def _found(target: Target, view: LiveObservation, recorded: Observation) -> Target | None:
    """The element of the target's role and name; of several, the one in its order and place."""
    same = [(id, node) for id, node in view.nodes.items() if (node.role, node.name) == (target.role, target.name)]
    if view.observation.fingerprint == recorded.fingerprint:
        return replace(target, id=same[target.nth][0]) if target.nth < len(same) else None
    if len(same) == 1 and target.nth == 0 and _times(target, recorded) <= 1:
        return replace(target, id=same[0][0])
    near = [id for id, node in same if node.nth == target.nth and _is_same_place(node.box, target.box)]
    return replace(target, id=near[0]) if near else None


def _times(target: Target, recorded: Observation) -> int:
    return sum(line == target.line for _, line in entries(recorded.text))


def _is_same_place(one: Sequence[float] | None, other: Sequence[float] | None) -> bool:
    if one is None or other is None:
        return False
    return all(abs(here - there) <= _SAME_PLACE_PX for here, there in zip(one, other, strict=True))


def _wanted(action: Action) -> str:
    return " or ".join(f"{target.role} {target.name!r} (number {target.nth})" for target in action.targets)
