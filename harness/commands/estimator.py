"""The estimated duration of a sweep with these settings, from the step times in a run folder."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.config.site_settings import SitesSettings
from harness.episode.job import Job
from harness.errors import ConfigError
from harness.evaluation.build_locks import dirty_sites, shared_sites
from harness.evaluation.reset_hooks import build_reset_hooks
from harness.journal.index import EpisodeResult
from harness.journal.names import is_run_folder
from harness.journal.site_log import SiteInstance, SiteLog
from harness.records import Task
from harness.runner.capacity import LANE_MB, SPARE, WORKER_MB, MachineCapacity
from harness.runner.forecast import EpisodeProfile, Forecast, Resources, average_profile, episode_profile, forecast
from harness.runner.scheduler import Scheduler
from harness.runner.site_locks import LockableSites, LockPlanner
from harness.runs import Run
from harness.settings.models import RateLimits

LANES = (1, 2, 4, 8, 16, 32, 64, 128)
NEAR = 1.05
"""A forecast this close to the best one is as good: fewer lanes are then better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What the person would like to know it for."""

    limits: RateLimits
    instances: Mapping[str, int]
    """Site to how many there would be; the others are as the settings say."""
    lanes: Sequence[int] = LANES
    step_cpu_s: float
    reset_s: float | None = None
    """What a reset of a site would take; None = as recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    workers: int
    lanes: int
    """Lanes of each worker."""
    fits: bool
    """In the memory that is free."""
    forecast: Forecast


class Estimator:
    """A sweep to be foretold."""

    def __init__(
        self, tasks: Sequence[Task], sites: SitesSettings, folder: Path, *, trials: int, what_if: WhatIf
    ) -> None:
        """Read the recorded episodes in `folder`.

        Raises:
            ConfigError: There are none, or `what_if` do not fit the settings.
        """
        self.tasks = tasks
        self._outcomes: dict[tuple[str, int], EpisodeResult] = {}
        self._courses: dict[tuple[str, int], EpisodeProfile] = {}
        for episode in Run(folder).readable() if is_run_folder(folder) else ():
            self._outcomes[episode.task_id, episode.trial] = episode.result
            if (found := episode_profile(episode.record)) is not None:
                self._courses[episode.task_id, episode.trial] = found
        if not self._courses:
            raise ConfigError(
                f"{folder} has no finished episode to take step times from: run some of the tasks first"
                " (python run.py … task.limit=20), or name another run with --from"
            )
        self._typical = average_profile(list(self._courses.values()))
        self._of_task: dict[str, list[EpisodeProfile]] = {}
        for task_id, trial in sorted(self._courses):
            self._of_task.setdefault(task_id, []).append(self._courses[task_id, trial])
        self._what_if = what_if
        self._shared = _shared(sites, self.tasks, what_if.instances)
        self._hooks = build_reset_hooks(sites)
        recorded = SiteLog(folder).reset_times()
        self.reset_times: Mapping[str, float | None] = {
            site: recorded.get(site) if what_if.reset_s is None else what_if.reset_s
            for site in self._shared.instances
            if self._hooks.covers(site)
        }
        """Seconds of a reset of each site that is reset during the sweep; None = not known, and taken for 0."""
        # Opened again: a recorded episode would otherwise lack at most its score, and need no site.
        self._jobs = [
            Job(task=task, trial=trial, reopen_at=self._attempt(task, trial))
            for trial in range(trials)
            for task in self.tasks
        ]

    def _attempt(self, task: Task, trial: int) -> int | None:
        outcome = self._outcomes.get((task.task_id, trial))
        return None if outcome is None else outcome.attempt

    @property
    def known(self) -> int:
        """Tasks whose own episode is recorded; the others are taken for typical ones."""
        return sum(task.task_id in self._of_task for task in self.tasks)

    def options(self, there: MachineCapacity) -> Iterator[Estimate]:
        """What different numbers of lanes would come to, the fewest first."""
        for number, total in enumerate(self._what_if.lanes):
            # More lanes than episodes are the same forecast again; alone, they are what is asked for.
            if total > len(self._jobs) and number > 0:
                return
            workers = min(there.cores, total)
            lanes = -(-total // workers)
            means = Resources(
                lanes=workers * lanes,
                cores=there.cores,
                limits=self._what_if.limits,
                step_cpu_s=self._what_if.step_cpu_s,
            )
            yield Estimate(
                workers=workers,
                lanes=lanes,
                fits=workers * (WORKER_MB + lanes * LANE_MB) <= there.memory_mb * SPARE,
                forecast=forecast(self._schedule, self._course, means),
            )

    def _schedule(self) -> Scheduler:
        async def reset(instances: tuple[SiteInstance, ...], _: Task) -> None:
            await asyncio.sleep(sum(self.reset_times.get(one.site) or 0.0 for one in instances))

        planner = LockPlanner(self._shared, self._outcomes.values(), lambda *job: self._outcomes.get(job))
        return Scheduler(self._jobs, planner, dirty_sites(reset, self._hooks, self._shared))

    def _course(self, job: Job) -> EpisodeProfile:
        task_id = job.task.task_id
        if (own := self._courses.get((task_id, job.trial))) is not None:
            return own
        # Trials of a task differ in length: those that are not recorded take the recorded ones in turn.
        recorded = self._of_task.get(task_id, [self._typical])
        before = sum((task_id, trial) not in self._courses for trial in range(job.trial))
        return recorded[before % len(recorded)]


def best(options: Sequence[Estimate]) -> Estimate:
    """The fewest lanes that are about as quick as any that fit."""
    fitting = [option for option in options if option.fits] or list(options[:1])
    least = min(option.forecast.wall_s for option in fitting)
    return next(option for option in fitting if option.forecast.wall_s <= least * NEAR)


def _shared(sites: SitesSettings, tasks: Sequence[Task], wished: Mapping[str, int]) -> LockableSites:
    """The sites that lanes share; missing addresses are invented, because the estimate opens none."""
    if sites.embedded:
        if wished:
            raise ConfigError(f"--instances {next(iter(wished))}=…: each lane has its own embedded sites; drop it")
        return LockableSites(instances={})
    used = {site for task in tasks for site in task.sites} | set(sites.by_name.keys())
    if unknown := sorted(set(wished) - used):
        raise ConfigError(f"--instances {unknown[0]}=…: no such site; choose from {', '.join(sorted(used))}")
    shared = shared_sites(sites, tasks)
    there = {site: shared.instances.get(site) or (f"http://{site}",) for site in used}
    there |= {site: tuple(f"http://{site}/{number}" for number in range(count)) for site, count in wished.items()}
    return replace(shared, instances=there)
