"""Keeps the promise of `require_reset`: such a task finds its sites at their seed, and has them alone until it ends.

Sites count as dirty from the start of a run, when nobody knows what was done to them, and again once a task has been on
them that may change them. How a site is put back is the hook's business. Tasks that do not ask for it share the sites.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import ExitStack
from typing import Protocol

from harness.records import Task
from harness.runner.leases import Lease, Leases

Hook = Callable[[tuple[str, ...], Task], Awaitable[None]]
"""Puts the named sites back to their seed.

Raises:
    UsageError: It does not work; somebody has to look.
"""


class Gate(Protocol):
    """What a lane passes between being given a task and playing it."""

    async def enter(self, lane: int, task: Task) -> None:
        """Return when the lane may play the task."""
        ...

    def leave(self, lane: int) -> None:
        """The lane has left its task, or is gone."""
        ...


class ResetGate:
    """Fits `Gate`, for one deployment all lanes share."""

    def __init__(self, hook: Hook, resettable: Iterable[str]) -> None:
        self._hook = hook
        self._resettable = frozenset(resettable)
        self._dirty = set(self._resettable)
        self._leases = Leases()
        self._held: dict[int, Lease] = {}

    async def enter(self, lane: int, task: Task) -> None:
        self.leave(lane)
        lease = await self._leases.acquire(task.sites, alone=task.require_reset)
        self._held[lane] = lease
        with ExitStack() as undo:
            undo.callback(self.leave, lane)
            if task.require_reset:
                await self._reset(task)
            undo.pop_all()
        if task.mutates is not False:
            self._dirty |= self._resettable & set(task.sites)

    def leave(self, lane: int) -> None:
        if (lease := self._held.pop(lane, None)) is not None:
            self._leases.release(lease)

    async def _reset(self, task: Task) -> None:
        wanted = tuple(site for site in task.sites if site in self._dirty)
        if wanted:
            await self._hook(wanted, task)
            self._dirty -= set(wanted)
