"""Permits: the right to send one request, and the result of that request.

Each request takes a permit before and ends it after; the rate limiter that grants them, in this process or in another
one, is not the sender's business.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import Any, ClassVar, Protocol

from harness.llm.rate_limit_headers import RateLimitHeaders


@dataclass(frozen=True, slots=True, kw_only=True)
class PermitRequest:
    tokens: int = 0
    """An estimate of what the request will cost, reply included."""
    lane: int = 0
    judge: bool = False
    """Whether the judge asks, not the model under test."""
    again: bool = False
    """The endpoint refused its previous request, so it goes to the head of the queue."""


class RequestOutcome(StrEnum):
    answered = "answered"
    refused = "refused"
    """With 429."""
    failed = "failed"
    """No answer, or a server's error."""
    rejected = "rejected"
    """The endpoint is there and refuses the request as such."""
    cancelled = "cancelled"
    """Nobody waits for the answer any more; it may have been sent."""
    unused = "unused"
    """Not sent."""

    @property
    def is_heard(self) -> bool:
        """Whether it shows that the endpoint is there and lets requests in."""
        return self in (RequestOutcome.answered, RequestOutcome.rejected)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestResult:
    outcome: RequestOutcome
    tokens: int | None = None
    """As the endpoint counted; None = it did not say."""
    wait_s: float | None = None
    """How long it asks to be left alone."""
    limits: RateLimitHeaders = field(default_factory=RateLimitHeaders)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """A granted permit; must be ended."""

    end: Callable[[RequestResult], None]
    waited_s: float
    closed_s: float | None
    """Seconds since the endpoint began to reject all requests; 0 = it does not, None = not tracked."""


