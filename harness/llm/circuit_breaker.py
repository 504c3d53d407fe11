"""Pauses a run while the endpoint is down, so that its tasks do not fail one after the other.

When a request has failed all its retries and no other was answered meanwhile, the circuit opens for all lanes of the
run, because it is part of their shared rate limiter: one request at a time is sent, at growing intervals. The first
answer closes it. After `max_outage_s` the outage becomes an error.

An endpoint that rejects a single request is up, and the rejection concerns only that request. If it has rejected every
request so far, the settings are wrong.
Why: docs/decisions/models.md#the-circuit-breaker-is-part-of-the-rate-limiter
"""

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TypeVar

from harness.api import ChatModel, ComputerTool, Message, Reply, Tool
from harness.errors import ModelRejected, ModelUnavailable, RequestRefused
from harness.llm.permits import RateLimiter, RequestOutcome

T = TypeVar("T")
FIRST_PAUSE_S = 15.0
LONGEST_PAUSE_S = 240.0
REJECTED = 8
"""Rejected requests without any answer so far: more than the attempts at two tasks, which may be at fault."""


class CircuitBreaker:
    """The circuit; knows no clock."""

    def __init__(self, *, max_outage_s: float, tell: Callable[[str], None], answered: bool = False) -> None:
        """
        Args:
            max_outage_s: After an outage of this length, requests fail instead of waiting.
            tell: Hears when it opens and when it closes, each once.
            answered: Whether the run has had an answer in an earlier start.
        """
        self._answered = answered
        self._rejected = 0
        self._max_outage_s = max_outage_s
        self._tell = tell
        self._since: float | None = None
        self._pause_s = FIRST_PAUSE_S
        self._ready_at = -math.inf
        self._unanswered = 0
        """Unanswered requests in a row, over all lanes."""

    def open(self, why: str, requests: int, now: float, opens_at: float = -math.inf) -> float | None:
        """See `RateLimiter.outage`; `opens_at`: nothing is sent before then anyway, as the endpoint asked for."""
        if self._since is None:
            # Others were answered since its first try: the request is given up, and the endpoint is not down.
            if self._unanswered < requests:
                return None
            # After all retries of a request: by single failures a busy endpoint would look like one that is down.
            self._since, self._pause_s = now, FIRST_PAUSE_S
            self._ready_at = max(opens_at, now + min(self._pause_s, self._max_outage_s))
            self._tell(f"{why}; the run is paused; retrying the endpoint in {self._ready_at - now:.0f} s")
        return now - self._since

    def down_s(self, now: float) -> float:
        return 0.0 if self._since is None else now - self._since

    def ready_at(self, in_flight: int) -> float:
        """When the next request may go out; never, while one does."""
        if self._since is None:
            return -math.inf
        return math.inf if in_flight else self._ready_at

    def end(self, outcome: RequestOutcome, now: float) -> None:
        """The result of a request; the failure of one that was sent before the pause was over is not news."""
        if outcome in (RequestOutcome.cancelled, RequestOutcome.unused):
            return
        self._answered = self._answered or outcome is RequestOutcome.answered
        self._rejected += outcome is RequestOutcome.rejected
        self._unanswered = 0 if outcome.is_heard else self._unanswered + 1
        if self._since is None:
            return
        if outcome.is_heard:
            self._tell(f"the endpoint answers again after {now - self._since:.0f} s")
            self._since = None
        elif now >= self._ready_at:
            self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
            # The last question is asked when the longest outage is over, and not a pause later.
            self._ready_at = max(now, min(now + self._pause_s, self._since + self._max_outage_s))

    def rejects_all(self) -> bool:
        """See `RateLimiter.rejection`."""
        # Counted: few servers send error codes, and a wrong `max_tokens` looks like a long prompt.
        return not self._answered and self._rejected >= REJECTED


@dataclass(frozen=True, slots=True)
class OutageWaiter:
    """Waits until an outage is over, and asks again."""

    rate_limiter: RateLimiter
    """It grants few permits while the endpoint is down."""
    _: KW_ONLY
    max_outage_s: float
    """After this time an outage is an error."""
    monotonic: Callable[[], float] = time.monotonic

    async def ask(self, ask: Callable[[], Awaitable[T]]) -> tuple[T, float]:
        """What is answered, and the seconds lost in an outage.

        Args:
            ask: Acquires a permit from the rate limiter for each request.
        Raises:
            ModelUnavailable: The endpoint stayed down for `max_outage_s`; or it answers others, and not this request.
            RequestRefused: It refuses this request as such.
            ModelRejected: The endpoint rejects all requests.
        """
        begun = asked_at = self.monotonic()
        while True:
            try:
                answer = await ask()
            except ModelUnavailable as error:
                down_s = await self.rate_limiter.outage(str(error), error.requests)
                if down_s is None:
                    raise
                if down_s >= self.max_outage_s:
                    raise ModelUnavailable(f"{error}; the endpoint was down for {down_s:.0f} s") from error
                asked_at = self.monotonic()
            except RequestRefused as error:
                if await self.rate_limiter.rejection():
                    raise ModelRejected(
                        f"{error}, like every request so far; check the llm settings, then run again"
                    ) from error
                raise
            else:
                return answer, asked_at - begun


@dataclass(frozen=True, slots=True)
class CircuitBreakerModel:
    """A `ChatModel` that waits until an outage is over."""

    model: ChatModel
    """Acquires a permit for each request, from the rate limiter of `waiter`."""
    waiter: OutageWaiter

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        """See `ChatModel.ask`; time lost in an outage counts as waiting.

        Raises: as `OutageWaiter.ask`.
        """
        reply, lost_s = await self.waiter.ask(lambda: self.model.ask(messages, tools))
        return replace(reply, waited_s=reply.waited_s + lost_s)
