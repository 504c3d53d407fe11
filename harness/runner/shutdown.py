"""Shutdown of a run: graceful at the first request, immediate at the second; and waits that end with it."""

import asyncio
import math
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from harness.errors import ShutdownRequested

T = TypeVar("T")

# `timeout` sends its signal to the process and again to its group, and wrappers pass on what a terminal sent already.
_ONE_S = 0.1
"""Signals within so many seconds are one request; nobody presses Ctrl-C twice as fast."""


def stop_signals() -> list[signal.Signals]:
    """The signals that ask a run to stop; a hang-up that is ignored (nohup) stays ignored."""
    hangs_up = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGINT, signal.SIGTERM, *hangs_up]


class ShutdownSignal:
    """True after a request to stop: running steps are finished, and nothing new begins."""

    def __init__(self, tell: Callable[[str], None] = lambda text: None) -> None:
        self.tell = tell
        """A sentence for the person."""
        self._event = asyncio.Event()
        self._waits: set[asyncio.Timeout] = set()
        self._heard_at = -math.inf
        """When the first signal came."""
        self._listening: Mapping[signal.Signals, Callable[[], None]] = {}

    def __call__(self) -> bool:
        return self._event.is_set()

    async def asked(self) -> None:
        """Wait until a stop is requested."""
        await self._event.wait()

    def ask(self) -> None:
        """Request a stop; a second request changes nothing."""
        if self():
            return  # waits may be ending already, which cannot be told to end again
        self._event.set()
        for wait in tuple(self._waits):
            wait.reschedule(asyncio.get_running_loop().time())

    async def sleep(self, seconds: float) -> None:
        """Wait, unless the run ends first.

        Raises:
            ShutdownRequested: It did.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return
        raise ShutdownRequested("the run is stopping")

    async def wait_for(self, what: Awaitable[T]) -> T:
        """Wait for something, unless the run ends first.

        Raises:
            ShutdownRequested: It did.
        """
        wait = asyncio.timeout(0 if self() else None)
        try:
            async with wait:
                self._waits.add(wait)
                try:
                    return await what
                finally:
                    self._waits.discard(wait)
        except TimeoutError:
            if not wait.expired():  # what was waited for has timed out by itself
                raise
            raise ShutdownRequested("the run is stopping") from None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let SIGINT, SIGTERM and SIGHUP ask; a second SIGINT or SIGTERM cancels the task that listens.

        May be nested: a library that takes over the signals meanwhile (Ray does) has them until the inner one begins,
        and the outer one hears them again when it ends. A hang-up that comes twice, from the terminal and from the
        shell, is one.
        """
        loop, task, outer = asyncio.get_running_loop(), asyncio.current_task(), self._listening

        def hear(number: signal.Signals) -> None:
            if not self():
                self._heard_at = time.monotonic()
                self.ask()
                self.tell("stopping after the current steps; press Ctrl-C again to stop now")
            elif task is not None and number is not signal.SIGHUP and time.monotonic() - self._heard_at >= _ONE_S:
                task.cancel()

        self._listening = {number: partial(hear, number) for number in stop_signals()}
        _listen(loop, self._listening)
        try:
            yield
        finally:
            for number in self._listening:
                loop.remove_signal_handler(number)
            self._listening = outer
            _listen(loop, outer)


def _listen(loop: asyncio.AbstractEventLoop, handlers: Mapping[signal.Signals, Callable[[], None]]) -> None:
    for number, hear in handlers.items():
        loop.add_signal_handler(number, hear)
