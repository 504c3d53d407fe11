"""The requests that may change a site, as a restore causes them.

On a site that was reset, a replay sends the recorded ones again. It is faster than the model was, so before each action
it waits for what was sent before it: with the same requests in the same order the site is in the recorded state. On any
other site nothing is sent on purpose: what a page sends because it was opened again is set aside, to be recorded.
Why: docs/decisions/resume.md#a-replay-waits-for-what-pages-sent-after-a-delay
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from harness.browser.network.traffic import SentEffect, Traffic
from harness.browser.session.page_age import LONGEST_S, PageAge, acted_at
from harness.browser.tabs.page_timers import loop_time, pending_timers
from harness.browser.tabs.tabs import Tabs
from harness.errors import EnvironmentDiverged
from harness.records import Decided, Episode, SideEffect

# Two cannot be told from two that were meant, and are counted.
_REPEATING = 3
"""A request sent so often in an attempt counts as repeating: how often it is sent depends on the time that passes."""
GRACE_S = 10.0
"""How much longer than recorded a request may take to come."""
_SLICE_S = 0.5
"""A wait is made of such pieces: time in which this process was frozen counts as one at most."""
_DIGIT = re.compile("[0-9]")

Kind = tuple[str, str]
"""Method, and what of an address stays the same from reset to reset."""


def kind_of(method: str, url: str) -> Kind:
    """What a request is compared by.

    The values of a query are left out, and path segments that contain a digit are equal: tokens, times and ids of new
    objects differ after each reset.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # an address that a page made up
        return method, url
    path = "/".join("*" if _DIGIT.search(one) else one for one in parts.path.partition(";")[0].split("/"))
    names = "&".join(sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}))
    return method, f"{parts.netloc}{path}?{names}"


@dataclass(slots=True)
class _Recorded:
    """What was sent from the beginning of an action to that of a later one."""

    at_once: Counter[Kind] = field(default_factory=Counter)
    """Before the page was observed."""
    late: Counter[Kind] = field(default_factory=Counter)
    refused: Counter[Kind] = field(default_factory=Counter)
    """Of `at_once`; of late requests it was not known yet."""
    effects: dict[Kind, SideEffect] = field(default_factory=dict)
    """One of each kind, to be named."""
    lasted_s: float = 0.0
    """Working time between the two actions."""

    @property
    def all(self) -> Counter[Kind]:
        return self.at_once + self.late


