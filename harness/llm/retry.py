"""The one place where a model request is tried again.

Only `RetryableError` is retried, an allow-list: cancellation, rejections and our own bugs pass at once. A wait the
server asks for is kept to (plus a little jitter, so that waiters do not come back together); otherwise waits grow
exponentially. Attempts and total time are both capped: no attempt begins after `max_retry_s`. What counts as transient
is `endpoint_errors`' business.

A request under a limiter waits there after a 429, and not here; such a refusal is not a failed attempt, unless
the endpoint has rejected all requests for `max_retry_s`.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from harness.api import RetryableError
from harness.settings.models import RetryPolicy

T = TypeVar("T")
_MOST_WAIT_S = 60.0
"""Cap of one exponential wait; a wait that the server asks for may be longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Time and chance as parameters, so that tests take no wall time."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    """In [0, 1)."""
    first_wait_s: float = 1.0
    """Of the waits that grow exponentially."""


class Retrier:
    """Runs attempts until one succeeds, is refused, or the policy is exhausted."""

    def __init__(
        self, policy: RetryPolicy, *, tell: Callable[[str], None] = lambda text: None, timing: Timing | None = None
    ) -> None:
        """`tell`: hears, before each wait, what failed and when it is tried again."""
        self._policy = policy
        self._tell = tell
        self._timing = timing or Timing()

    async def run(self, attempt: Callable[[], Awaitable[T]], waited_s: Callable[[], float] = lambda: 0.0) -> T:
        """Run attempts; `waited_s`: how long they were queued so far, which is not a failure.

        Raises:
            RetryableError: The last attempt's, when the policy is exhausted.
        """
        started = self._timing.monotonic()
        refusals = 0

        def exhausted(state: RetryCallState) -> bool:
            nonlocal refusals
            closed_s = _failure(state).closed_s
            if closed_s is not None:
                refusals += 1
                return closed_s > self._policy.max_retry_s
            next_at = self._timing.monotonic() - started - waited_s() + state.upcoming_sleep
            return state.attempt_number - refusals >= self._policy.max_attempts or next_at > self._policy.max_retry_s

        retrying = AsyncRetrying(
            sleep=self._timing.sleep,
            retry=retry_if_exception_type(RetryableError),
            wait=self._wait,
            stop=exhausted,
            before_sleep=self._announce,
            reraise=True,
        )
        result: T = await retrying(attempt)
        return result

    def _wait(self, state: RetryCallState) -> float:
        if _failure(state).closed_s is not None:
            return 0.0
        chance = self._timing.chance()
        asked = _failure(state).wait_s
        if asked:  # a wait of 0 is not a wait to keep to: we back off by ourselves
            return asked + chance * min(1.0, asked / 10)
        # The exponent is bounded: 2.0**1024 would overflow under a generous max_attempts.
        grown = self._timing.first_wait_s * 2.0 ** min(state.attempt_number - 1, 30)
        return min(_MOST_WAIT_S, grown) * (0.5 + chance / 2)

    def _announce(self, state: RetryCallState) -> None:
        if _failure(state).closed_s is None:
            self._tell(f"{_failure(state)}; retrying in {state.upcoming_sleep:.1f} s")


def _failure(state: RetryCallState) -> RetryableError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, RetryableError), "only RetryableError is retried"
    return error
