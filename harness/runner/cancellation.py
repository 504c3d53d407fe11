"""Turns an unrequested cancellation into an ordinary error.

asyncio ends a cancelled task silently, because the code that cancels a task knows about it. But a task also ends that
way if the future it awaits was cancelled elsewhere, for example by a library whose connection broke.
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
