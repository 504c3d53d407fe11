"""The locks held on site instances: shared or exclusive. A plain table; the scheduler decides the order."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping


class SiteLockTable:
    """Holders and what they hold, by the address of the instance."""

    def __init__(self) -> None:
        self._holders: dict[str, dict[Hashable, bool]] = defaultdict(dict)
        """Instance to who holds it, and whether exclusive."""

    def load(self, instance: str) -> int:
        """How many hold it."""
        return len(self._holders[instance])

    def allows(self, instance: str, *, exclusive: bool) -> bool:
        """Whether one more may hold it."""
        held = self._holders[instance]
        return not held if exclusive else not any(held.values())

    def hold(self, holder: Hashable, wanted: Mapping[str, bool]) -> None:
        """Give `holder` all of these instances at once; `wanted` says of each whether exclusive.

        A holder never gets one instance and waits for the next, so there is no deadlock.
        """
        assert all(self.allows(instance, exclusive=exclusive) for instance, exclusive in wanted.items()), (
            "granted a lock that is not free"
        )
        for instance, exclusive in wanted.items():
            self._holders[instance][holder] = exclusive

    def release(self, holder: Hashable, instances: Iterable[str]) -> None:
        """Take them back. Idempotent."""
        for instance in instances:
            self._holders[instance].pop(holder, None)
