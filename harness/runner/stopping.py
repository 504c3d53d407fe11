"""How a run is asked to end: once kindly, twice at once; and waiting that ends when it is."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.errors import InfraError


class Interrupted(InfraError):
    """The run is stopping; says nothing about the task, and is never recorded."""


class Stopping:
    """True once the run was asked to end: steps under way are finished, nothing new begins."""

    def __init__(self, tell: Callable[[str], None] = lambda text: None) -> None:
        self._tell = tell
        self._event = asyncio.Event()

    def __call__(self) -> bool:
        return self._event.is_set()

    async def asked(self) -> None:
        """Wait until the run is asked to end."""
        await self._event.wait()

    def ask(self) -> None:
        self._event.set()

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

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM ask; a second one cancels the task that listens."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def hear() -> None:
            if self() and task is not None:
                task.cancel()
                return
            self.ask()
            self._tell("stopping: steps under way are finished, nothing new begins; once more to stop at once")

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, hear)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
