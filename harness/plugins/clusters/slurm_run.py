"""One run as several independent ones: shards by task id, run as Slurm jobs, and merged by copying journals.

Each shard is a run folder of its own below the run's, `shards/<k>-of-<n>`, so no lock and no journal is shared over a
network. The folder of the whole run is updated whenever the jobs are checked. The same command again finds jobs that
are still running instead of submitting them twice.
"""

import sys
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

from harness.api import CodecError
from harness.api.configuration import HIDDEN
from harness.api.files import Within, safe_files, write_atomic
from harness.api.journals import SHARDS_FOLDER, EpisodeResult, journal_name, merge, merge_shards, shards_of
from harness.api.processes import MARK, end_marked, marks, module_arguments
from harness.api.records import build
from harness.api.rescoring import Invocation, Outcomes, as_asked
from harness.api.running import (
    DRIFT_NAME,
    RETRY_NAME,
    Phase,
    Progress,
    ProgressEvent,
    RunContext,
    Scheduler,
    budget_reached,
    is_finished,
    pending_jobs,
    pending_policy,
    standing,
)
from harness.api.tasks import shard_of, task_digest
from harness.errors import ConfigError, ExitCode, JournalError, ShutdownRequested, UsageError
from harness.plugins.clusters.slurm_jobs import FOLDER, SlurmJobs
from harness.runs.about import SUMMARY

LOOK_EVERY_S = 2.0


async def play_shards(context: RunContext, _: Scheduler, progress: Progress) -> Invocation:
    """Run the pending tasks as Slurm jobs, and merge their journals.

    Raises:
        UsageError: They cannot be submitted, or one says that the person must act.
    """
    config = context.config
    if config.task.shard is not None:
        raise ConfigError("executor=slurm sets task.shard for each job; set executor.shards instead")
    jobs = SlurmJobs(context.run.path / FOLDER, config.executor, digest=context.config_digest)
    shards = Shards(context, progress)
    shards.collect()
    shards.submit(jobs)
    if not config.executor.wait:
        context.say(f"{len(jobs.running())} jobs are running; run the same command again to collect their results")
        return Invocation()
    with context.stopping.listening():
        try:
            while jobs.running():
                await context.stopping.sleep(LOOK_EVERY_S)
                shards.collect()
        except ShutdownRequested:
            shards.leave(jobs)
    shards.collect()
    if not context.stopping():
        shards.complain(jobs)
    return shards.done()


