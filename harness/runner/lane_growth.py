"""How many lanes of a worker have a job, when nobody has said it: more while machine, sites and endpoint keep up.

What is best depends on the pages and on the model. Eight lanes on two cores whose model answers at once use up the
processor; eight whose model thinks for ten seconds leave it idle. So each worker begins with the lanes that pages of
any kind leave room for, and is given more while the processor is idle. A lane without a job takes no memory.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median

from harness.protocols import Phase, Progress, ProgressEvent
from harness.runner.capacity import LANE_MB, LoadMeter, MachineLoad

LOOKS_S = 0.5
IDLE, FULL = 0.85, 0.95
"""Parts of the processor: below the first lanes are added, above the second (several times in a row) taken away."""
# Three seconds: opening a page keeps the processor full for one.
STRAINED_LOOKS = 6
"""So long a time is not a burst of pages that open."""
# With none at all, tasks that follow each other kept the number of lanes down: 1.19 times the best wall time.
OPENING = 4
"""Of so many lanes one may be opening its page when others are added; tasks follow each other all the time."""
# For sites on other machines, whose load is not seen from here; as the only sign it would mislead, since the time of
# a step depends on what the step does.
SLOWER, SLACK_S = 1.5, 0.1
"""Steps that take so many times as long as the first ones, and so much longer, say that the sites do not keep up."""
_STEPS = 16
_FEWEST = 8


@dataclass(slots=True, kw_only=True)
class LaneGrowth:
    """Which lanes may take a job; lane n belongs to the worker n // `most`. A `Progress`, which sees the steps."""

    workers: int
    least: int
    """Lanes of each worker at the beginning; it never has fewer."""
    most: int
    """Lanes of each worker that there are."""
    free_mb: int
    """Memory that was free before the first lane began."""
    reserve_mb: int = 0
    """Memory that stays free."""
    endpoint: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """Requests that the endpoint has refused so far, and those that wait until they may be sent."""
    further: Progress | None = None
    """Receives the events, too."""
    clock: Callable[[], float] = time.monotonic
    lanes: int = field(init=False)
    """Lanes of each worker that may have a job now."""
    highest: int = field(init=False)
    """The most that it has been."""
    _busy: Counter[int] = field(default_factory=Counter)
    """Worker to its lanes that have a job."""
    _opening: set[int] = field(default_factory=set)
    """Lanes whose job has not shown its first page."""
    _acting: dict[int, float] = field(default_factory=dict)
    """Lane to when its step began."""
    _first: list[float] = field(default_factory=list)
    """Seconds of the first steps."""
    _newest: deque[float] = field(default_factory=lambda: deque(maxlen=_STEPS))
    _strained: int = 0
    _refused: int = 0

    def __post_init__(self) -> None:
        self.lanes = self.highest = self.least

    def admits(self, lane: int) -> bool:
        return self._busy[lane // self.most] < self.lanes

    def begins(self, lane: int) -> None:
        self._busy[lane // self.most] += 1
        self._opening.add(lane)

    def ends(self, lane: int) -> None:
        self._busy[lane // self.most] -= 1
        self._opening.discard(lane)
        self._acting.pop(lane, None)

    def tell(self, event: ProgressEvent) -> None:
        if event.phase is Phase.acting:
            self._acting[event.lane] = self.clock()
        elif event.phase is Phase.deciding:
            self._opening.discard(event.lane)
            if (begun := self._acting.pop(event.lane, None)) is not None:
                took_s = self.clock() - begun
                self._newest.append(took_s)
                if len(self._first) < _STEPS:
                    self._first.append(took_s)
        if self.further is not None:
            self.further.tell(event)

    def look(self, load: MachineLoad, *, pending: int) -> None:
        """Change `lanes` by what the last look has found."""
        before = self._refused
        self._refused, waiting = self.endpoint()
        is_slower, is_short = self._is_slower(), load.free_mb < self.reserve_mb / 2
        self._strained = self._strained + 1 if load.busy > FULL or is_slower else 0
        if self._refused > before or is_short or self._strained >= STRAINED_LOOKS:
            # It takes effect when a job ends: a task that has begun is never stopped.
            self.lanes, self._strained = max(self.least, self.lanes - 1), 0
        # While requests wait for the endpoint, a further lane would only join their queue.
        elif load.busy < IDLE and not (is_slower or waiting) and pending and self._is_used() and self._is_open():
            # By half at most, and by one where the processor is nearly used up.
            more = max(1, int(self.lanes * min(0.5, IDLE / max(load.busy, 0.01) - 1)))
            self.lanes = min(self.most, self.lanes + min(more, self._room(load.free_mb)))
            self.highest = max(self.highest, self.lanes)

    def _room(self, free_mb: int) -> int:
        """The further lanes of each worker that the memory has room for, if they take as much as those so far."""
        each = max(LANE_MB, (self.free_mb - free_mb) // max(1, self._busy.total()))
        return max(0, free_mb - self.reserve_mb) // (each * self.workers)

    def _is_used(self) -> bool:
        """Whether some worker has a job in every lane that may have one: others may wait for their sites."""
        return any(count >= self.lanes for count in self._busy.values())

    def _is_open(self) -> bool:
        """Whether most pages are there: what lanes need shows then, and those that wait for a site have none."""
        return len(self._opening) * OPENING <= self._busy.total()

    def _is_slower(self) -> bool:
        if len(self._newest) < _FEWEST:
            return False
        return median(self._newest) > SLOWER * median(self._first) + SLACK_S


@asynccontextmanager
async def growing(
    growth: LaneGrowth, pending: Callable[[], int], hand_out: Callable[[], None], meter: LoadMeter
) -> AsyncIterator[None]:
    """Look at the load again and again; `hand_out` is called when there are more lanes than before.

    Raises:
        ExceptionGroup: An error of `hand_out`, which ends the body at once, or of the body.
    """

    async def look() -> None:
        while True:
            await asyncio.sleep(LOOKS_S)
            before = growth.lanes
            growth.look(meter.read(), pending=pending())
            if growth.lanes > before:
                hand_out()

    async with asyncio.TaskGroup() as group:
        looking = group.create_task(look())
        try:
            yield
        finally:
            looking.cancel()
