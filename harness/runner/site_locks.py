"""Which sites a job needs, which of them it locks exclusively, and on which instances it may run.

A task locks its sites if it declares `mutates`, or if effects on them were recorded for it in this run folder. Without
either it locks them until one of its attempts has ended without effects. Other tasks are not evidence. An attempt that
continues stays on its instances. Knows no queue and no clock.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from harness.episode.job import Job
from harness.journal.index import EpisodeResult
from harness.records import Task


@dataclass(frozen=True, kw_only=True)
class LockRequest:
    """The locks that one job needs."""

    exclusive: Mapping[str, bool]
    """Site to whether the job must have it alone."""
    at: Mapping[str, str]
    """Site to the instance it must be played on; one of the others will do when that is no longer there."""

    @cached_property
    def key(self) -> tuple[frozenset[tuple[str, bool]], frozenset[tuple[str, str]]]:
        """Equal for jobs that need the same locks."""
        return frozenset(self.exclusive.items()), frozenset(self.at.items())

    def choice(self, site: str, there: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the instances of a site on which it may be played."""
        return (self.at[site],) if self.at.get(site) in there else there

    def conflicts(self, other: "LockRequest") -> bool:
        """Whether they need a lock that excludes each other."""
        return any(alone or other.exclusive[site] for site, alone in self.exclusive.items() if site in other.exclusive)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockableSites:
    """A deployment that all lanes share."""

    instances: Mapping[str, tuple[str, ...]]
    """Site to the real base URLs it is served at, the one meant when nothing is recorded first. "" is what tasks
    without a site are on, where a hook puts that back, too.
    """
    read_only: Collection[str] = ()
    """Sites no task can change."""
    safe_to_open: Collection[str] = ()
    """Sites on which opening an address changes nothing."""
    lenient: bool = False
    """Whether only tasks that ask for a reset have their sites alone."""
    site_of: Callable[[str], str | None] = lambda url: None
    """Canonical URL to the site it is on."""
    of_lane: Callable[[str, int], str] | None = None
    """Site and lane to the lane's own instance; None = lanes share `instances`."""
    together: Collection[str] = ()
    """Sites that can only be reset all at once: who may change one of them holds them all."""

    def at(self, site: str, lane: int) -> tuple[str, ...]:
        """The instances of a site that a lane may use."""
        return self.instances[site] if self.of_lane is None else (self.of_lane(site, lane),)


@dataclass(slots=True)
class _Trials:
    """What is known of the trials of a task, which may be many thousands."""

    results: dict[int, EpisodeResult] = field(default_factory=dict)
    """By trial; without those that a lane has left for good, which are seldom asked for again."""
    left: set[int] = field(default_factory=set)
    """Those trials."""
    changed: set[str] = field(default_factory=set)
    """Sites with recorded effects. What a journal says of them is never less than it said before."""
    used: dict[int, frozenset[str]] = field(default_factory=dict)
    """Trials whose attempt goes on, and the sites that it may have changed."""
    ended: set[int] = field(default_factory=set)
    """Trials whose newest attempt has ended."""

    def may_change(self, sites: Iterable[str]) -> frozenset[str]:
        """The sites that a further trial may change, of a task on `sites` that does not say it."""
        recorded = frozenset(self.changed).union(*self.used.values())
        return recorded if self.ended else recorded.union(sites)


