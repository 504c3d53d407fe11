"""A clock that stops while this process does not run: stopped (SIGSTOP, Ctrl-Z), frozen with its container, asleep.

A thread reads the time twice a second. A much longer gap in which the process used almost no processor time is time in
which it did not run. A gap with processor time counts as work: a library may hold the interpreter for long. What plays
episodes or supervises them runs on an event loop with this clock, so that every timeout counts working time.
Why: docs/decisions/running.md#suspended-time-is-detected-by-a-gap
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

LOOKS_EVERY_S = 0.5
GAP_S = 2.0
"""A gap from which on the process is taken to have stood still."""


class WorkingTime:
    """Seconds that this process has run, from an arbitrary start; must be called regularly."""

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, processor: Callable[[], float] = time.process_time
    ) -> None:
        self._monotonic = monotonic
        self._processor = processor
        self._lock = threading.Lock()
        self._looked, self._used = monotonic(), processor()
        self._stood_still_s = 0.0

    def __call__(self) -> float:
        with self._lock:
            now = self._monotonic()
            gap_s = now - self._looked
            if gap_s < LOOKS_EVERY_S:  # an event loop asks for every timer; the processor time costs more than the rest
                return now - self._stood_still_s
            used = self._processor()
            if gap_s > GAP_S:
                # Several threads may have used more than the gap was long.
                self._stood_still_s += max(0.0, gap_s - LOOKS_EVERY_S - (used - self._used))
            self._looked, self._used = now, used
            return now - self._stood_still_s


@cache
def _clock() -> WorkingTime:
    """The clock of this process; its thread starts with the first call."""
    clock = WorkingTime()
    # SIGCONT would not do: it does not say how long the process was stopped, and a frozen container gets none.
    threading.Thread(target=_look, args=(clock,), name="working time", daemon=True).start()
    return clock


def _look(clock: WorkingTime) -> None:
    while True:
        time.sleep(LOOKS_EVERY_S)
        clock()


def working_s() -> float:
    """Seconds this process has run. To be asked at the beginning and at the end of what is measured."""
    return _clock()()


class WorkingTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose timeouts and timers count the time in which this process runs."""

    def time(self) -> float:
        return working_s()


def run_in_working_time(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, on a `WorkingTimeLoop`."""
    with asyncio.Runner(loop_factory=WorkingTimeLoop) as runner:
        return runner.run(main)
