"""The rate limiter of a run, shared by all its lanes in all worker processes.

It follows the configured limits, the limits in the endpoint's headers (`rate_limit_headers`) and the rate learnt from
rejections (`adaptive_rate`), whichever is slowest. Permits are granted in the order of requests. It starts slowly
(`slow_start`), at the beginning and after an outage, so that lanes do not send all at once, and pauses while the
endpoint is down (`circuit_breaker`). Crash-only: it stores nothing, and a new one learns the limits again.
Why: docs/decisions/models.md#the-rate-limiter-adapts-a-rate-not-a-concurrency-window
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from harness.llm.adaptive_rate import AdaptiveRate, SentRequest
from harness.llm.circuit_breaker import CircuitBreaker
from harness.llm.permits import Permit, PermitRequest, RequestOutcome, RequestResult
from harness.llm.rate_limit_headers import HeaderBudget
from harness.llm.slow_start import SlowStart
from harness.settings.models import RateLimits

MINUTE_S = 60.0
LONG_WAIT_S = 30.0
"""A requested pause is reported from this length on, or if it is cut short; shorter ones are normal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimiterStats:
    """Figures for the display and the summary."""

    in_flight: int = 0
    waiting: int = 0
    last_minute: int = 0
    """Requests sent within the last minute."""
    sent: int = 0
    """Requests of this start."""
    closed_s: float = 0.0
    """Remaining pause that the endpoint asked for."""
    refused: int = 0
    down_s: float = 0.0
    """How long the run has been paused because no request is answered."""
    waited_s: float = 0.0
    """All lanes together."""

    def __str__(self) -> str:
        closed = f", paused for {self.closed_s:.0f} s" if self.closed_s >= 1 else ""
        refused = f", {self.refused} rate-limited" if self.refused else ""
        down = f", paused because the endpoint has been down for {self.down_s:.0f} s" if self.down_s else ""
        return f"{self.in_flight} in flight, {self.last_minute}/min, {self.waiting} queued{closed}{refused}{down}"


class FixedRate:
    """A configured rate, kept evenly: no window of a minute ever holds more, wherever it begins."""

    def __init__(self, per_minute: float | None) -> None:
        self._each_s = MINUTE_S / per_minute if per_minute else 0.0
        self.ready_at = -math.inf

    def spend(self, cost: float, now: float) -> None:
        if self._each_s:
            self.ready_at = max(now, self.ready_at) + cost * self._each_s

    def correct(self, more: float) -> None:
        """What was spent turned out to be this much more, or less."""
        self.ready_at += more * self._each_s


