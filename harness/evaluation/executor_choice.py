"""Chooses the executor and runs the pending jobs with it."""

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from harness.evaluation.builder import build_executor
from harness.evaluation.embedded import EmbeddedServers, embedded_servers
from harness.evaluation.parallelism import resolve_parallelism
from harness.evaluation.run_context import RunContext
from harness.evaluation.slurm_run import play_shards
from harness.evaluation.task_files import provide_files
from harness.journal.store import lock_token
from harness.llm.permits import RateLimiterServer
from harness.protocols import Progress
from harness.reports.summary import Invocation
from harness.runner.capacity import MachineCapacity, Parallelism, machine_capacity
from harness.runner.executors.early_launch import launched_early
from harness.runner.executors.messages import WorkerSetup
from harness.runner.executors.processes import child_processes
from harness.runner.executors.ray import RayClusterSpec, on_cluster
from harness.runner.executors.remote_store import StoreServer
from harness.runner.executors.supervisor import Launch, SupervisorConfig, Timeouts, run_supervised
from harness.runner.executors.worker_losses import WorkerLosses
from harness.runner.scheduler import Scheduler
from harness.runner.working_time import working_s

_PLAYER = ("-m", "harness.evaluation.worker_main")
SLACK_S = 30.0
"""A worker ends its own steps at their deadline; its supervisor only when that did not work."""


class Workers(NamedTuple):
    """How a worker process is started, and the number of workers."""

    launch: Launch
    size: Parallelism


async def run_with_executor(context: RunContext, schedule: Scheduler, progress: Progress) -> Invocation:
    """Run all pending jobs with the configured executor."""
    kind = context.settings.executor.kind if context.settings.executor._target_ is None else "processes"
    if kind == "slurm":
        return await play_shards(context, progress)
    requests, starts = await _PLAYS[kind](context, schedule, progress)
    flow = context.rate_limiter.flow()
    return Invocation(
        model_requests=requests,
        model_refused=flow.refused,
        model_waited_s=round(flow.waited_s, 3),
        browser_starts=starts,
        episodes_run=schedule.played,
    )


@asynccontextmanager
async def _serving(context: RunContext, schedule: Scheduler) -> AsyncIterator[EmbeddedServers]:
    """The embedded servers, while jobs are taken from the schedule."""
    async with embedded_servers(context) as where, schedule:
        await provide_files(context, where, schedule)
        yield where


async def _inline(context: RunContext, schedule: Scheduler, progress: Progress) -> tuple[int, int]:
    from harness.evaluation.worker_pool import build_workers  # browser libraries: supervisors do without
    from harness.runner.executors.inline import run_inline

    size = _size(context, schedule, (machine_capacity(),))
    async with _serving(context, schedule) as where:
        with context.stopping.listening():
            async with build_workers(context, where, progress, range(size.workers), lanes=size.lanes) as pool:
                await run_inline(pool.workers, size.lanes, schedule)
                return pool.requests.made, sum(browser.starts for browser in pool.browsers)


async def _processes(context: RunContext, schedule: Scheduler, progress: Progress) -> tuple[int, int]:
    size = _size(context, schedule, (machine_capacity(),))
    command, log = (sys.executable, *_PLAYER), context.run.path / "worker.log"
    executor = build_executor(context.settings.executor)
    launch = child_processes(command, log) if executor is None else lambda number: executor.start(command, number, log)
    early = _workers(size, schedule) if executor is None else 0  # what another executor starts may be paid for
    async with launched_early(launch, early) as begun, _serving(context, schedule) as where:
        return await _supervised(context, schedule, progress, where, workers=Workers(begun, size))


async def _ray(context: RunContext, schedule: Scheduler, progress: Progress) -> tuple[int, int]:
    executor, size = context.settings.executor, None
    if executor.address is None:
        size = _size(context, schedule, (machine_capacity(),))  # of a cluster of our own, which is as large as we ask
    own = _workers(size, schedule) if size else None
    cluster = RayClusterSpec(address=executor.address, workers=own, cpus=executor.cpus)
    async with _serving(context, schedule) as where:
        with on_cluster(cluster, _PLAYER, context.run.path, silence_s=executor.silence_s) as joined:
            size = size or _size(context, schedule, joined.nodes)
            return await _supervised(context, schedule, progress, where, workers=Workers(joined.launch, size))


async def _supervised(
    context: RunContext, schedule: Scheduler, progress: Progress, where: EmbeddedServers, *, workers: Workers
) -> tuple[int, int]:
    settings, lanes = context.settings, workers.size.lanes
    supervision = SupervisorConfig(
        launch=workers.launch,
        setup=lambda number: worker_setup(context, where, number=number, lanes=lanes),
        rate_limiter=lambda send: RateLimiterServer(context.rate_limiter, send, working_s),
        store=lambda: StoreServer(context.run),
        lanes=lanes,
        schedule=schedule,
        journals=lambda task, trial: context.run.journal(task.task_id, trial),
        progress=progress,
        stopping=context.stopping,
        timeouts=Timeouts(
            silence_s=settings.executor.silence_s,
            step_s=restore_deadline_s(settings.browser.step_deadline_s),
            task_s=settings.executor.task_deadline_s,
        ),
        losses=WorkerLosses(settings.policy),
    )
    with context.stopping.listening():
        counts = await run_supervised(supervision, _workers(workers.size, schedule))
    return counts.model_requests, counts.browser_starts


def _size(context: RunContext, schedule: Scheduler, there: Sequence[MachineCapacity]) -> Parallelism:
    """The numbers of workers and lanes: from the settings, else from the capacity, which is printed."""
    size = resolve_parallelism(context.settings.workers, context.settings.executor.lanes, there, len(schedule))
    if size.why:
        context.say(size.why)
    return size


def _workers(size: Parallelism, schedule: Scheduler) -> int:
    return min(size.workers, -(-len(schedule) // size.lanes))


_PLAYS = {"inline": _inline, "processes": _processes, "ray": _ray}


def restore_deadline_s(step_deadline_s: float) -> float:
    """The deadline of every phase except the model's: a replay performs every step again."""
    return step_deadline_s * 2 + SLACK_S


def worker_setup(context: RunContext, where: EmbeddedServers, *, number: int, lanes: int) -> WorkerSetup:
    return WorkerSetup(
        number=number,
        lanes=lanes,
        config=context.config.tree(),
        config_digest=context.config_digest,
        secrets=context.secrets.of_tasks,
        readable=tuple(context.secrets.readable),
        folder=str(context.run.path.absolute()),
        lock_token=lock_token(context.run.path),
        sites_port=where.sites_port,
        base_url=where.base_url,
    )
