"""What an episode waits for while the agent's process works."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harness.api import Action
from harness.errors import HarnessError
from harness.plugins.process_agent.call_result import CallResult

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """The process wants an action to be performed."""

    action: Action
    said: str
    """Name and arguments as JSON."""
    result: "asyncio.Future[CallResult]" = field(default_factory=asyncio.Future)


@dataclass(frozen=True, slots=True)
class OverBudget:
    """A request was not sent, as a budget has been spent."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The attempt, or the run, cannot go on."""

    error: HarnessError


Event = Called | OverBudget | Broken


class SessionOver(Exception):
    """What the process asks for is not done any more; the message says why."""


class Inbox:
    """The events of one session, and the work it has begun for its process."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[Event] = asyncio.Queue()
        self.on_broken: Callable[[], None] = _nothing
        """Called when the attempt, or the run, cannot go on."""
        self._at_work: set[asyncio.Task[Any]] = set()
        self._closed = False

    def put(self, event: Event) -> None:
        """Tell the episode; if it cannot go on, nothing that the process asks for is begun any more."""
        self.events.put_nowait(event)
        if isinstance(event, Broken):
            self.refuse()
            self.on_broken()

    async def work(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something for the process, unless the session ends first.

        Raises:
            SessionOver: It has ended, or ends with this: an error is for the episode, not for the process.
        """
        if self._closed:
            work.close()
            self.check()
        task = asyncio.create_task(work)
        self._at_work.add(task)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:  # the process has hung up: what it asked for is paid for, and is finished
            raise
        finally:
            if task.done():
                self._at_work.discard(task)
        if task.cancelled():
            raise SessionOver("the episode is over")
        try:
            return task.result()
        except HarnessError as error:
            self.put(Broken(error))
            raise SessionOver(str(error)) from error

    def refuse(self) -> None:
        """Begin nothing any more."""
        self._closed = True

    def check(self) -> None:
        """See that what waited may still begin. Raises: SessionOver: Nothing is begun any more."""
        if self._closed:
            raise SessionOver("the episode is over")

    async def close(self) -> None:
        """End all work, and begin nothing any more."""
        self.refuse()
        for task in tuple(self._at_work):
            task.cancel()
        if self._at_work:
            await asyncio.wait(self._at_work)
        for task in self._at_work:
            if not task.cancelled():
                task.exception()  # nothing waits for it any more
        self._at_work.clear()


def _nothing() -> None:
    """The callback of sessions in which no step waits for the process."""
