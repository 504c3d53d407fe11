"""The state of its sites in which a job begins and which it leaves: reset, kept, or never reset.

A job whose sites can all be reset finds them reset, also when it is resumed: it replays its steps. If one site of a job
cannot be reset, all its sites keep their state, because the job's changes there cannot be undone either.
Why: docs/decisions/resume.md#with-a-reset-hook-a-resumed-job-is-always-reset-and-replayed
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from harness.episode.job import Job
from harness.journal.index import EpisodeResult
from harness.journal.site_log import SiteInstance
from harness.runner.dirty_sites import DirtySites, JobKey
from harness.runner.site_locks import LockPlanner


class SiteState:
    """Applies `DirtySites` to the jobs of a run."""

    def __init__(self, sharing: LockPlanner, upkeep: DirtySites, *, keeps_sites: bool) -> None:
        """`keeps_sites`: attempts continue from a checkpoint on the state that they left, if it still exists."""
        self._sharing = sharing
        self._upkeep = upkeep
        self._keeps_sites = keeps_sites

    def unclean(self, job: Job, at: Mapping[str, str]) -> tuple[SiteInstance, ...]:
        """The instances that must be reset before a job can begin."""
        # A checkpoint is right only where nobody else used the site since, and the disk must say so; else it is reset.
        keeps = (job.task.task_id, job.trial) if self._keeps(job, at) else None
        due = self._due(job, at, keeps)
        if keeps is not None and self._is_half_gone(job, at, due):
            due = self._due(job, at, None)
        together = self._upkeep.together
        if any(one.site in together for one in due):
            there = self._sharing.sites.instances
            due += (
                SiteInstance(site, url) for site in sorted(together) for url in there[site] if (site, url) not in due
            )
        return tuple(due)

    def _due(self, job: Job, at: Mapping[str, str], keeps: JobKey | None) -> list[SiteInstance]:
        places = map(SiteInstance._make, at.items())
        return [one for one in places if self._upkeep.needs_reset(one, job.task, keeps=keeps)]

    def _is_half_gone(self, job: Job, at: Mapping[str, str], due: Collection[SiteInstance]) -> bool:
        """Whether a site that an attempt used will not be as it was left, while others would be.

        Then neither a checkpoint nor a replay is right, unless all are reset.
        """
        outcome = self._sharing.outcome(job)
        if outcome is None or not all(self._upkeep.covers(site, job.task) for site in at):
            return False
        gone = {one.site for one in due}
        gone |= {one.site for one in map(SiteInstance._make, at.items()) if self._upkeep.is_clean(one)}
        return bool(gone & self._sharing.changed(outcome))

    def given(self, job: Job, at: Mapping[str, str]) -> Job:
        """The job as a lane gets it; the instances that it may change are marked as dirty first."""
        covered = [one for one in map(SiteInstance._make, at.items()) if self._upkeep.covers(one.site, job.task)]
        clean = tuple(one.site for one in covered if self._upkeep.is_clean(one))
        outcome, alone = self._sharing.outcome(job), self._sharing.need(job).exclusive
        goes_on = outcome is not None and outcome.goes_on and not job.reopens(outcome.attempt)
        changes = [one for one in covered if alone[one.site] and self._is_meant(one.site, job)]
        # Before it begins, so that a start after a crash knows of it.
        self._upkeep.mark_in_use(changes, (job.task.task_id, job.trial), goes_on=goes_on)
        return replace(job, clean=clean)

    def _is_meant(self, site: str, job: Job) -> bool:
        """Of sites of its own a lane is given all, and uses those of the task; what it does on others is noted
        after.
        """
        return self._sharing.sites.of_lane is None or not job.task.sites or site in job.task.sites

    def note_use(self, job: Job, at: Mapping[str, str], outcome: EpisodeResult) -> None:
        """Mark the effects of a job that was just left; a pending action of a lost lane counts as performed."""
        place = (job.task.task_id, job.trial)
        changed = self._sharing.changed(outcome)
        for site, url in at.items():
            if site in changed or outcome.goes_on:
                self._upkeep.mark_dirty(SiteInstance(site, url), place)
            else:
                self._upkeep.mark_unchanged(SiteInstance(site, url), place)
        for site in changed - at.keys():  # it had no business there
            for url in self._sharing.sites.instances.get(site, ()):
                self._upkeep.mark_dirty(SiteInstance(site, url), place)

    def _keeps(self, job: Job, at: Mapping[str, str]) -> bool:
        """Whether a job continues on the state that its attempt left, instead of after a reset."""
        outcome = self._sharing.outcome(job)
        if outcome is None or not outcome.goes_on or job.reopens(outcome.attempt):
            return False
        at_risk = {*at, *self._sharing.changed(outcome)} - set(self._sharing.sites.read_only)
        if not all(self._upkeep.covers(site, job.task) for site in at_risk):
            return True
        return self._keeps_sites and not self._sharing.may_repeat(outcome)
