"""How many lanes of a worker have a job, when nobody has said it: more while machine and endpoint allow, else fewer.

What is best depends on the pages and on the model. Eight lanes on two cores whose model answers at once use up the
processor; eight whose model thinks for ten seconds leave it idle. So each worker begins with the lanes that pages of
any kind leave room for, and is given more while the processor is idle. A lane without a job takes no memory.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from harness.runner.capacity import LANE_MB, LoadMeter, MachineLoad

LOOKS_S = 0.5
"""Long enough that what a new lane takes to open its page is seen before the next one is added."""
IDLE, FULL = 0.75, 0.95
"""Parts of the processor: below the first lanes are added, above the second (several times in a row) taken away."""
FULL_LOOKS = 6
"""So long a time is no burst of pages that open."""


@dataclass(slots=True, kw_only=True)
class LaneGrowth:
    """Which lanes may take a job; lane n belongs to the worker n // `most`."""

    workers: int
    least: int
    """Lanes of each worker at the beginning; it never has fewer."""
    most: int
    """Lanes of each worker that there are."""
    endpoint: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """Requests that the endpoint has refused so far, and those that wait until they may be sent."""
    reserve_mb: int = 0
    """Memory that stays free."""
    lanes: int = field(init=False)
    """Lanes of each worker that may have a job now."""
    highest: int = field(init=False)
    """The most that it has been."""
    busy: Counter[int] = field(default_factory=Counter)
    """Worker to its lanes that have a job."""
    _full: int = 0
    _refused: int = 0

    def __post_init__(self) -> None:
        self.lanes = self.highest = self.least

    def admits(self, lane: int) -> bool:
        return self.busy[lane // self.most] < self.lanes

    def begins(self, lane: int) -> None:
        self.busy[lane // self.most] += 1

    def ends(self, lane: int) -> None:
        self.busy[lane // self.most] -= 1

    def look(self, load: MachineLoad, *, pending: int) -> None:
        """Change `lanes` by what the last look has found."""
        before = self._refused
        self._refused, waiting = self.endpoint()
        self._full = self._full + 1 if load.busy > FULL else 0
        if self._refused > before or self._full >= FULL_LOOKS:
            self.lanes, self._full = max(self.least, self.lanes - 1), 0
        elif load.busy < IDLE and not waiting and pending and self._is_used():
            # By half at most, and by one where the processor is nearly used up.
            more = max(1, int(self.lanes * min(0.5, IDLE / max(load.busy, 0.01) - 1)))
            room = max(0, load.free_mb - self.reserve_mb) // (LANE_MB * self.workers)
            self.lanes = min(self.most, self.lanes + min(more, room))
            self.highest = max(self.highest, self.lanes)

    def _is_used(self) -> bool:
        """Whether some worker has a job in every lane that may have one: others may wait for their sites."""
        return any(count >= self.lanes for count in self.busy.values())


@asynccontextmanager
async def growing(
    growth: LaneGrowth, pending: Callable[[], int], hand_out: Callable[[], None], meter: LoadMeter
) -> AsyncIterator[None]:
    """Look at the load again and again; `hand_out` is called when there are more lanes than before."""

    async def look() -> None:
        while True:
            await asyncio.sleep(LOOKS_S)
            before = growth.lanes
            growth.look(meter.read(), pending=pending())
            if growth.lanes > before:
                hand_out()

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
