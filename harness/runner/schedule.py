"""Who takes which owed job next: a queue that takes back what infrastructure spoiled."""

from collections import deque
from collections.abc import Iterable

from harness.runner.episode import Job


class Schedule:
    """Jobs in order; a job given back waits behind the others, so that a sick site or browser gets time."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._owed = deque(jobs)
        self.taken = 0
        """Different jobs handed out so far; one given back counts once."""

    def __len__(self) -> int:
        return len(self._owed)

    def take(self) -> Job | None:
        """The next job, or None when nothing is waiting."""
        if not self._owed:
            return None
        self.taken += 1
        return self._owed.popleft()

    def give_back(self, job: Job) -> None:
        self.taken -= 1
        self._owed.append(job)
