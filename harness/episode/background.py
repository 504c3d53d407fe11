"""What runs beside an episode: durable writes, work that ends with a context; and unrequested cancellations."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from harness.errors import InfraError

T = TypeVar("T")


class SerialWriter:
    """The writes of one lane, in a separate thread: an fsync takes time, and other lanes do not wait for it.

    Invariant: they are made in the order given, even if the coroutine that requested one is cancelled meanwhile.
    """

    def __init__(self) -> None:
        # One thread for each lane: a pool would need a rule for the order of a lane's writes.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")

    async def __call__(self, write: Callable[[], T]) -> T:
        """Run the write and wait for it; raises its errors."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, write)


@asynccontextmanager
async def running(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run `work` while the context is open; leaving the context ends it.

    Raises:
        Whatever `work` raised, unless the context raises something itself.
    """
    running = asyncio.create_task(work)
    try:
        yield
    finally:
        running.cancel()
        # `wait` raises neither its error nor its cancellation: an error of the body must not be hidden by them.
        await asyncio.wait([running])
    if not running.cancelled() and (error := running.exception()) is not None:
        raise error


@contextmanager
def cancellation_as_error(doing: str) -> Iterator[None]:
    """Turn an unrequested cancellation into an ordinary error.

    asyncio ends a cancelled task silently, because the code that cancels a task knows about it. But a task also ends
    that way if the future it awaits was cancelled elsewhere, for example by a library whose connection broke.

    Raises:
        InfraError: What the block waited for was cancelled, and not this task.
    """
    try:
        yield
    except asyncio.CancelledError as exc:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise InfraError(f"{doing}: the awaited task was cancelled") from exc
