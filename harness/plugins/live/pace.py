"""How fast pages of one host are opened, over all episodes and runs of one person on this machine.

A file for each host holds the time of the next free slot, and when that was written: a clock that was set back since
moves the slot with it. A lane that wants a page takes the slot and moves the time on, under a lock that lasts for that
only. A slot that is not used is given back if no lane queues behind it.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

_LONGEST_S = 86_400.0
"""A time further ahead than that is not time of ours."""


def pace_folder() -> Path:
    """The folder of this user: `$XDG_CACHE_HOME/cairn/live`."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(base, "cairn", "live")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the queue of a host."""

    host: str
    at: float
    """Seconds since the epoch."""


class Pace:
    """The rows of all hosts."""

    def __init__(
        self,
        folder: Path,
        spacing_s: float,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._folder = folder
        self._spacing_s = spacing_s
        self._clock = clock
        self._sleep = sleep

    async def wait(self, host: str, tell: Callable[[str], None] = lambda note: None) -> Place:
        """Take the next place and wait for its time; `tell` hears of a wait, and "" when it is over."""
        at = await asyncio.to_thread(self._move, host, self._taken)
        if (left := at - self._clock()) > 0:
            tell(f"waiting {left:.1f} s for {host} (sites.live.pages_per_minute)")
            await self._sleep(left)
            tell("")
        return Place(host, at)

    async def give_back(self, place: Place) -> None:
        """No page was opened."""
        await asyncio.to_thread(self._move, place.host, lambda next_at: self._returned(next_at, place))

    async def opened(self, host: str) -> None:
        """A page was opened without a place: a redirect, a link to another host."""
        await asyncio.to_thread(self._move, host, self._taken)

    def _taken(self, next_at: float) -> tuple[float, float]:
        at = max(next_at, self._clock())
        return at, at + self._spacing_s

    def _returned(self, next_at: float, place: Place) -> tuple[float, float]:
        is_last = abs(next_at - (place.at + self._spacing_s)) < 1e-6
        return place.at, place.at if is_last else next_at

    def _move(self, host: str, change: Callable[[float], tuple[float, float]]) -> float:
        """Read the time of a row, write the changed one; gives what `change` gives first."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = sha256(host.encode()).hexdigest()[:32]
        fd = os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            next_at = 0.0
            with suppress(ValueError):
                next_at, written_at = map(float, os.pread(fd, 64, 0).split())
                next_at -= max(0.0, written_at - self._clock())
            if not 0 <= next_at <= self._clock() + _LONGEST_S:
                next_at = 0.0
            found, later = change(next_at)
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{later!r} {self._clock()!r}\n".encode(), 0)
            return found
        finally:
            os.close(fd)
