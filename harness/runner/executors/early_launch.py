"""Starts worker processes before they are needed.

A worker imports for half a second of one processor, in which the run is looked at, and the servers that it asks can
start. It does nothing before it is told of what run it is.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what supervises workers is imported while the first one starts
    from harness.api import WorkerHandle
    from harness.runner.executors.supervisor import Launch


@asynccontextmanager
async def launched_early(launch: "Launch", workers: int) -> AsyncIterator["Launch"]:
    """Start the first process of each of `workers`. The launch that is yielded hands these out, and then starts further
    ones. Leaving the context ends those that were not asked for.
    """
    early: dict[int, tuple[WorkerHandle, AsyncExitStack]] = {}
    async with AsyncExitStack() as closing:
        for number in range(workers):
            # A stack for each worker: who takes the worker also ends it, and `closing` ends only what is left.
            life = await closing.enter_async_context(AsyncExitStack())
            early[number] = await life.enter_async_context(launch(number)), life

        @asynccontextmanager
        async def take(number: int) -> AsyncIterator["WorkerHandle"]:
            if number not in early:
                async with launch(number) as worker:
                    yield worker
                return
            worker, life = early.pop(number)
            async with life:
                yield worker

        yield take
