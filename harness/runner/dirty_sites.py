"""Which site instances are in their initial state, and which must be reset before a job may use them.

At the start of a run every instance is dirty, because its state is unknown. It also becomes dirty when it is assigned
to a job that may change it: that mark is durable before the first action of the job. Only a reset cleans it. A job that
returns after its worker or browser died finds the site reset like any other job and replays its steps; only a job that
continues from a checkpoint keeps the state it left. `evaluation.reset_hooks` resets an instance; the scheduler decides
which job uses it.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

from harness.choices import ResetWhen
from harness.journal.site_log import SiteInstance, SiteLog, SiteUse
from harness.records import Task

ResetHook = Callable[[tuple[SiteInstance, ...], Task], Awaitable[None]]
"""Puts instances back to their seed; the task is what they are wanted for, or who left them.

Raises:
    SiteUnavailable: It did not work for as long as a site is waited for.
    UsageError: The reset fails; the person has to fix it.
"""

JobKey = tuple[str, int]
"""Task id and trial."""


class DirtySites:
    """Records which instances are in their initial state."""

    def __init__(
        self,
        hook: ResetHook,
        resettable: Collection[str],
        *,
        when: ResetWhen = ResetWhen.DIRTY,
        together: Collection[str] = (),
        log: SiteLog | None = None,
    ) -> None:
        """
        Args:
            resettable: The sites it can put back.
            together: Those it can only put back all at once.
            log: Keeps the state of instances; one that an earlier start left clean counts as unknown all the same.
        """
        self.hook = hook
        self.when = when
        self.together = frozenset(together)
        self.resettable = frozenset(resettable)
        self._log = log
        # The file is believed only where it says dirty: what happened to a site between two starts is unknown.
        self._left = {key: left for key, left in (log.read() if log else {}).items() if left.by}
        """States by key of the instance; a missing one is unknown."""

    def covers(self, site: str, task: Task) -> bool:
        """Whether the site is reset for this task if it is dirty."""
        return site in self.resettable and (self.when is not ResetWhen.ASKED or task.require_reset)

    def is_clean(self, instance: SiteInstance) -> bool:
        left = self._left.get(instance.key)
        return left is not None and not left.by

    def needs_reset(self, instance: SiteInstance, task: Task, *, keeps: JobKey | None = None) -> bool:
        """Whether a task must find the instance reset.

        Args:
            keeps: The job, when its attempt goes on upon what it left there.
        """
        if not self.covers(instance.site, task) or self.is_clean(instance):
            return False
        left = self._left.get(instance.key)
        return left is None or keeps is None or left.by != (keeps,) or not left.is_as_left

    def is_due(self, instance: SiteInstance) -> bool:
        """Whether it should be reset as soon as no job uses it."""
        return self.when is not ResetWhen.ASKED and instance.site in self.resettable and not self.is_clean(instance)

    def mark_in_use(self, instances: Iterable[SiteInstance], by: JobKey, *, goes_on: bool) -> None:
        """A job that may change the instances is about to get them; durable when this returns."""
        became: dict[SiteInstance, SiteUse] = {}
        for instance in instances:
            left = self._left.get(instance.key, SiteUse(is_as_left=False))
            alone = left.is_as_left and (left.by == (by,) if left.by else not goes_on)
            became[instance] = SiteUse(by=_with(left.by, by), is_as_left=alone)
        self._set(became)

    def mark_dirty(self, instance: SiteInstance, by: JobKey) -> None:
        """Effects of a job are on it, or may be."""
        left = self._left.get(instance.key)
        if left is not None and by not in left.by:
            self._set({instance: SiteUse(by=_with(left.by, by), is_as_left=not left.by)})

    def mark_unchanged(self, instance: SiteInstance, by: JobKey) -> None:
        """A job without effects on it has ended."""
        left = self._left.get(instance.key)
        if self.when is ResetWhen.EFFECTS and left is not None and left.by == (by,) and left.is_as_left:
            self._set({instance: SiteUse()})

    def begins(self, instances: Iterable[SiteInstance]) -> None:
        """Their reset begins: their state is unknown until it ends."""
        self._set(dict.fromkeys(instances))

    def mark_clean(self, instances: Collection[SiteInstance], *, took_s: float) -> None:
        """They are in their initial state, after a reset of so many seconds."""
        self._set(dict.fromkeys(instances, SiteUse()), took_s=took_s / len(instances))

    def _set(self, states: Mapping[SiteInstance, SiteUse | None], *, took_s: float | None = None) -> None:
        changed = {one: left for one, left in states.items() if left is None or self._left.get(one.key) != left}
        if changed and self._log is not None:
            self._log.write(changed, took_s=took_s)
        for instance, left in changed.items():
            if left is None:
                self._left.pop(instance.key, None)
            else:
                self._left[instance.key] = left


def _with(jobs: tuple[JobKey, ...], one: JobKey) -> tuple[JobKey, ...]:
    # Nobody asks who else there was, once there are two: a list of all of them, written for each, would fill the disk.
    return jobs if one in jobs or len(jobs) > 1 else (*jobs, one)
