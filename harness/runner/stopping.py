"""How a run is asked to end: once kindly, twice at once; and waiting that ends when it is."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from harness.errors import InfraError

T = TypeVar("T")


class Interrupted(InfraError):
    """The run is stopping; says nothing about the task, and is never recorded."""


class Stopping:
    """True once the run was asked to end: steps under way are finished, nothing new begins."""

    def __init__(self, tell: Callable[[str], None] = lambda text: None) -> None:
        self.tell = tell
        """A sentence for the person."""
        self._event = asyncio.Event()
        self._waits: set[asyncio.Timeout] = set()

    def __call__(self) -> bool:
        return self._event.is_set()

    async def asked(self) -> None:
        """Wait until the run is asked to end."""
        await self._event.wait()

    def ask(self) -> None:
        self._event.set()
        for wait in tuple(self._waits):
            wait.reschedule(asyncio.get_running_loop().time())

    async def sleep(self, seconds: float) -> None:
        """Wait, unless the run ends first.

        Raises:
            Interrupted: It did.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return
        raise Interrupted("the run is stopping")

    async def wait_for(self, what: Awaitable[T]) -> T:
        """Wait for something, unless the run ends first.

        Raises:
            Interrupted: It did.
        """
        try:
            async with asyncio.timeout(0 if self() else None) as wait:
                self._waits.add(wait)
                try:
                    return await what
                finally:
                    self._waits.discard(wait)
        except TimeoutError:
            raise Interrupted("the run is stopping") from None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM ask; a second one cancels the task that listens."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def hear() -> None:
            if self() and task is not None:
                task.cancel()
                return
            self.ask()
            self.tell("stopping: steps under way are finished, nothing new begins; once more to stop at once")

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, hear)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