class TimerHandle(Protocol):
    def cancel(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Time as a parameter."""

    monotonic: Callable[[], float] = time.monotonic
    call_later: Callable[[float, Callable[[], Any]], TimerHandle] = lambda delay_s, what: (
        asyncio.get_running_loop().call_later(delay_s, what)
    )


@dataclass(slots=True, eq=False, kw_only=True)
class _Ticket:
    want: PermitRequest
    since: float
    grant: Callable[[Permit], None]
    sent: SentRequest | None = None
    spent: tuple[float, float] = (0.0, 0.0)
    """What requests and tokens came to when it had just gone out."""


class Limiter:
    """Grants permits; implements `RateLimiter`."""

    def __init__(  # noqa: PLR0913 (what a run sets, and what its tests do)
        self,
        limits: RateLimits | None = None,
        clock: Clock | None = None,
        tell: Callable[[str], None] = lambda text: None,
        *,
        answered: bool = False,
        max_outage_s: float = math.inf,
        longest_wait_s: float = math.inf,
    ) -> None:
        """
        Args:
            limits: What the person allows.
            tell: Hears of outages and of long waits.
            answered: Whether the run had an answer in an earlier start.
            max_outage_s: Longest pause while the endpoint is down.
            longest_wait_s: Longest pause that the endpoint can ask for.
        """
        limits = limits or RateLimits()
        self._longest_wait_s = longest_wait_s
        self._tell = tell
        self._announced_until = -math.inf
        self._most = limits.max_concurrency or math.inf
        self._clock = clock or Clock()
        self._pace, self._ramp = AdaptiveRate(), SlowStart()
        # One for all workers: with a breaker in each of eight processes, eight lanes tested an endpoint that was down.
        self._breaker = CircuitBreaker(max_outage_s=max_outage_s, tell=tell, answered=answered)
        self._requests, self._tokens = HeaderBudget(), HeaderBudget()
        self._each_request, self._each_token = (
            FixedRate(limits.requests_per_minute),
            FixedRate(limits.tokens_per_minute),
        )
        self._queue: deque[_Ticket] = deque()
        self._in_flight = 0
        self._refusing_since: float | None = None
        self._sent_at: deque[float] = deque()
        self._sent = 0
        self._refused = 0
        self._waited_s = 0.0
        self._timer: TimerHandle | None = None

    async def acquire(self, want: PermitRequest) -> Permit:
        """See `RateLimiter.acquire`."""
        granted: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()

        def grant(permit: Permit) -> None:
            if granted.done():  # the waiter was just cancelled
                permit.end(RequestResult(outcome=RequestOutcome.unused))
            else:
                granted.set_result(permit)

        leave = self.ask(want, grant)
        try:
            return await granted
        except asyncio.CancelledError:
            leave()
            raise

    def ask(self, want: PermitRequest, grant: Callable[[Permit], None]) -> Callable[[], None]:
        """Queue up; `grant` is called with the permit, perhaps at once.

        Returns:
            Leaves the queue, or gives the permit back when it was granted.
        """
        ticket = _Ticket(want=want, since=self._clock.monotonic(), grant=grant)
        if want.again:
            self._queue.appendleft(ticket)
        else:
            self._queue.append(ticket)
        self._pump()

        def leave() -> None:
            if ticket in self._queue:
                self._queue.remove(ticket)
                self._pump()  # the next one may have waited only for this one
            else:
                self._end(ticket, RequestResult(outcome=RequestOutcome.unused))

        return leave

    async def outage(self, why: str, requests: int) -> float | None:
        """See `RateLimiter.outage`."""
        return self.down(why, requests)

    def down(self, why: str, requests: int) -> float | None:
        """The same, without waiting."""
        down_s = self._breaker.open(why, requests, self._clock.monotonic(), self._pace.opens_at)
        self._pump()
        return down_s

    async def rejection(self) -> bool:
        """See `RateLimiter.rejection`."""
        return self.rejects_all()

    def rejects_all(self) -> bool:
        """The same, without waiting."""
        return self._breaker.rejects_all()

    def flow(self) -> LimiterStats:
        now = self._clock.monotonic()
        self._forget_sent(now)
        return LimiterStats(
            in_flight=self._in_flight,
            waiting=len(self._queue),
            last_minute=len(self._sent_at),
            sent=self._sent,
            closed_s=max(0.0, self._pace.opens_at - now),
            refused=self._refused,
            down_s=self._breaker.down_s(now),
            waited_s=self._waited_s + sum(now - ticket.since for ticket in self._queue),
        )

    def _pump(self) -> None:
        """Grant whatever may go now, and come back when the next one may."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._queue and self._in_flight < self._most:
            now = self._clock.monotonic()
            ready_at = self._ready_at(self._queue[0], now)
            if ready_at > now:
                # Infinite while another request has to be answered first; its end comes back here.
                if math.isfinite(ready_at):
                    self._timer = self._clock.call_later(ready_at - now, self._pump)
                return
            self._grant(self._queue.popleft(), now)

    def _ready_at(self, ticket: _Ticket, now: float) -> float:
        asked_at = max(self._requests.ready_at(1, now), self._tokens.ready_at(ticket.want.tokens, now))
        # Never wait for days, whatever the endpoint says is left.
        last_at = ticket.since + max(self._longest_wait_s, MINUTE_S)
        if asked_at - now > MINUTE_S:
            self._say_wait(asked_at - now, min(asked_at, last_at), now)
        return max(
            self._pace.ready_at,
            self._ramp.ready_at(self._in_flight),
            self._breaker.ready_at(self._in_flight),
            self._each_request.ready_at,
            self._each_token.ready_at,
            min(asked_at, last_at),
        )

    def _say_wait(self, asked_s: float, until: float, now: float) -> None:
        """Report a long wait that the endpoint asks for, once."""
        wait_s = until - now
        is_cut = wait_s < asked_s - 1
        if now < self._announced_until or wait_s <= 0 or not (is_cut or wait_s >= LONG_WAIT_S):
            return
        self._announced_until = until
        self._tell(
            f"the endpoint asks for a pause of {asked_s:.0f} s; retrying in {wait_s:.0f} s"
            + " (llm.max_retry_s)" * is_cut
        )

    def _grant(self, ticket: _Ticket, now: float) -> None:
        free_at = self._pace.ready_at
        # A request that goes out later than that was held up by something else, and says nothing of the pace.
        by_pace = ticket.since < free_at and now - free_at <= max(0.05, 0.25 / self._pace.per_s)
        ticket.sent = self._pace.send(now, waited=by_pace)
        self._in_flight += 1
        self._ramp.grant(self._in_flight, now)
        self._each_request.spend(1, now)
        self._each_token.spend(ticket.want.tokens, now)
        self._requests.spend(1)
        self._tokens.spend(ticket.want.tokens)
        ticket.spent = (self._requests.spent, self._tokens.spent)
        self._sent += 1  # here, and not where they are sent: a worker that is lost says nothing any more
        self._sent_at.append(now)
        self._forget_sent(now)
        self._waited_s += now - ticket.since
        closed_s = 0.0 if self._refusing_since is None else now - self._refusing_since
        ticket.grant(
            Permit(end=lambda ending: self._end(ticket, ending), waited_s=now - ticket.since, closed_s=closed_s)
        )

    def _end(self, ticket: _Ticket, ending: RequestResult) -> None:
        sent, ticket.sent = ticket.sent, None
        if sent is None:  # it was ended before
            return
        now = self._clock.monotonic()
        self._in_flight -= 1
        self._sent -= ending.outcome is RequestOutcome.unused
        # Cut short, and not an error: it would end runs for a limit that is lifted within an hour.
        wait_s = None if ending.wait_s is None else min(ending.wait_s, self._longest_wait_s)
        if ending.outcome is RequestOutcome.refused:
            self._refused += 1
            self._refusing_since = now if self._refusing_since is None else self._refusing_since
            self._pace.refused(sent, wait_s, now)
        elif wait_s:
            # A server error that asks for a wait means all lanes, as a 429 does.
            self._pace.close(now + wait_s)
        if wait_s:
            self._say_wait(ending.wait_s or 0.0, now + wait_s, now)
        if ending.outcome.is_heard:
            self._refusing_since = None
        self._ramp.end(ending.outcome, now)
        self._breaker.end(ending.outcome, now)
        if ending.tokens is not None:
            more = ending.tokens - ticket.want.tokens
            self._each_token.correct(more)
            self._tokens.spend(more)
        for budget, allowance, spent in zip(
            (self._requests, self._tokens), (ending.limits.requests, ending.limits.tokens), ticket.spent, strict=True
        ):
            if allowance is not None:
                budget.hear(allowance, spent, sent.at)
        self._pump()

    def _forget_sent(self, now: float) -> None:
        while self._sent_at and self._sent_at[0] <= now - MINUTE_S:
            self._sent_at.popleft()


class Limiters:
    """The limiters of a run: one for the model under test, one for its judge, which is often another endpoint.

    Fits `RateLimiter` and `SyncRateLimiter`; outages and figures are those of the model under test.
    """

    def __init__(self, model: Limiter | None = None, judge: Limiter | None = None) -> None:
        self._model = model or Limiter()
        self._judge = judge or Limiter()

    async def acquire(self, want: PermitRequest) -> Permit:
        """See `RateLimiter.acquire`."""
        return await self._of(want).acquire(want)

    def ask(self, want: PermitRequest, grant: Callable[[Permit], None]) -> Callable[[], None]:
        """See `SyncRateLimiter.ask`."""
        return self._of(want).ask(want, grant)

    async def outage(self, why: str, requests: int) -> float | None:
        return await self._model.outage(why, requests)

    def down(self, why: str, requests: int) -> float | None:
        return self._model.down(why, requests)

    async def rejection(self) -> bool:
        return await self._model.rejection()

    def rejects_all(self) -> bool:
        return self._model.rejects_all()

    def flow(self) -> LimiterStats:
        return self._model.flow()

    def _of(self, want: PermitRequest) -> Limiter:
        return self._judge if want.judge else self._model