class RestoredEffects:
    """Compares the requests of one restore with the recorded effects."""

    def __init__(
        self,
        episode: Episode,
        *,
        compares: bool,
        was_reset: Callable[[str], bool],
        guard: Callable[[], AbstractAsyncContextManager[None]],
        stands_still: bool,
    ) -> None:
        """
        Args:
            compares: The restore performs every recorded action again.
            was_reset: Whether a canonical address is on a site that was reset since.
            guard: Watches the browser during a wait.
            stands_still: See `PageAge`.
        """
        self._guard = guard
        self._episode = episode
        self._compares = compares
        self._was_reset = was_reset
        self._traffic: Traffic | None = None
        self._tabs: Tabs | None = None
        self._happened = asyncio.Event()
        self._set_aside = asyncio.Event()
        self._aside: list[SideEffect] = []
        self.aside: list[SideEffect] = []
        """All that was set aside."""
        self._first = 0
        """The step whose action was performed last; 0 = none was."""
        self._seen: list[tuple[Kind, SentEffect]] = []
        """Since then."""
        self._totals: Counter[Kind] = Counter()
        self._recorded = [_recorded(episode, step) for step in range(len(episode.steps) + 1)] if compares else []
        self._recorded_totals = sum((one.all for one in self._recorded), Counter[Kind]())
        self._began_at = self._action_began_at = loop_time()
        self.age = PageAge(episode, stands_still=stands_still) if compares else None
        """None = what pages would do later is not made up for."""

    def listen(self, traffic: Traffic, tabs: Tabs) -> None:
        """Hear what the pages of a window send."""
        self._traffic, self._tabs = traffic, tabs
        traffic.listener = self._heard

    def stop(self) -> tuple[SideEffect, ...]:
        """Hear nothing more; gives what was sent beyond the recorded requests, or is still to be recorded."""
        more = self.take_aside()
        if self._traffic is None:
            return more
        self._traffic.listener = None
        if not self._compares:
            return more
        left = self._totals - self._recorded_totals
        beyond = []
        for kind, effect in reversed(self._seen):
            if left[kind] > 0 and kind not in self._repeating():
                left[kind] -= 1
                beyond.append(self._traffic.record(effect))
        return (*more, *reversed(beyond))

    async def begun_aside(self) -> None:
        """Wait until something was set aside."""
        while not self._aside:
            self._set_aside.clear()
            await self._set_aside.wait()

    def take_aside(self) -> tuple[SideEffect, ...]:
        """What was set aside since the last time."""
        taken, self._aside = tuple(self._aside), []
        return taken

    def begin(self, step: int) -> None:
        """The action of a step is about to be performed again."""
        self._first = step
        self._seen.clear()
        self._action_began_at = loop_time()
        self.passed(step)

    def passed(self, step: int) -> None:
        """What pages do from here on is of this step."""
        if self.age is not None:
            self.age.begin(step)

    async def at_once(self, step: int) -> bool:
        """Wait for what the action of a step sent before the page was observed; whether anything came meanwhile.

        Raises:
            EnvironmentDiverged: It does not come.
        """
        if not self._compares:
            return False
        wanted = self._wanted(step - 1).all + self._recorded[step].at_once
        if not _lacking(wanted, self._counts()):
            return False
        before = len(self._seen)
        await self._until(wanted, step)
        return len(self._seen) > before

    async def complete(self, step: int, *, is_strict: bool = True) -> None:
        """Wait for all that was sent before the action after a step, and for the answers; then compare.

        Args:
            is_strict: The requests of each step are compared, and none may be too many. Otherwise those of all steps so
                far have to be there: what a process sends beside its steps is not bound to them.
        Raises:
            EnvironmentDiverged: A request is missing, or too many, or no connection was made for one.
        """
        if not self._compares:
            return
        wanted = self._wanted(step)
        # Letting all the recorded time pass would be slower, and would still not say whether the requests came.
        await self._until(wanted.all, step)
        await self._until_answered(step)
        if is_strict:
            self._check_number(wanted, step)
        self._check_refused(wanted, step)

    async def finish(self, *, is_strict: bool = True) -> None:
        """As `complete` after the last step; then the timers of the pages are given the time that they had."""
        last = len(self._episode.steps)
        await self.complete(last, is_strict=is_strict)
        if self.age is None or (tabs := self._tabs) is None:
            return

        async def wait(limit_s: float) -> None:
            await self._wait(min(limit_s, _SLICE_S))

        before = self._totals.total()
        await self.age.catch_up(lambda: pending_timers(tabs.all), wait=wait, sent=self._totals.total)
        if self._totals.total() > before:
            await self._until_answered(last)

    def _heard(self, effect: SentEffect) -> None:
        assert self._traffic is not None
        if not effect.is_over:
            recorded = self._traffic.record(effect)
            if self._compares and self._was_reset(recorded.url):
                kind = kind_of(recorded.method, recorded.url)
                self._seen.append((kind, effect))
                self._totals[kind] += 1
            elif self._traffic.can_leave(effect):
                # To hold the request back would show the agent another page.
                self._aside.append(recorded)
                self.aside.append(recorded)
                self._set_aside.set()
        self._happened.set()

    def _counts(self) -> Counter[Kind]:
        return Counter(kind for kind, _ in self._seen)

    def _wanted(self, step: int) -> _Recorded:
        """All that is recorded since the action that was performed last: actions that were refused are not repeated."""
        steps = self._recorded[self._first : step + 1]
        wanted = _Recorded(lasted_s=sum(one.lasted_s for one in steps))
        for one in steps:
            wanted.at_once += one.at_once
            wanted.late += one.late
            wanted.refused += one.refused
            wanted.effects |= one.effects
        return wanted

    def _repeating(self) -> set[Kind]:
        return _often(self._totals) | _often(self._recorded_totals)

    async def _until(self, wanted: Counter[Kind], step: int) -> None:
        """Wait for so many requests of each kind.

        Raises:
            EnvironmentDiverged: One does not come.
        """
        lasted_s = sum(one.lasted_s for one in self._recorded[self._first : step + 1])
        so_far_s = sum(one.lasted_s for one in self._recorded[: step + 1])
        now = loop_time()
        patience_s = max(0.0, self._action_began_at + lasted_s - now)
        limit_s = max(patience_s, self._began_at + so_far_s - now) + GRACE_S
        waited_s = 0.0
        while lacking := _lacking(wanted, counts := self._counts()):
            # How often these are sent depends on the time that passes: one is enough, after as long as it took.
            is_enough = all(kind in self._repeating() and counts[kind] for kind in lacking)
            left_s = (patience_s if is_enough else limit_s) - waited_s
            if left_s <= 0:
                break
            waited_s += await self._wait(min(left_s, _SLICE_S))
        for kind in lacking:
            if kind not in self._repeating() or not self._totals[kind]:
                effect = self._wanted(step).effects[kind]
                raise EnvironmentDiverged(
                    f"{_after(step)}: {effect.method} {effect.url} was sent when this was recorded, and not this time"
                    f" (waited for {waited_s:.0f} s)"
                )

    async def _until_answered(self, step: int) -> None:
        """Wait for the answers, no longer than the next action was away."""
        following = _following(self._episode, step)
        left_s = GRACE_S if following is None else min(GRACE_S, following.elapsed_ms / 1000)
        while left_s > 0 and not all(effect.is_over for _, effect in self._seen):
            left_s -= await self._wait(min(left_s, _SLICE_S))

    async def _wait(self, limit_s: float) -> float:
        """Until anything happens; gives the seconds that count."""
        begun = loop_time()
        self._happened.clear()
        async with self._guard():
            try:
                async with asyncio.timeout(limit_s):
                    await self._happened.wait()
            except TimeoutError:
                pass
        return min(loop_time() - begun, limit_s)

    def _check_number(self, wanted: _Recorded, step: int) -> None:
        if self._first == 0 and not wanted.at_once:
            return  # before effects of the start page were recorded, nothing is known of them
        more = self._counts() - wanted.all
        for kind, effect in self._seen:
            if more[kind] and kind not in self._repeating():
                assert self._traffic is not None
                one, number = self._traffic.record(effect), wanted.all[kind]
                raise EnvironmentDiverged(
                    f"{_after(step)}: {one.method} {one.url} was sent {_times(number + more[kind])} this time, and"
                    f" {_times(number)} when this was recorded"
                )

    def _check_refused(self, wanted: _Recorded, step: int) -> None:
        refused = Counter(kind for kind, effect in self._seen if effect.refused)
        for kind in refused | wanted.refused:
            if kind not in self._repeating() and not 0 <= refused[kind] - wanted.refused[kind] <= wanted.late[kind]:
                now, then = ("found no connection", "did") if refused[kind] else ("was sent", "found no connection")
                raise EnvironmentDiverged(f"{_after(step)}: {' '.join(kind)} {now} this time, and {then} when recorded")


