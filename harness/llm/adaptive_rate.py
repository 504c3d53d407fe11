"""Finds how many requests a second an endpoint lets through, from nothing but what it refuses with 429.

The rate is halved at a refusal, unless what was let through since the refusal before proves more: between two moments
at which nothing was left, what was admitted *is* the limit. From there the pace grows back along a cubic curve (TCP
CUBIC's, counted in requests instead of seconds): it stays near the last known limit for long, and tries beyond it only
late, so that one request in about two hundred is refused and not one in ten. A refusal also closes the endpoint for
all lanes, for as long as it asks, or for growing pauses when it does not say.

Pure: the time is a parameter, and nothing sleeps. Source of the curve: RFC 9438, section 4.2.
"""

import math
from collections import deque
from dataclasses import dataclass

FEW = 8
"""Requests admitted between two refusals; from here on they are a measurement, before they are noise."""
SPAN = 100
"""Requests until the pace is back at a measured limit; also what must be seen since a refusal for older ones to go."""
# Shorter than `SPAN`, so that what is only guessed is soon tried.
UNSURE_SPAN = 32
BACK_OFF = 0.97
"""Share of a measured limit that is begun with."""
DEEPEST_CUT = 4.0
"""An interval that a pause has distorted may not slow down more than this at once."""
HIGHEST_STEP = 1.15
FIRST_PAUSE_S, LONGEST_PAUSE_S, PAUSE_GROWTH = 1.0, 30.0, 3.0
# An endpoint may change its limit, and older refusals measure what it was before.
OLDEST_S = 900.0
REMEMBERED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """One request, at the moment it went out."""

    at: float
    admitted: int
    """Requests sent before it and not refused, as far as known."""
    waited: bool
    """It had to wait for the pace: the pace was what limited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal:
    at: float
    admitted: int
    reopens: float
    """When the endpoint said it would go on; `at` when it did not say."""


class AdaptiveRate:
    """The pace of all requests to one endpoint; no limit until the first refusal."""

    def __init__(self) -> None:
        self._low = self._high = math.inf
        self._span = float(SPAN)
        self._grown = 0
        self._admitted = 0
        self._refusals: deque[_Refusal] = deque(maxlen=REMEMBERED)
        self._newest: deque[float] = deque(maxlen=16)
        self._idle_at = self._learnt_at = -math.inf
        self._in_a_row = 0
        self._unsure = False
        self._refusing_s = 0.0
        self._free_at = -math.inf
        self.opens_at = -math.inf
        """The endpoint asked to be left alone until then."""

    @property
    def per_s(self) -> float:
        """Requests a second; infinite while nothing was refused."""
        if math.isinf(self._high):
            return math.inf
        return self._high - (self._high - self._low) * (1 - self._grown / self._span) ** 3

    @property
    def ready_at(self) -> float:
        """When the next request may go out."""
        return max(self._free_at, self.opens_at)

    def send(self, now: float, *, waited: bool) -> SentRequest:
        """Note that a request goes out; `waited`: only because of `ready_at` it did not go earlier."""
        sent = SentRequest(at=now, admitted=self._admitted, waited=waited)
        self._admitted += 1
        self._newest.append(now)
        if waited:
            self._grown += 1
        elif math.isfinite(self._high):
            self._idle_at = now
        gap_s = 1 / self.per_s
        if self._unsure and self._grown < FEW:  # the next one learns from this one
            gap_s = max(gap_s, 1.25 * self._refusing_s)
        self._free_at = now + gap_s
        return sent

    def close(self, until: float) -> None:
        """Send nothing before then."""
        self.opens_at = max(self.opens_at, until)

    def refused(self, sent: SentRequest, asked_s: float | None, now: float) -> None:
        """Learn from a 429; `asked_s`: how long the endpoint asks to wait, None or 0 = it does not say."""
        self._admitted -= 1
        took_s = now - sent.at  # the shortest counts: the longer ones had to wait for this process
        self._refusing_s = min(took_s, 1.25 * self._refusing_s or took_s)
        if sent.at <= self._learnt_at:  # it had been sent before: no news
            self.close(now + (asked_s or 0.0))
            return
        self._learnt_at = now
        if sent.waited:
            self._grown = max(0, self._grown - 1)
        if not self._refusals or sent.admitted > self._refusals[-1].admitted:
            self._in_a_row = 0
            self._slow_down(_Refusal(at=sent.at, admitted=sent.admitted, reopens=sent.at + (asked_s or 0.0)))
        else:
            self._in_a_row += 1
        first_s = FIRST_PAUSE_S if self._unsure else 1 / self.per_s
        self.close(now + (asked_s or min(LONGEST_PAUSE_S, first_s * PAUSE_GROWTH**self._in_a_row)))
        self._free_at = self.opens_at

    def _slow_down(self, now: _Refusal) -> None:
        """Choose pace and curve; `_unsure` when that is more of a guess than a measurement."""
        speed = self.per_s if math.isfinite(self._high) else self._natural_per_s()
        count, least, most = self._measured(now)
        self._grown, self._unsure = 0, count < FEW
        if self._unsure:
            self._high = min(speed, max(most, speed / DEEPEST_CUT))
            # Nothing measured yet: half, as TCP does. The rate is adapted and not a number of concurrent requests,
            # which says little of a model that takes twenty seconds.
            self._low = BACK_OFF * min(max(speed / 2, least), self._high)
            self._span = max(UNSURE_SPAN, 8 * count)
        else:
            # What was admitted between two refusals is the limit itself, so there is nothing to halve.
            self._high = min((least + speed) / 2, HIGHEST_STEP * least)
            self._low = BACK_OFF * least
            self._span = SPAN
        self._refusals.append(now)
        self._forget(now)

    def _measured(self, now: _Refusal) -> tuple[int, float, float]:
        """Requests admitted since the last refusal; the rate is at least and at most, per second.

        At a refusal less than one request is left, so what was admitted in between is the refill, give or take one.
        The upper bound holds only when nothing was left unused; the longest memory gives the best one.
        """
        if not self._refusals:
            return 0, 0.0, math.inf
        count, lasted_s = _between(self._refusals[-1], now)
        least = (count - 1) / lasted_s
        oldest = self._refusals[0]
        if self._idle_at > oldest.at:
            return count, least, math.inf
        in_all, all_s = _between(oldest, now)
        return count, least, max(least, (in_all + 1) / all_s)

    def _forget(self, now: _Refusal) -> None:
        known = self._refusals
        while len(known) > 2 and (now.admitted - known[1].admitted >= SPAN or now.at - known[0].at > OLDEST_S):
            known.popleft()

    def _natural_per_s(self) -> float:
        """How fast requests went out while nothing limited them."""
        if len(self._newest) < 2:
            return 1.0
        # Lanes that begin in the same moment would give an infinite rate.
        return (len(self._newest) - 1) / max(self._newest[-1] - self._newest[0], 0.05)


def _between(one: _Refusal, other: _Refusal) -> tuple[int, float]:
    """Requests and seconds from one refusal to another; a pause that was asked for belongs to one side only."""
    lasted_s = other.at - one.at
    if other.reopens > other.at:
        lasted_s = min(lasted_s, other.reopens - one.reopens)
    if lasted_s <= 0:
        lasted_s = other.at - one.at
    return max(0, other.admitted - one.admitted), max(lasted_s, 1e-3)
