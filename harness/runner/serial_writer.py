"""Writes that must be on disk before the next thing happens, made off the event loop.

A disk takes its time to fsync, and the other lanes of a worker need not wait for it. Invariant: what one writer is
given is done one after the other in the order given, also when whoever gave it was cancelled meanwhile.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class SerialWriter:
    """One lane's writes, in a thread of their own."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")

    async def __call__(self, write: Callable[[], T]) -> T:
        """Do it and wait for it; raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, write)
