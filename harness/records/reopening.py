"""Which pages a checkpoint opens again, and what opening them may do to their site. Pure.

A checkpoint opens the addresses of the last observed tabs. Whether that changes a site is known where the first opening
sent a request that may change one. It is possible where an action led to the page that may have followed a link (GET)
which changes something. An address that the agent gave itself, or a start page, is opened again by any restore.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.actions import Action, Type
from harness.records.episode import Episode
from harness.records.journal_lines import SideEffect
from harness.records.observation import Observation

_WEB = ("http://", "https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenedPage:
    """A page whose second opening may not be without consequences."""

    url: str
    """Canonical."""
    step: int
    """Step that opened it; 0 = it is a start page."""
    sent: tuple[SideEffect, ...]
    """What the page sent when it was opened; () = nothing, and an action that may change sites led to it."""


def reopened_pages(episode: Episode) -> Iterator[ReopenedPage]:
    """Of the tabs that were last observed, those for which it matters."""
    if episode.arrival is None:
        return
    opened = dict.fromkeys(_urls(episode.arrival.observation), 0)
    before = episode.arrival.observation
    for number, step in enumerate(episode.steps, start=1):
        seen = step.acted.observation
        fresh = {url for url in _urls(seen) if url not in opened}
        if seen.url == before.url and _may_have_reloaded(step.decided.action):
            fresh.add(seen.url)
        opened = {url: number if url in fresh else opened[url] for url in _urls(seen)}
        before = seen
    for url, number in opened.items():
        sent = tuple(effect for effect in episode.sent_after(number) if effect.by_load)
        by_action = number > 0 and episode.steps[number - 1].decided.action.may_change_sites()
        if url.startswith(_WEB) and (sent or by_action):
            yield ReopenedPage(url=url, step=number, sent=sent)


def types_what_is_sent_later(episode: Episode) -> bool:
    """Whether going on from a checkpoint types text again into a page that had a timer running, such as one that saves
    a draft: it may have saved it.
    """
    for step in reversed(episode.steps):
        if step.acted.observation.tabs != episode.steps[-1].acted.observation.tabs:
            return False
        if step.decided.action.only_fills_in() and step.acted.timers:
            return True
    return False


def _urls(observation: Observation) -> list[str]:
    return [tab.url for tab in observation.tabs]


def _may_have_reloaded(action: Action) -> bool:
    """Whether a page that is still at its address may have been opened once more: by a link to itself, by a key."""
    if not action.may_change_sites() or action.only_fills_in():
        return False
    return isinstance(action, Type) or all(target.role == "link" for target in action.targets)
