"""An event loop with virtual time, to simulate a sweep with the code that runs it.

When every coroutine sleeps, the clock of a `VirtualTimeLoop` jumps to the next wake-up time. If coroutines wait for
anything but time and each other, the loop raises an error instead of waiting forever.
"""

import asyncio
import heapq
import selectors
from collections.abc import Coroutine
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")


class _Jump(selectors.SelectSelector):
    """A selector that advances the clock instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("deadlock: every task waits for another")
        self.now += max(0.0, timeout)
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock, in seconds, begins at 0."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


class Processor:
    """Cores, shared evenly by the tasks that use them.

    A piece of work uses `parallel` cores when no other needs them. All are served at the same rate, so one
    counter of what each has been given tells who is done.
    """

    def __init__(self, cores: float, *, parallel: float = 1.0) -> None:
        self._cores = cores
        self._parallel = parallel
        self._given = 0.0
        """Processor seconds each of those at work has been given since the beginning."""
        self._since = 0.0
        self._at_work: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self._timer: asyncio.TimerHandle | None = None
        self.used_s = 0.0
        """Processor seconds of work done."""

    async def work(self, demand_s: float) -> None:
        """Wait until the processor has spent this many seconds on it."""
        if demand_s <= 0:
            return
        self._advance()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._at_work, (self._given + demand_s, next(self._order), done))  # futures cannot be compared
        self.used_s += demand_s
        self._arm()
        await done

    @property
    def _rate(self) -> float:
        return min(self._parallel, self._cores / max(1, len(self._at_work)))

    def _advance(self) -> None:
        now = asyncio.get_running_loop().time()
        self._given += (now - self._since) * self._rate
        self._since = now

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._at_work:
            left = max(0.0, self._at_work[0][0] - self._given)
            self._timer = asyncio.get_running_loop().call_later(left / self._rate, self._finish)

    def _finish(self) -> None:
        self._advance()
        first = self._at_work[0][0]
        self._given = max(self._given, first)  # what rounding left over must not arm the timer for nothing
        while self._at_work and self._at_work[0][0] <= first:
            heapq.heappop(self._at_work)[2].set_result(None)
        self._arm()
