"""Endpoints that refuse, lanes that ask and a clock, all simulated: hours pass in seconds."""

import heapq
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from harness.llm.limiter import Clock, Limiter
from harness.llm.permits import Permit, PermitRequest, RequestOutcome, RequestResult
from harness.llm.rate_limit_headers import HeaderAllowance, RateLimitHeaders
from harness.settings.models import RateLimits


class Events:
    """A clock that jumps from event to event."""

    def __init__(self) -> None:
        self.now = 0.0
        self._numbers = count()
        self._events: list[tuple[float, int, Event]] = []
        self.clock = Clock(monotonic=lambda: self.now, call_later=self.call_later)

    def call_later(self, delay_s: float, what: Callable[[], object]) -> "Event":
        event = Event(what)
        heapq.heappush(self._events, (self.now + max(0.0, delay_s), next(self._numbers), event))
        return event

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heapq.heappop(self._events)
            if not event.cancelled:
                event.what()
        self.now = until


@dataclass
class Event:
    what: Callable[[], object]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class Rule(Protocol):
    """A rate limit."""

    def admit(self, now: float) -> float:
        """Seconds until there is room for one more; 0 = it was let in."""
        ...

    def left(self, now: float) -> HeaderAllowance: ...


@dataclass
class Bucket:
    """Refills all the time, up to `size`."""

    per_s: float
    size: float
    level: float = math.inf
    at: float = 0.0

    def admit(self, now: float) -> float:
        self._fill(now)
        if self.level >= 1 - 1e-9:
            self.level -= 1
            return 0.0
        return (1 - self.level) / self.per_s

    def left(self, now: float) -> HeaderAllowance:
        self._fill(now)
        return HeaderAllowance(
            limit=self.size, remaining=math.floor(self.level), reset_s=(self.size - self.level) / self.per_s
        )

    def _fill(self, now: float) -> None:
        self.level = min(self.size, self.level + (now - self.at) * self.per_s)
        self.at = now


@dataclass
class Window:
    """Begins anew every minute."""

    per_s: float
    offset_s: float = 0.0
    number: int = -1
    used: int = 0

    def admit(self, now: float) -> float:
        self._turn(now)
        if self.used < self.per_s * 60:
            self.used += 1
            return 0.0
        return 60 - (now + self.offset_s) % 60

    def left(self, now: float) -> HeaderAllowance:
        self._turn(now)
        limit = self.per_s * 60
        return HeaderAllowance(limit=limit, remaining=limit - self.used, reset_s=60 - (now + self.offset_s) % 60)

    def _turn(self, now: float) -> None:
        number = int((now + self.offset_s) // 60)
        if number != self.number:
            self.number, self.used = number, 0


@dataclass
class Sliding:
    """So many in any minute."""

    per_s: float
    sent: deque[float] = field(default_factory=deque)

    def admit(self, now: float) -> float:
        while self.sent and self.sent[0] <= now - 60:
            self.sent.popleft()
        if len(self.sent) < self.per_s * 60:
            self.sent.append(now)
            return 0.0
        return self.sent[0] + 60 - now

    def left(self, now: float) -> HeaderAllowance:
        raise NotImplementedError


@dataclass
class World:
    """Lanes that do nothing but ask, through one limiter, an endpoint with one rule."""

    rule: Rule
    lanes: int = 32
    latency_s: float = 1.0
    refusal_s: float = 0.05
    thinks_s: float = 0.0
    says: str = "seconds"
    """What comes with a refusal: `seconds` (whole ones, as most do), `exactly`, or `nothing`."""
    tells: bool = False
    """Every answer tells what is left."""
    limits: RateLimits = field(default_factory=RateLimits)
    seed: int = 0
    down: Callable[[float], bool] = lambda now: False

    def __post_init__(self) -> None:
        self.events = Events()
        self.limiter = Limiter(self.limits, self.events.clock)
        self.admitted: list[float] = []
        self.refused: list[float] = []
        self.failed: list[float] = []
        self.in_flight = self.most_in_flight = 0
        self._random = random.Random(self.seed)
        for _ in range(self.lanes):
            self.events.call_later(self._random.random() / 2, self._ask)

    def run(self, until: float) -> None:
        self.events.run(until)

    def rate(self, since: float) -> float:
        return len([at for at in self.admitted if at >= since]) / (self.events.now - since)

    def wasted(self, since: float = 0.0) -> float:
        refused = len([at for at in self.refused if at >= since])
        return refused / max(1, refused + len([at for at in self.admitted if at >= since]))

    def _ask(self, *, again: bool = False) -> None:
        self.limiter.ask(PermitRequest(tokens=100, again=again), lambda turn: self._arrive(turn))

    def _arrive(self, turn: Permit) -> None:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.events.call_later(self.refusal_s / 2, lambda: self._handle(turn))

    def _handle(self, turn: Permit) -> None:
        now = self.events.now
        if self.down(now):
            self.failed.append(now)
            self.events.call_later(
                self.refusal_s / 2, lambda: self._end(turn, RequestResult(outcome=RequestOutcome.failed))
            )
            return
        wait_s = self.rule.admit(now)
        limits = RateLimitHeaders(requests=self.rule.left(now)) if self.tells else RateLimitHeaders()
        if wait_s:
            self.refused.append(now)
            said = {"seconds": float(math.ceil(wait_s)), "exactly": wait_s, "nothing": None}[self.says]
            ending = RequestResult(outcome=RequestOutcome.refused, wait_s=said, limits=limits)
            takes_s = self.refusal_s / 2
        else:
            self.admitted.append(now)
            ending = RequestResult(outcome=RequestOutcome.answered, tokens=100, limits=limits)
            takes_s = self.latency_s * self._random.uniform(0.5, 1.5)
        self.events.call_later(takes_s, lambda: self._end(turn, ending))

    def _end(self, turn: Permit, ending: RequestResult) -> None:
        self.in_flight -= 1
        turn.end(ending)
        again = ending.outcome is RequestOutcome.refused
        thinks_s = 0.0 if again else 1.0 if ending.outcome is RequestOutcome.failed else self.thinks_s
        self.events.call_later(thinks_s * self._random.uniform(0.5, 1.5), lambda: self._ask(again=again))
