"""Turns: the right to send one request, and what came of it.

Whoever sends requests takes a turn before each and ends it after; who hands them out, in this process or in another
one, is not the sender's business.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import Any, Protocol

from harness.codec import build, plain
from harness.llm.rate_limit_headers import RateLimitHeaders


@dataclass(frozen=True, slots=True, kw_only=True)
class PermitRequest:
    """Asks for one turn."""

    tokens: int = 0
    """An estimate of what the request will cost, reply included."""
    lane: int = 0
    again: bool = False
    """Its turn before was refused by the endpoint: it need not queue up behind the others."""


class RequestOutcome(StrEnum):
    answered = "answered"
    refused = "refused"
    """With 429."""
    failed = "failed"
    """No answer, or a server's error."""
    rejected = "rejected"
    """The endpoint is there and refuses the request as such."""
    unused = "unused"

    @property
    def is_heard(self) -> bool:
        """Whether it shows that the endpoint is there and lets requests in."""
        return self in (RequestOutcome.answered, RequestOutcome.rejected)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestResult:
    """What came of a turn."""

    outcome: RequestOutcome
    tokens: int | None = None
    """As the endpoint counted; None = it did not say."""
    wait_s: float | None = None
    """How long it asks to be left alone."""
    told: RateLimitHeaders = field(default_factory=RateLimitHeaders)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """One granted turn; must be ended."""

    end: Callable[[RequestResult], None]
    waited_s: float
    closed_s: float | None
    """For how long the endpoint has refused everybody; 0 = it does not, None = nobody keeps watch over refusals."""


class RateLimiter(Protocol):
    async def acquire(self, want: PermitRequest) -> Permit:
        """Wait for a turn, in the order of asking; cancelling gives it back."""
        ...

    async def outage(self, why: str, requests: int) -> float | None:
        """Say that a request was given up after having been sent so often.

        Returns:
            For how many seconds the endpoint has been down; None = it is not, as others were answered meanwhile.
        """
        ...

    async def rejection(self) -> bool:
        """Say that a request was refused as such; gives whether it is the settings, as nobody was ever answered."""
        ...


class RemoteRateLimiter:
    """Turns from a limiter in another process, over any transport that keeps the order of messages.

    Sends `{"do": "take", "id", "want"}` and `{"do": "end", "id", "ending"}`, hears `{"id", "closed_s"}`; sends `{"do":
    "outage", "id", "why", "requests"}`, hears `{"id", "down_s"}`; sends `{"do": "rejection", "id"}`, hears `{"id",
    "all"}`.
    """

    def __init__(self, send: Callable[[Mapping[str, Any]], None], monotonic: Callable[[], float]) -> None:
        self._send = send
        self._monotonic = monotonic
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}

    async def acquire(self, want: PermitRequest) -> Permit:
        number, began = next(self._numbers), self._monotonic()
        granted = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"do": "take", "id": number, "want": plain(want)})

        def end(ending: RequestResult) -> None:
            self._send({"do": "end", "id": number, "ending": plain(ending)})

        try:
            closed_s = (await granted)["closed_s"]
        except asyncio.CancelledError:
            self._waiting.pop(number, None)
            end(RequestResult(outcome=RequestOutcome.unused))
            raise
        return Permit(end=end, waited_s=self._monotonic() - began, closed_s=closed_s)

    async def outage(self, why: str, requests: int) -> float | None:
        number = next(self._numbers)
        answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"do": "outage", "id": number, "why": why, "requests": requests})
        down_s: float | None = (await answered)["down_s"]
        return down_s

    async def rejection(self) -> bool:
        number = next(self._numbers)
        answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"do": "rejection", "id": number})
        return bool((await answered)["all"])

    def hear(self, message: Mapping[str, Any]) -> None:
        """A turn was granted, or something noted; a turn nobody waits for any more has been given back already."""
        waiting = self._waiting.pop(message["id"], None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)


class SyncRateLimiter(Protocol):
    """The part of a limiter that needs no waiting."""

    def ask(self, want: PermitRequest, grant: Callable[[Permit], None]) -> Callable[[], None]:
        """Queue up; what it returns leaves the queue, or gives the turn back."""
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
        self, limiter: SyncRateLimiter, send: Callable[[Mapping[str, Any]], None], monotonic: Callable[[], float]
    ) -> None:
        self._limiter = limiter
        self._send = send
        self._monotonic = monotonic
        self._leave: dict[int, Callable[[], None]] = {}
        self._turns: dict[int, Permit] = {}
        self._waiting: dict[int, tuple[int, float]] = {}
        self._waited_s: dict[int, float] = {}

    def hear(self, message: Mapping[str, Any]) -> None:
        """One message of `RemoteRateLimiter`."""
        number = message["id"]
        if message["do"] == "take":
            want = build(PermitRequest, message["want"])
            self._waiting[number] = (want.lane, self._monotonic())
            self._leave[number] = self._limiter.ask(want, lambda turn: self._grant(number, turn))
        elif message["do"] == "outage":
            self._send({"id": number, "down_s": self._limiter.down(message["why"], message["requests"])})
        elif message["do"] == "rejection":
            self._send({"id": number, "all": self._limiter.rejects_all()})
        elif (turn := self._turns.pop(number, None)) is not None:
            del self._leave[number]
            turn.end(build(RequestResult, message["ending"]))
        elif (leave := self._leave.pop(number, None)) is not None:
            self._stop_waiting(number)
            leave()

    def waited_s(self, lane: int) -> float:
        """How long a lane has waited for turns in all, the present wait included."""
        now = self._monotonic()
        still_s = sum(now - since for waiting, since in self._waiting.values() if waiting == lane)
        return self._waited_s.get(lane, 0.0) + still_s

    def close(self) -> None:
        """The worker is gone."""
        for number in (
            *self._waiting,
            *self._turns,
        ):  # who waits goes first, or would be granted what the others give back
            self._leave.pop(number)()
        self._turns.clear()
        self._waiting.clear()

    def _grant(self, number: int, turn: Permit) -> None:
        self._stop_waiting(number)
        self._turns[number] = turn
        self._send({"id": number, "closed_s": turn.closed_s})

    def _stop_waiting(self, number: int) -> None:
        lane, since = self._waiting.pop(number)
        self._waited_s[lane] = self._waited_s.get(lane, 0.0) + self._monotonic() - since


class Unlimited:
    """Grants every turn at once, and waits for no endpoint."""

    async def acquire(self, want: PermitRequest) -> Permit:
        return Permit(end=lambda ending: None, waited_s=0.0, closed_s=None)

    async def outage(self, why: str, requests: int) -> float | None:
        return None

    async def rejection(self) -> bool:
        return False
