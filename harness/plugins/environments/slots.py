"""So many episodes at the same time, and who comes next: first come, first served."""

import asyncio
from collections import deque
from dataclasses import dataclass

from harness.plugins.environments.problem import CAPACITY_REACHED, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long the server waits, in seconds."""

    queue_s: float = 10.0
    """For a free slot, or for a site that other sessions have, before a reset is refused."""
    lease_s: float = 600.0
    """For the next request of a session, before its episode is given back."""
    grace_s: float = 30.0
    """For a client whose connection is lost to resume, before its episode is given back."""


class Slots:
    """Each is taken once and given back once; those who wait are served in order."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.taken = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._queue)

    async def take(self, wait_s: float) -> bool:
        """Take one; False = none was free within `wait_s`."""
        if self.taken < self.number and not self._queue:
            self.taken += 1
            return True
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        is_used = False
        try:
            async with asyncio.timeout(wait_s):
                await turn
            is_used = True
        except TimeoutError:
            return False
        finally:  # a client that is gone must not keep the slot that it was given meanwhile
            if turn in self._queue:
                self._queue.remove(turn)
            elif not is_used:
                self.give_back()
        return True

    def full(self, why: str, **more: str) -> Problem:
        """What a reset is told for which there is no room."""
        sessions = {"active_sessions": self.taken, "max_sessions": self.number, "waiting_sessions": self.waiting}
        return Problem(CAPACITY_REACHED, why, {**sessions, **more})

    def give_back(self) -> None:
        """Give one back, to who waits longest."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.taken -= 1

    def end(self) -> None:
        """Let all who wait go on, more than there are places for: they will see that the server ends."""
        waiting, self._queue = self._queue, deque()
        for turn in waiting:
            if not turn.done():
                self.taken += 1
                turn.set_result(None)