class LockPlanner:
    """Determines the locks that the jobs of a run need."""

    def __init__(
        self, sites: LockableSites, outcomes: Iterable[EpisodeResult], read: Callable[[str, int], EpisodeResult | None]
    ) -> None:
        """
        Args:
            outcomes: What this run folder holds at the start.
            read: What one journal holds now, by task id and trial.
        """
        self.sites = sites
        self._read = read
        self._trials: dict[str, _Trials] = {}
        self._newest: dict[tuple[str, str], tuple[str, int]] = {}
        """Site and its recorded instance to the task and trial that changed it last."""
        for outcome in sorted(outcomes, key=lambda one: one.acted_at):
            self._note(outcome)
        self._needs: dict[str, dict[tuple[int, int | None], LockRequest]] = {}

    def outcome(self, job: Job) -> EpisodeResult | None:
        """The result of a job, as far as it was read."""
        trials = self._trials.get(job.task.task_id)
        if trials is None:
            return None
        if job.trial in trials.left and (outcome := self._read(job.task.task_id, job.trial)) is not None:
            self._note(outcome)
        return trials.results.get(job.trial)

    def learn(self, job: Job, outcome: EpisodeResult | None = None, *, over: bool = False) -> EpisodeResult | None:
        """Take the result of a job that a lane has just left.

        Args:
            outcome: Its result; None = it is read from the journal, as that of a job whose worker is gone.
            over: Whether it is not pending any more: only what its task needs to know is kept.
        """
        # To read the journal of a long episode takes some time, for which every other lane would wait.
        outcome = outcome or self._read(job.task.task_id, job.trial)
        if outcome is not None:
            trials = self._note(outcome)
            if over:
                del trials.results[job.trial]
                trials.left.add(job.trial)
        # Of every trial: what one did tells what the others may change.
        self._needs.pop(job.task.task_id, None)
        return outcome

    def _note(self, outcome: EpisodeResult) -> _Trials:
        trials = self._trials.setdefault(outcome.task_id, _Trials())
        trials.results[outcome.trial] = outcome
        trials.left.discard(outcome.trial)
        changed = self.changed(outcome)
        for site in changed:
            self._newest[site, outcome.instances.get(site, "")] = (outcome.task_id, outcome.trial)
        if outcome.goes_on:
            trials.used[outcome.trial] = changed
        else:
            trials.used.pop(outcome.trial, None)
            trials.changed |= changed
        if outcome.closed is not None:
            trials.ended.add(outcome.trial)
        else:
            trials.ended.discard(outcome.trial)
        return trials

    def changed(self, outcome: EpisodeResult) -> frozenset[str]:
        """The sites with recorded effects, and those that an interrupted attempt used."""
        urls = (*outcome.effects, *(outcome.pages if outcome.goes_on else ()))
        return frozenset(site for url in urls if (site := self.sites.site_of(url)) is not None)

    def may_repeat(self, outcome: EpisodeResult) -> bool:
        """Whether going on from a checkpoint may do again what was done: the pending action, or opening a page."""
        unsure = (self.sites.site_of(url) not in self.sites.safe_to_open for url in outcome.reopens)
        return outcome.is_in_doubt or outcome.resends or any(unsure)

    def left_over(self, job: Job, clean: Collection[str]) -> tuple[str, ...]:
        """Sites that earlier attempts may have changed and that were not reset since; "" = none that is configured.

        What they did to other instances counts, too: a journal does not say what was done on which.
        """
        outcome = self.outcome(job)
        if outcome is None or not (outcome.has_acted or outcome.effects):
            return ()
        found = {self.sites.site_of(url) or "" for url in outcome.effects}
        if outcome.has_acted and job.task.mutates is not False:
            found |= set(job.task.mutates or () if isinstance(job.task.mutates, tuple) else job.task.sites or ("",))
        return tuple(sorted(found - set(clean) - set(self.sites.read_only)))

    def used_since(self, job: Job) -> tuple[str, ...]:
        """Sites that other jobs changed after this one was interrupted."""
        outcome = self.outcome(job)
        if outcome is None or not outcome.goes_on:
            return ()
        own = (outcome.task_id, outcome.trial)
        places = ((site, outcome.instances.get(site, "")) for site in self.sites.instances)
        return tuple(place[0] for place in places if self._newest.get(place, own) != own)

    def need(self, job: Job) -> LockRequest:
        known, place = self._needs.setdefault(job.task.task_id, {}), (job.trial, job.reopen_at)
        if (need := known.get(place)) is None:
            need = known[place] = self._need(job)
        return need

    def is_believed(self, job: Job) -> bool:
        """Whether a job locks a site only because nothing is known about its task."""
        if self.sites.of_lane is not None:
            return False
        trials = self._trials.get(job.task.task_id)
        known = job.task.mutates is not None or (trials is not None and bool(trials.ended))
        return not known and not job.task.require_reset and any(self.need(job).exclusive.values())

    def played_at(self, job: Job, chosen: Mapping[str, str]) -> dict[str, str]:
        """The chosen instances to record: those of sites that have, or had, several."""
        outcome = self.outcome(job)
        before = outcome.instances if outcome is not None else {}
        if self.sites.of_lane is not None:
            return {}
        return {site: url for site, url in chosen.items() if len(self.sites.instances[site]) > 1 or site in before}

    def _need(self, job: Job) -> LockRequest:
        outcome = self.outcome(job)
        if outcome is not None and outcome.closed is not None and not job.reopens(outcome.attempt):
            return LockRequest(exclusive={}, at={})  # only its score is pending, and scoring needs no site
        if self.sites.of_lane is not None:
            return LockRequest(exclusive=dict.fromkeys(self.sites.instances, True), at={})
        alone = {site: value for site, value in self._alone(job.task).items() if self.sites.instances.get(site)}
        if any(value for site, value in alone.items() if site in self.sites.together):
            # The reset after this job would undo what another one does on the rest meanwhile.
            alone |= dict.fromkeys(self.sites.together, True)
        if outcome is None or not outcome.goes_on:
            return LockRequest(exclusive=alone, at={})
        return LockRequest(
            exclusive=alone, at={site: outcome.instances.get(site, self.sites.instances[site][0]) for site in alone}
        )

    def _alone(self, task: Task) -> dict[str, bool]:
        if task.require_reset or self.sites.lenient:
            return dict.fromkeys(task.sites or ("",), task.require_reset)
        changes = self._changes(task)
        wanted = dict.fromkeys((*(task.sites or ("",)), *sorted(changes)))
        return {site: site in changes and site not in self.sites.read_only for site in wanted}

    def _changes(self, task: Task) -> frozenset[str]:
        if isinstance(task.mutates, tuple):
            return frozenset(task.mutates)
        if task.mutates is not None:
            return frozenset((task.sites or ("",)) if task.mutates else ())
        return self._trials.get(task.task_id, _Trials()).may_change(task.sites or ("",))
