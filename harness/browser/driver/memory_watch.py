"""Measures the memory of the pages of one browser, and ends those that use too much.

Every page, and every cross-origin frame, has a separate process, shared at most with pages of the same episode. A
process above `browser.max_memory_mb` is ended, which its episode sees as a crash of the page; and so is the largest one
while all together exceed that limit per episode. The check runs in a thread, because a page that allocates memory may
block everything else. The browser's own processes are not limited here: what pages store in them is limited at its
source.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from threading import Condition, Event, Thread

import psutil

# A page that takes a gigabyte a second is a quarter of one above the limit by then.
_CHECK_EVERY_S = 0.25
_LIST_EVERY = 4
"""Checks between two searches for new processes, which cost more."""
_REASON_LASTS_S = 5.0
"""A page that crashes within this time after a process was ended is taken to be the page of that process."""
_PICTURES_END_WITHIN_S = 0.5
"""A page that lets nothing else run gives no picture, and is ended all the same."""
_NOTICED_WITHIN_S = 0.25
"""Chromium takes up to 10 ms to notice that a process has ended, and longer on a busy machine."""
_ASKS_EVERY_S = 0.02
_MB = 1 << 20


class MemoryWatch:
    """Watches one browser until `end` is called."""

    def __init__(self, pid: int, *, most_mb: float, episodes: Callable[[], int]) -> None:
        """
        Args:
            pid: The browser's main process.
            most_mb: Resident memory that one process of pages may hold.
            episodes: How many are in the browser.
        """
        self._most = int(most_mb * _MB)
        self._episodes = episodes
        self._main = psutil.Process(pid)
        self._ended = ("", -math.inf)
        self._over = Event()
        self._pictures = 0
        """How many are being taken."""
        self._is_ending = False
        """Whether a process is to be ended, and no further picture may begin."""
        self._changed = Condition()
        """Guards the two fields above, and the end of a process: pictures are taken in the thread of the event loop."""
        # By looking: `ulimit` counts address space, control groups need rights that a run seldom has, and V8's limit
        # does not count what is outside of its heap.
        Thread(target=self._watch, name="memory", daemon=True).start()

    def end(self) -> None:
        self._over.set()

    def recent_reason(self) -> str:
        """Why a page that has just crashed was ended; "" = not because of its memory."""
        why, at = self._ended
        return why if time.monotonic() - at < _REASON_LASTS_S else ""

    @asynccontextmanager
    async def picture(self) -> AsyncIterator[None]:
        """Take a picture of a page of the browser in here; no process is ended meanwhile.

        All of Chromium ends with a page whose picture is being taken (156, headless shell).
        """
        while not self._begin_picture():  # noqa: ASYNC110 (a thread ends processes)
            await asyncio.sleep(_ASKS_EVERY_S)
        try:
            yield
        finally:
            with self._changed:
                self._pictures -= 1
                self._changed.notify_all()

    def _begin_picture(self) -> bool:
        with self._changed:
            may = not self._is_ending and time.monotonic() - self._ended[1] > _NOTICED_WITHIN_S
            self._pictures += may
            return may

    def _watch(self) -> None:
        checks, pages = 0, list[psutil.Process]()
        while not self._over.wait(_CHECK_EVERY_S):
            try:
                if checks % _LIST_EVERY == 0:
                    pages = [one for one in self._main.children(recursive=True) if _has_pages(one)]
            except psutil.Error:
                return  # the browser is gone
            checks += 1
            self._check(pages)

    def _check(self, pages: list[psutil.Process]) -> None:
        held = sorted(((_held(one), one) for one in pages), key=lambda pair: pair[0], reverse=True)
        if not held:
            return
        largest, process = held[0]
        together = sum(size for size, _ in held)
        episodes = max(1, self._episodes())
        most = f"browser.max_memory_mb={self._most // _MB}"
        if largest > self._most:
            why = f"it used {largest // _MB} MB of memory; {most}"
        elif together > self._most * episodes:
            held_by = f"{episodes} episode{'s' * (episodes != 1)}"
            why = f"it was the largest, and the pages of {held_by} used {together // _MB} MB of memory; {most}"
        else:
            return
        # Other episodes lose nothing: contexts never share a renderer.
        with self._changed, suppress(psutil.NoSuchProcess):
            self._is_ending = True
            self._changed.wait_for(lambda: not self._pictures, timeout=_PICTURES_END_WITHIN_S)
            self._is_ending = False
            self._ended = (why, time.monotonic())
            process.kill()


def _has_pages(process: psutil.Process) -> bool:
    try:
        return "--type=renderer" in process.cmdline()
    except psutil.Error:
        return False


def _held(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
