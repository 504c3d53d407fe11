"""Which site instances are at their seed, and which have to be put back before somebody plays there.

An instance is dirty from the start of a run, when nobody knows what was done to it, and once effects on it were recorded, or
may have been lost with a worker. Whoever left them there and goes on finds them again; everybody else finds the seed. How an
instance is put back is the hook's business, and who is on it meanwhile is the schedule's.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple

from harness.records import Task


class Instance(NamedTuple):
    site: str
    url: str
    """Real base URL."""


Hook = Callable[[tuple[Instance, ...], Task], Awaitable[None]]
"""Puts instances back to their seed; the task is what they are wanted for, or who left them.

Raises:
    SiteUnavailable: It did not work for as long as a site is waited for.
    UsageError: It does not work; somebody has to look.
"""

Place = tuple[str, int]
"""Task id and trial."""


class Upkeep:
    """Keeps account of what is at its seed."""

    def __init__(self, hook: Hook, resettable: Collection[str], *, only_when_asked: bool = False) -> None:
        """
        Args:
            hook: How.
            resettable: The sites it can put back.
            only_when_asked: Whether only tasks with `require_reset` are worth a reset.
        """
        self.hook = hook
        self._resettable = frozenset(resettable)
        self._only_when_asked = only_when_asked
        self._left: dict[Instance, frozenset[Place]] = {}
        """Who left effects; an instance that is not in it is in a state nobody knows, one nobody left effects on clean."""

    def needs_reset(self, instance: Instance, task: Task, *, going_on: Place | None, had_effects: bool) -> bool:
        """Whether a task must find the instance put back.

        Args:
            instance: Where it would be played.
            task: The task.
            going_on: The job, when its attempt goes on; None = a new one begins.
            had_effects: Whether effects of the task on the site were recorded.
        """
        if instance.site not in self._resettable or (self._only_when_asked and not task.require_reset):
            return False
        if (left := self._left.get(instance)) is None:
            return going_on is None or not had_effects
        return bool(left - {going_on})

    def is_due(self, instance: Instance) -> bool:
        """Whether it should be put back as soon as nobody is on it."""
        return (
            not self._only_when_asked and instance.site in self._resettable and self._left.get(instance) != frozenset()
        )

    def soiled(self, instance: Instance, by: Place) -> None:
        """Effects of a job are on it."""
        left = self._left.get(instance)
        if left is not None:
            self._left[instance] = left | {by}

    def cleaned(self, instance: Instance) -> None:
        self._left[instance] = frozenset()
