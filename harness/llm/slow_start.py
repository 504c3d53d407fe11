"""Slow start: how many requests may be in flight at once grows step by step, at the beginning and after an outage.

Only growth is held back: a lane whose answer has come asks the next question without delay.
"""

import math

from harness.llm.permits import RequestOutcome

AT_ONCE = 4
STEP_S = 0.1
"""At the beginning one more lane joins in every so often; 32 lanes are at work after three seconds."""
STEP_AFTER_OUTAGE_S = 1.0
"""Afterwards, too, unless an answer comes earlier: each lets another one in."""
FAILURES = 5
"""In a row, without an answer in between: an outage, and no accident."""


class SlowStart:
    def __init__(self) -> None:
        self._width = AT_ONCE
        self._step_s = STEP_S
        self._widened_at = -math.inf
        self._failures = 0

    def ready_at(self, in_flight: int) -> float:
        """When one more may be in flight; never, while one asks whether an outage is over."""
        if in_flight < self._width:
            return -math.inf
        return math.inf if self._failures >= FAILURES else self._widened_at + self._step_s

    def grant(self, in_flight: int, now: float) -> None:
        """`in_flight`: with the one that goes out now."""
        if in_flight > self._width or self._widened_at == -math.inf:
            self._width = max(self._width, in_flight)
            self._widened_at = now

    def end(self, outcome: RequestOutcome, now: float) -> None:
        if outcome.is_heard:
            if self._failures >= FAILURES:
                self._widened_at = now
            self._failures = 0
            self._width += self._step_s == STEP_AFTER_OUTAGE_S
        elif outcome is RequestOutcome.failed:
            self._failures += 1
            if self._failures == FAILURES:
                self._width, self._step_s, self._widened_at = 1, STEP_AFTER_OUTAGE_S, now
