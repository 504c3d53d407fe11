"""A cancellation that nobody asked for is an error like any other.

asyncio drops a task that ends by cancellation without a word, as whoever cancels one knows. But a task is cancelled,
too, when what it waits for was cancelled by somebody else, such as a library whose connection broke.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from harness.errors import InfraError


@contextmanager
def cancellation_as_error(doing: str) -> Iterator[None]:
    """
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
