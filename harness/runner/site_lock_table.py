"""The locks held on site instances: shared or exclusive. A plain table; the scheduler decides the order."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping


class SiteLockTable:
    """Holders of locks by the address of the instance."""

    def __init__(self) -> None:
        self._holders: dict[str, dict[Hashable, bool]] = defaultdict(dict)
        """Instance to who holds it, and whether exclusive."""

    def load(self, instance: str) -> int:
        """The number of holders."""
        return len(self._holders[instance])

    def allows(self, instance: str, *, exclusive: bool) -> bool:
        """Whether another holder may get the lock."""
        held = self._holders[instance]
        return not held if exclusive else not any(held.values())

    def hold(self, holder: Hashable, wanted: Mapping[str, bool]) -> None:
        """Lock all of these instances for `holder`; `wanted` says for each whether exclusively.

        A holder never gets one instance and waits for the next, so there is no deadlock.
        """
        assert all(self.allows(instance, exclusive=exclusive) for instance, exclusive in wanted.items()), (
            "granted a lock that is not free"
        )
        for instance, exclusive in wanted.items():
            self._holders[instance][holder] = exclusive

    def release(self, holder: Hashable, instances: Iterable[str]) -> None:
        """Release them. Idempotent."""
        for instance in instances:
            self._holders[instance].pop(holder, None)