class Shards:
    def __init__(self, context: RunContext, progress: Progress) -> None:
        self._context = context
        self._progress = progress
        self._count = context.config.executor.shards
        self._policy = pending_policy(context.config)
        self._digests = {task.task_id: task_digest(task) for task in context.tasks}
        self._over: set[tuple[str, int]] | None = None
        self._summaries: dict[int, int] = {}
        """Shard that was submitted now to the modification time of the summary it had, in ns; 0 = none."""

    def collect(self) -> None:
        """Merge the shards into the run folder, and report the episodes that have ended since the last time."""
        merge_shards(self._context.run.path)
        outcomes = self._outcomes()
        over = {key for key, became in outcomes.items() if is_finished(became, self._policy)}
        for key in sorted(over - (over if self._over is None else self._over)):
            became = outcomes[key]
            score = became.scores.get(self._policy.dialect)
            self._progress.tell(
                ProgressEvent(
                    lane=shard_of(became.task_id, self._count) - 1,
                    task_id=became.task_id,
                    trial=became.trial,
                    phase=Phase.ended,
                    step=became.steps,
                    usage=became.usage,
                    score=None if score is None else score.value,
                )
            )
        self._over = over

    def _outcomes(self) -> Outcomes:
        """The outcomes without scores by another reference than the present task's."""
        return as_asked(self._context.run.scan().outcomes, self._digests)

    def submit(self, jobs: SlurmJobs) -> None:
        """A job for every shard that has pending tasks and no job."""
        idle = self._pending() - set(jobs.running())
        wanted = sorted(idle - self._spent(idle))
        for shard in wanted:
            self._hand_over(shard)
            self._summaries[shard] = _written(self._folder(shard) / "summary.json")
        if wanted:
            jobs.submit({shard: self._command(shard) for shard in wanted})
            self._context.say(
                f"submitted as jobs {jobs.numbers(wanted)}: shards {', '.join(map(str, wanted))} of {self._count}"
            )

    def _pending(self) -> set[int]:
        """The shards that have pending tasks."""
        trials, run, outcomes = self._context.config.trials, self._context.run, self._outcomes()
        policy = standing(self._policy, run.path, self._context.tasks, outcomes, trials=trials)
        jobs = pending_jobs(self._context.tasks, trials, outcomes, policy)
        return {shard_of(job.task.task_id, self._count) for job in jobs}

    def _spent(self, shards: Collection[int]) -> set[int]:
        """Those of the shards that have used up their budget, which is said: each has its own."""
        results = defaultdict[int, list[EpisodeResult]](list)
        for became in self._outcomes().values():
            results[shard_of(became.task_id, self._count)].append(became)
        limits = self._context.config.run
        spent = {shard: limit for shard in sorted(shards) if (limit := budget_reached(limits, results[shard]))}
        if spent:
            self._context.say(
                f"{' and '.join(sorted(set(spent.values())))} is reached in {len(spent)} of {self._count} shards"
                f" ({', '.join(map(str, spent))}), each of which has a budget of its own; raise it and run the same"
                " command to continue"
            )
        return set(spent)

    def _hand_over(self, shard: int) -> None:
        """What the run knows of a shard's tasks, also of those that have ended: its job decides by itself what is
        pending, and would play, retry or refuse again what the run has played, retried or accepted.
        """
        run, folder = self._context.run.path, self._folder(shard)
        with safe_files.open_folder(folder, run, make=0o777):
            pass
        ids = [task.task_id for task in self._context.tasks if shard_of(task.task_id, self._count) == shard]
        trials = range(self._context.config.trials)
        merge(run, folder, {journal_name(task_id, trial) for task_id in ids for trial in trials})
        if asked := safe_files.read_if_there(run / RETRY_NAME):
            write_atomic(folder / RETRY_NAME, asked, within=Within(run))
        if accepted := safe_files.read_if_there(run / DRIFT_NAME):
            own = safe_files.read_if_there(folder / DRIFT_NAME) or b""
            lines = dict.fromkeys((own + accepted).splitlines(keepends=True))
            write_atomic(folder / DRIFT_NAME, b"".join(lines), within=Within(run))

    def complain(self, jobs: SlurmJobs) -> None:
        """Report the jobs that failed, and those that have used up their budget.

        Raises:
            UsageError: One of them says that the person must act.
        """
        for shard in sorted(self._summaries.keys() - set(jobs.running())):
            code, log = jobs.code(shard), jobs.log(shard)
            if code is None:
                self._context.say(
                    f"the job of shard {shard} ended early, {log} may say why; run the same command to continue"
                )
            elif code == ExitCode.USAGE:
                said = log.read_text("utf-8", "replace").strip().splitlines() if log.exists() else []
                raise UsageError(f"shard {shard}: {said[-1] if said else f'see {log}'}")
        self._spent(self._summaries.keys() & self._pending())

    def leave(self, jobs: SlurmJobs) -> None:
        """Stop waiting: jobs of a cluster are queued and continue, those of this machine end with their
        start.
        """
        run, left = self._context.run, jobs.running()
        if self._context.config.executor.cluster == "local":
            # By the marks and not as orphans, since these are our children; the jobs first, then their workers.
            for folder in (run.path, *shards_of(run.path)):
                end_marked({MARK: marks(folder, 0)[MARK]})
        elif left:
            numbers = jobs.numbers(left)
            self._context.say(
                f"{len(left)} jobs are still running: run the same command to collect their results, or stop them"
                f" with scancel {numbers}"
            )

    def done(self) -> Invocation:
        """The sum of the invocations of this start's jobs, from their summaries."""
        requests = starts = episodes = 0
        pauses: dict[str, float] = {}
        for shard, before in self._summaries.items():
            path = self._folder(shard) / "summary.json"
            if _written(path) == before:
                continue
            did = _invocation(path)
            requests, starts = requests + did.model_requests, starts + did.browser_starts
            episodes += did.episodes_run
            for site, seconds in did.site_pauses.items():
                pauses[site] = max(seconds, pauses.get(site, 0.0))  # jobs pause at the same time
        return Invocation(model_requests=requests, browser_starts=starts, episodes_run=episodes, site_pauses=pauses)

    def _folder(self, shard: int) -> Path:
        return self._context.run.path / SHARDS_FOLDER / f"{shard}-of-{self._count}"

    def _command(self, shard: int) -> list[str]:
        given, folder = self._context.arguments, self._folder(shard)
        if any(HIDDEN.search(argument) for argument in given):
            raise ConfigError(
                "executor=slurm writes its commands to disk, and one of these settings is a secret: give it by the"
                " environment"
            )
        root = str(folder.parent.absolute()).replace("'", r"\'")
        own = (
            *(
                "executor.kind=processes",
                f"task.shard={shard}/{self._count}",
                f"run.root='{root}'",
                f"run.id={folder.name}",
            ),
            *("run.report=false", "run.display=plain", "fail_under=null", "tracking.kind=none"),
        )
        return [sys.executable, *module_arguments("harness.main"), "run", *given, *own]


def _written(path: Path) -> int:
    found = safe_files.status(path)
    return 0 if found is None else found.st_mtime_ns


def _invocation(path: Path) -> Invocation:
    """The invocation in a shard's summary.

    Raises:
        JournalError: It is damaged.
    """
    try:
        told = (SUMMARY.read(path.parent) or {}).get("invocation")
        older: dict[str, object] = {"site_pauses": {}}  # a summary of before they were counted
        return build(Invocation, older | told if isinstance(told, dict) else told)
    except CodecError as exc:
        raise JournalError(f"{path} is damaged; delete it, then run again") from exc
