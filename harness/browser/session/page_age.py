"""How much younger the pages of a replay are than they were when the journal ended, and what follows for their timers.

A replay is faster than the model was. A timer of a page that would have fired by the last record is given the time to
fire, and one that would still have run is given the same time left as then, so that what comes next finds the pages as
they were. Only timers are waited for, for `CATCHES_UP_S` in all. One that would take longer is not: if its page is left
between the moment when it would have fired and the moment when it does, that is a doubt.
Why: docs/decisions/resume.md#a-replay-gives-timers-the-time-that-they-had

A checkpoint opens pages again, where only the timers that a page sets as it loads run again. For the others, and for
those that fire later than they would have, the same holds: a doubt, if their page is left, or the episode ends, after
the moment when they would have fired.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from playwright.async_api import Page

from harness.actions import Stop
from harness.browser.tabs.page_timers import PageTimer, loop_time, pending_timers
from harness.browser.tabs.tabs import Tabs
from harness.records import Acted, Episode

# To let all pages become as old as they were would cost the model's thinking time at each resume.
CATCHES_UP_S = 10.0
"""How long a replay waits for the timers of its pages, in all."""
LONGEST_S = 120.0
"""Of a pause that only two clock times tell of: there may be a kill between them."""
_SLACK_S = 0.5
"""Two runs differ by less in when the same timer fires."""
_OVERHEAD_S = 1.0
"""Between two records, beside what they measured; a longer time is an interruption."""
_POLL_S = 0.02
_SAME_DELAY = 0.05
"""Seconds, and share, by which the delay of the same timer may differ from one opening of a page to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Late:
    """A timer that fires later than it would have; times by the loop's clock."""

    page: Page
    document: int
    would: float
    will: float
    """inf = never."""
    url: str = ""
    """Of the page, canonical, where it never fires."""


class LateTimers:
    """Timers that fire later than they would have without a restore, or never."""

    def __init__(self, late: Sequence[_Late], *, steps: int) -> None:
        """`steps`: how many were recorded before it."""
        self._late = tuple(late)
        self._steps = steps

    def lost(self, documents: Mapping[Page, int], *, stood_s: float = 0.0) -> str:
        """What is in doubt from here on, as a page was left too early; "" = nothing, or it was told.

        Args:
            documents: See `Tabs.documents`; a timer of any other has not fired. {} = the episode ends.
            stood_s: For how long the time of the pages has stood still since.
        """
        now, gone = loop_time() - stood_s, [one for one in self._late if documents.get(one.page) != one.document]
        self._late = tuple(one for one in self._late if one not in gone)
        missed = next((one for one in gone if one.would <= now < one.will), None)
        if missed is None:
            return ""
        what = (
            f"{missed.url} was opened again without a timer that was to fire"
            if missed.will == math.inf
            else f"a page was left before its timer fired, {missed.will - missed.would:.0f} s later than without the"
            " interruption"
        )
        return f"resumed at step {self._steps}; {what}; what it would have sent is missing"


class PageAge:
    """How long the pages of one replay have lived, compared with the recorded ones."""

    def __init__(self, episode: Episode, *, stands_still: bool) -> None:
        """`stands_still`: the time of pages does between two steps, now as then."""
        self._steps = len(episode.steps)
        pending, further = episode.pending, _further(episode)
        goes_on = pending is not None or bool(further.times)
        self._decided = goes_on and not (pending is not None and isinstance(pending.action, Stop))
        # Nothing is recorded of what pages did while the browser of the pending decision was gone.
        self._limit_s = LONGEST_S if episode.is_unsent else CATCHES_UP_S
        self._slack_s = _SLACK_S if goes_on else 0.0
        self._ages = _ages(episode, stands_still=stands_still)
        self._begun = [(loop_time(), 0)]
        self._late = LateTimers((), steps=self._steps)
        self._unclear = ""

    def begin(self, step: int) -> None:
        """The action of a step is about to be performed again."""
        self._begun.append((loop_time(), step))

    async def catch_up(
        self,
        timers: Callable[[], Awaitable[Sequence[PageTimer]]],
        *,
        wait: Callable[[float], Awaitable[object]],
        sent: Callable[[], int],
    ) -> None:
        """Wait until every timer is where it was when the journal ended.

        Args:
            timers: Gives those that are still to fire.
            wait: Waits at most so many seconds.
            sent: How many requests that may change a site have been sent by now.
        """
        # Advancing the page's clock would need no wait, but scripts compare their timers with Date.
        until, before, is_close = loop_time() + self._limit_s, sent(), False
        while True:
            found = await timers()
            is_close |= any(abs(one.left_s - self._owed(one)) <= self._slack_s for one in found)
            left_s = until - loop_time()
            needed_s = max((needed for one in found if (needed := self._needed(one)) < left_s), default=0.0)
            if needed_s <= 0.0:
                break
            await wait(needed_s)
        late = [late for one in found if (late := self._lateness(one)) is not None]
        self._late = LateTimers(late, steps=self._steps)
        # Nobody can tell which was first, the last record or a request within half a second of it.
        if is_close and self._decided and sent() > before:
            self._unclear = (
                f"resumed at step {self._steps}; what a page sends after a delay was sent before step"
                f" {self._steps + 1}, and it is not recorded whether it was then"
            )

    def lost(self, documents: Mapping[Page, int], *, stood_s: float = 0.0) -> str:
        """See `LateTimers.lost`."""
        why, self._unclear = self._unclear, ""
        # Also where another doubt is told: a page that is gone is told once.
        missed = self._late.lost(documents, stood_s=stood_s)
        return why or missed

    def _owed(self, timer: PageTimer) -> float:
        """Seconds by which the chain of a timer is younger than it was when the journal ended."""
        at, step = max((one for one in self._begun if one[0] <= timer.born), default=self._begun[0])
        return self._ages[step] - (loop_time() - at)

    def _needed(self, timer: PageTimer) -> float:
        owed_s = self._owed(timer)
        if timer.left_s - owed_s > self._slack_s:
            return owed_s
        return max(timer.left_s, _POLL_S) if owed_s > -self._slack_s else 0.0

    def _lateness(self, timer: PageTimer) -> _Late | None:
        left_s, owed_s, now = timer.left_s, self._owed(timer), loop_time()
        would_s = left_s - owed_s
        if timer.every_s:
            would_s %= timer.every_s
        # What fired long before the end of the journal has sent what is recorded, and nothing else.
        if owed_s <= _POLL_S or would_s >= left_s or would_s < -_SLACK_S:
            return None
        return _Late(page=timer.page, document=timer.document, would=now + would_s, will=now + left_s)


