"""Durable writes off the event loop, in order.

An fsync takes time, and the other lanes of a worker do not wait for it. Invariant: the writes of one writer are made in
the order given, even if the coroutine that requested one is cancelled meanwhile.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class SerialWriter:
    """The writes of one lane, in a separate thread."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")

    async def __call__(self, write: Callable[[], T]) -> T:
        """Run the write and wait for it; raises its errors."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, write)