def repeating(episode: Episode) -> set[Kind]:
    """What an attempt has sent so often that no single step is the cause."""
    return _often(_counted(effect for step in range(len(episode.steps) + 1) for effect in episode.sent_after(step)))


def _often(counts: Counter[Kind]) -> set[Kind]:
    return {kind for kind, number in counts.items() if number >= _REPEATING}


def _recorded(episode: Episode, step: int) -> _Recorded:
    acted = acted_at(episode, step)
    late = [one for one in episode.late if one.step == step and one.replayed]
    at_once, later = _counted(acted.effects), _counted(effect for one in late for effect in one.effects)
    following = _following(episode, step)
    measured_s = (acted.elapsed_ms + (following.elapsed_ms if following else 0.0)) / 1000
    return _Recorded(
        at_once=at_once,
        late=later,
        refused=_counted(effect for effect in acted.effects if effect.refused),
        effects={kind_of(effect.method, effect.url): effect for effect in episode.sent_after(step)},
        lasted_s=max(measured_s, *(min(one.at - acted.at, LONGEST_S) for one in late), 0.0),
    )


def _following(episode: Episode, step: int) -> Decided | None:
    """The decision after a step."""
    return episode.steps[step].decided if step < len(episode.steps) else episode.pending


def _counted(effects: Iterable[SideEffect]) -> Counter[Kind]:
    return Counter(kind_of(effect.method, effect.url) for effect in effects)


def _lacking(wanted: Counter[Kind], seen: Counter[Kind]) -> list[Kind]:
    return [kind for kind in wanted if seen[kind] < wanted[kind]]


def _after(step: int) -> str:
    return f"after step {step}" if step else "on the start page"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times" if number else "never"