async def reopened(episode: Episode, tabs: Tabs, *, stands_still: bool) -> LateTimers:
    """What is missing of the last recorded timers after its pages were opened again; see `PageAge`."""
    last, steps = episode.last, len(episode.steps)
    if last is None or not last.timers:
        return LateTimers((), steps=steps)
    found = await pending_timers(tabs.all)
    now, passed_s = loop_time(), _ages(episode, stands_still=stands_still)[-1] - last.elapsed_ms / 1000
    # A doubt at once would strike every page that ends its session after half an hour.
    late = []
    for timer in last.timers:
        left_s, delay_s = timer.left_ms / 1000 - passed_s, (timer.age_ms + timer.left_ms) / 1000
        # What fired has sent what is recorded, if its page was still there.
        has_fired = left_s < -_SLACK_S and not timer.every_ms and not episode.pages_ended
        if timer.tab >= len(tabs.all) or has_fired:
            continue
        tab = tabs.numbered(timer.tab)
        again = next((one for one in found if one.page is tab.page and _is_same(one, delay_s, timer.every_ms)), None)
        if again is not None:
            found.remove(again)
        would = now + (left_s % (timer.every_ms / 1000) if timer.every_ms else max(left_s, 0.0))
        will, url = (math.inf, last.observation.tabs[timer.tab].url) if again is None else (again.fires, "")
        late.append(_Late(page=tab.page, document=tab.commits, would=would, will=will, url=url))
    return LateTimers(late, steps=steps)


def _is_same(timer: PageTimer, delay_s: float, every_ms: int) -> bool:
    differs_s = abs(timer.fires - timer.born - delay_s)
    return differs_s <= _SAME_DELAY * max(1.0, delay_s) and round(timer.every_s * 1000) == every_ms


def acted_at(episode: Episode, step: int) -> Acted:
    """The record of a step, or of the start page (0)."""
    acted = episode.steps[step - 1].acted if step else episode.arrival
    assert acted is not None
    return acted


def _ages(episode: Episode, *, stands_still: bool) -> list[float]:
    """Of each step, and of the start page (0): seconds from the beginning of its action to the last record, as far as
    its page has lived through them.
    """
    spans = [_span(episode, step, stands_still=stands_still) for step in range(len(episode.steps) + 1)]
    return list(accumulate(reversed(spans)))[::-1]


def _span(episode: Episode, step: int, *, stands_still: bool) -> float:
    """Seconds from the beginning of a step's action to that of the next, or to the last record."""
    acted = acted_at(episode, step)
    acting_s = acted.elapsed_ms / 1000
    if stands_still:
        return acting_s
    if step < len(episode.steps):
        decided, then = episode.steps[step].decided, episode.steps[step].acted
        return acting_s + _pause(decided.elapsed_ms / 1000, then.at - then.elapsed_ms / 1000 - acted.at)
    pauses = [min(one.at - acted.at, LONGEST_S) for one in episode.late if one.step == step and one.replayed]
    if episode.pending is not None:
        pauses.append(_pause(episode.pending.elapsed_ms / 1000, episode.pending.at - acted.at))
    elif (further := _further(episode)).times:
        pauses.append(_pause(further.measured_s, max(further.times) - acted.at))
    # Never less than the action took: the clock may have been set back.
    return acting_s + max(0.0, max(pauses, default=0.0))


@dataclass(frozen=True, slots=True)
class _Further:
    """What an agent's process did after the last step, short of a decision."""

    times: list[float]
    """Of its records, seconds since the epoch."""
    measured_s: float
    """For which it waited for its model."""


def _further(episode: Episode) -> _Further:
    last = episode.last
    if last is None:
        return _Further([], 0.0)
    answers = [
        (max(one.at, last.at), answer.at)  # it may have asked before the page had settled
        for one in episode.asked
        if (answer := episode.answered.get(one.number)) is not None and answer.at > last.at
    ]
    commands = [one.at for one in episode.commanded if one.commands and one.at > last.at]
    return _Further([*(at for _, at in answers), *commands], sum(max(0.0, at - begun) for begun, at in answers))


def _pause(measured_s: float, passed_s: float) -> float:
    """Seconds of work between two records; the clock tells them best unless something lay between."""
    return passed_s if measured_s <= passed_s <= measured_s + _OVERHEAD_S else measured_s
