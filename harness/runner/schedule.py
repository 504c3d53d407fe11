"""Who takes which owed job next: a queue that takes back what infrastructure spoiled."""

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from harness.runner.episode import Job
from harness.runner.resetting import Gate


class Jobs(Protocol):
    """Where a lane gets its work, in this process or from the one that supervises it."""

    async def take(self, lane: int) -> Job | None:
        """The next job for a lane, or None when nothing is waiting."""
        ...

    async def settle(self, lane: int, job: Job, *, over: bool) -> None:
        """Say that a lane has left a job; one that is not over is owed again."""
        ...


class Schedule:
    """Jobs in order; a job that is owed again waits behind the others, so that a sick site or browser gets time."""

    def __init__(self, jobs: Iterable[Job], gate: Gate | None = None) -> None:
        """`gate`: passed by a lane before it plays a job; None = nobody has to wait."""
        self._owed = deque(jobs)
        self._gate = gate
        self.held: dict[int, Job] = {}
        """Lane to the job it plays."""
        self.played = 0
        """Jobs begun in this start; one that is begun again counts once."""

    def __len__(self) -> int:
        return len(self._owed)

    async def take(self, lane: int) -> Job | None:
        if not self._owed:
            return None
        job = self.held[lane] = self._owed.popleft()
        self.played += 1
        if self._gate is not None:
            await self._gate.enter(lane, job.task)
        return job

    async def settle(self, lane: int, job: Job, *, over: bool) -> None:
        self._let_go(lane)
        if not over:
            self.played -= 1
            self._owed.append(job)

    def reclaim(self, lane: int) -> Job | None:
        """Owe again what a lane that is gone was playing; it goes first, being half done."""
        job = self._let_go(lane)
        if job is not None:
            self.played -= 1
            self._owed.appendleft(job)
        return job

    def _let_go(self, lane: int) -> Job | None:
        if self._gate is not None:
            self._gate.leave(lane)
        return self.held.pop(lane, None)