class RateLimiter(Protocol):
    async def acquire(self, want: PermitRequest) -> Permit:
        """Wait for a permit, first come first served; cancelling gives it back."""
        ...

    async def outage(self, why: str, requests: int) -> float | None:
        """Say that a request was given up after having been sent so often.

        Returns:
            For how many seconds the endpoint has been down; None = it is not, as others were answered meanwhile.
        """
        ...

    async def rejection(self) -> bool:
        """Report a rejected request; returns whether the settings are at fault (no request was ever answered)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquirePermit:
    """Answered by `PermitGranted` when the permit is granted."""

    kind: ClassVar[str] = "acquire_permit"

    id: int
    want: PermitRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class EndPermit:
    """Ends a permit, or the wait for it."""

    kind: ClassVar[str] = "end_permit"

    id: int
    result: RequestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOutage:
    """See `RateLimiter.outage`."""

    kind: ClassVar[str] = "report_outage"

    id: int
    why: str
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRejection:
    """See `RateLimiter.rejection`."""

    kind: ClassVar[str] = "report_rejection"

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PermitGranted:
    kind: ClassVar[str] = "permit"

    id: int
    closed_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageNoted:
    kind: ClassVar[str] = "outage"

    id: int
    down_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionNoted:
    kind: ClassVar[str] = "rejection"

    id: int
    rejects_all: bool


PermitCall = AcquirePermit | EndPermit | ReportOutage | ReportRejection
PermitReply = PermitGranted | OutageNoted | RejectionNoted


# Asked over the worker's pipe: a share of the limit for each worker would be unused while that worker is idle, and a
# file or a server would be state that can be lost.
class RemoteRateLimiter:
    """Permits from a limiter in another process, over any transport that keeps the order of messages."""

    def __init__(self, send: Callable[[PermitCall], None], monotonic: Callable[[], float]) -> None:
        self._send = send
        self._monotonic = monotonic
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    async def acquire(self, want: PermitRequest) -> Permit:
        number, began = next(self._numbers), self._monotonic()
        granted = self._asked(AcquirePermit(id=number, want=want))

        def end(ending: RequestResult) -> None:
            self._send(EndPermit(id=number, result=ending))

        try:
            reply: PermitGranted = await granted
        except asyncio.CancelledError:
            self._waiting.pop(number, None)
            # Also when it is not granted yet: the grant may be on its way, and would be lost.
            end(RequestResult(outcome=RequestOutcome.unused))
            raise
        return Permit(end=end, waited_s=self._monotonic() - began, closed_s=reply.closed_s)

    async def outage(self, why: str, requests: int) -> float | None:
        reply: OutageNoted = await self._asked(ReportOutage(id=next(self._numbers), why=why, requests=requests))
        return reply.down_s

    async def rejection(self) -> bool:
        reply: RejectionNoted = await self._asked(ReportRejection(id=next(self._numbers)))
        return reply.rejects_all

    def _asked(self, call: AcquirePermit | ReportOutage | ReportRejection) -> asyncio.Future[Any]:
        """Send it; gives what will hold the reply."""
        answered = self._waiting[call.id] = asyncio.get_running_loop().create_future()
        self._send(call)
        return answered

    def hear(self, message: PermitReply) -> None:
        """A permit was granted, or a report answered; a permit without a waiter was already returned."""
        waiting = self._waiting.pop(message.id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)


class SyncRateLimiter(Protocol):
    """The part of a limiter that needs no waiting."""

    def ask(self, want: PermitRequest, grant: Callable[[Permit], None]) -> Callable[[], None]:
        """Queue up; the returned function leaves the queue, or gives the permit back."""
        ...

    def down(self, why: str, requests: int) -> float | None:
        """See `RateLimiter.outage`."""
        ...

    def rejects_all(self) -> bool:
        """See `RateLimiter.rejection`."""
        ...


class RateLimiterServer:
    """The limiter's side of one `RemoteRateLimiter`; closing it gives back all that its worker had, or waited for."""

    def __init__(
        self, limiter: SyncRateLimiter, send: Callable[[PermitReply], None], monotonic: Callable[[], float]
    ) -> None:
        self._limiter = limiter
        self._send = send
        self._monotonic = monotonic
        self._leave: dict[int, Callable[[], None]] = {}
        self._permits: dict[int, Permit] = {}
        self._waiting: dict[int, int] = {}
        """Request to its lane."""
        self._since: dict[int, float] = {}
        """Lane to when the first of its waiting requests began to wait."""
        # A lane that waits here does not hang, so its supervisor takes this off its time.
        self._waited_s: dict[int, float] = {}
        self._is_closed = False

    def hear(self, message: PermitCall) -> None:
        """One message of `RemoteRateLimiter`."""
        match message:
            case AcquirePermit(id=number, want=want):
                self._waiting[number] = want.lane
                self._since.setdefault(want.lane, self._monotonic())
                self._leave[number] = self._limiter.ask(want, lambda permit: self._grant(number, permit))
            case ReportOutage(id=number, why=why, requests=requests):
                self._send(OutageNoted(id=number, down_s=self._limiter.down(why, requests)))
            case ReportRejection(id=number):
                self._send(RejectionNoted(id=number, rejects_all=self._limiter.rejects_all()))
            case EndPermit(id=number, result=result):
                self._end(number, result)

    def _end(self, number: int, result: RequestResult) -> None:
        if (permit := self._permits.pop(number, None)) is not None:
            del self._leave[number]
            permit.end(result)
        elif (leave := self._leave.pop(number, None)) is not None:
            self._stop_waiting(number)
            leave()

    def waited_s(self, lane: int) -> float:
        """How long a lane has waited for permits in all, including the present wait.

        Requests that wait at the same time are one wait.
        """
        now = self._monotonic()
        return self._waited_s.get(lane, 0.0) + now - self._since.get(lane, now)

    def close(self) -> None:
        """The worker is gone."""
        self._is_closed = True
        for number in self._waiting:
            self._leave[number]()
        for permit in self._permits.values():
            permit.end(RequestResult(outcome=RequestOutcome.cancelled))
        self._leave.clear()
        self._permits.clear()
        self._waiting.clear()
        self._since.clear()

    def _grant(self, number: int, permit: Permit) -> None:
        if self._is_closed:  # one of this worker's requests has left the queue, and this was the next one in it
            return permit.end(RequestResult(outcome=RequestOutcome.unused))
        self._stop_waiting(number)
        self._permits[number] = permit
        self._send(PermitGranted(id=number, closed_s=permit.closed_s))

    def _stop_waiting(self, number: int) -> None:
        lane = self._waiting.pop(number)
        if lane not in self._waiting.values():
            self._waited_s[lane] = self._waited_s.get(lane, 0.0) + self._monotonic() - self._since.pop(lane)


class Unlimited:
    """Grants every permit at once, and waits for no endpoint."""

    async def acquire(self, want: PermitRequest) -> Permit:
        return Permit(end=lambda ending: None, waited_s=0.0, closed_s=None)

    async def outage(self, why: str, requests: int) -> float | None:
        return None

    async def rejection(self) -> bool:
        return False
