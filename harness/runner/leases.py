"""Who uses which site instances: many together, or one alone.

A lease is granted for all its instances at once or not at all, so nobody waits while holding something and nothing can
lock up. Waiting is in order of asking: whoever comes later does not overtake one it is in conflict with, so nobody waits
for ever. One event loop only; nothing here knows what a site is.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class Lease:
    """A granted or waited-for use of some instances."""

    instances: frozenset[str]
    alone: bool
    granted: asyncio.Event = field(default_factory=asyncio.Event)

    def conflicts(self, other: "Lease") -> bool:
        return (self.alone or other.alone) and not self.instances.isdisjoint(other.instances)


class Leases:
    """Hands out leases."""

    def __init__(self) -> None:
        self._held: list[Lease] = []
        self._waiting: list[Lease] = []

    async def acquire(self, instances: Iterable[str], *, alone: bool) -> Lease:
        """Wait for the use of `instances`; give it back with `release`. Being cancelled gives up the place in the queue."""
        lease = Lease(frozenset(instances), alone)
        self._waiting.append(lease)
        self._grant()
        try:
            await lease.granted.wait()
        except asyncio.CancelledError:
            self.release(lease)
            raise
        return lease

    def release(self, lease: Lease) -> None:
        """End a lease, or the waiting for it. Idempotent."""
        for leases in (self._held, self._waiting):
            if lease in leases:
                leases.remove(lease)
        self._grant()

    def _grant(self) -> None:
        before: list[Lease] = []
        for lease in list(self._waiting):
            if any(lease.conflicts(other) for other in (*self._held, *before)):
                before.append(lease)
                continue
            self._waiting.remove(lease)
            self._held.append(lease)
            lease.granted.set()
