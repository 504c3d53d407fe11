"""Runs one coroutine while another is awaited."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager


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
        await asyncio.wait([running])
    if not running.cancelled() and (error := running.exception()) is not None:
        raise error
