"""Chooses the executor and runs the pending jobs with it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from harness.api import Executor, WorkerHandle
from harness.evaluation.agent_registry import session_kind
from harness.evaluation.builder import build_executor, pending_policy
from harness.evaluation.embedded import EmbeddedServers, embedded_servers
from harness.evaluation.first_worker import worker_processes
from harness.evaluation.run_context import RunContext
from harness.evaluation.task_files import provide_files
from harness.journal.store import WORKER_LOG
from harness.llm.permits import RateLimiterServer
from harness.protocols import Progress
from harness.registry import Registry
from harness.reports.summary import Invocation
from harness.runner.capacity import (
    SPARE,
    LoadMeter,
    MachineCapacity,
    Parallelism,
    machine_capacity,
    parallelism_for,
    resolve_parallelism,
)
from harness.runner.executors.early_launch import launched_early
from harness.runner.executors.prestart import PLAYER
from harness.runner.executors.remote_store import StoreServer
from harness.runner.executors.supervisor import Launch, SupervisorConfig, Timeouts, run_supervised
from harness.runner.executors.worker_losses import WorkerLosses
from harness.runner.executors.worker_messages import WorkerSetup
from harness.runner.lane_growth import LaneGrowth, growing
from harness.runner.scheduler import Scheduler
from harness.working_time import working_s

EXECUTORS = Registry(
    group="cairn.executors",
    noun="executor.kind",
    core={
        "inline": "harness.evaluation.executor_choice:play_inline",
        "processes": "harness.evaluation.executor_choice:play_in_processes",
    },
)
"""Name to what runs all pending jobs: awaited with `RunContext`, schedule and progress, it gives an `Invocation`."""
SLACK_S = 30.0
"""A worker ends its own steps at their deadline; its supervisor only when that did not work."""


class Workers(NamedTuple):
    """How a worker process is started, and the number of workers."""

    launch: Launch
    size: Parallelism


async def run_with_executor(context: RunContext, schedule: Scheduler, progress: Progress) -> Invocation:
    """Run all pending jobs with the configured executor."""
    # A class of the person's own only starts workers, which are supervised as those of this machine are.
    kind = context.config.executor.kind if context.config.executor._target_ is None else "processes"
    done: Invocation = await EXECUTORS.find(kind)(context, schedule, progress)
    return done


@asynccontextmanager
async def serving(context: RunContext, schedule: Scheduler) -> AsyncIterator[EmbeddedServers]:
    """The embedded servers, while jobs are taken from the schedule."""
    async with embedded_servers(context) as where, schedule:
        await provide_files(context, where, schedule)
        yield where


async def play_inline(context: RunContext, schedule: Scheduler, progress: Progress) -> Invocation:
    """All workers in this process: the simplest executor, and the one to debug with."""
    from harness.evaluation.worker_pool import build_workers  # browser libraries: supervisors do without

    size = size_of(context, schedule, (machine_capacity(),), grows=_may_grow(context))
    async with (
        serving(context, schedule) as where,
        lanes_growing(context, schedule, progress, size) as told,
    ):
        context.begun.set()
        with context.stopping.listening():
            async with build_workers(context, where, told, range(size.workers), lanes=size.lanes) as pool:
                async with asyncio.TaskGroup() as group:
                    for lane in range(size.workers * size.lanes):
                        group.create_task(pool.workers[lane // size.lanes].run_lane(lane, schedule))
                starts = sum(browser.starts for browser in pool.browsers)
                return _invocation(context, schedule, starts=starts)


async def play_in_processes(context: RunContext, schedule: Scheduler, progress: Progress) -> Invocation:
    folder, executor = context.run.path, build_executor(context.config.executor)
    # What another executor starts runs elsewhere, and the load of this machine says nothing about it.
    size = size_of(context, schedule, (machine_capacity(),), grows=executor is None and _may_grow(context))
    if executor is None:
        launch = context.launch or worker_processes(folder)
    else:
        launch = partial(_start, executor, folder)
    early = number_of_workers(size, schedule) if executor is None else 0  # what another executor starts may be paid for
    async with (
        # Before the servers, which start meanwhile: a run of one task takes a fifth less time.
        launched_early(launch, early) as begun,
        serving(context, schedule) as where,
        lanes_growing(context, schedule, progress, size) as told,
    ):
        return await supervised(context, schedule, told, where, workers=Workers(begun, size))


@asynccontextmanager
async def lanes_growing(
    context: RunContext, schedule: Scheduler, progress: Progress, size: Parallelism
) -> AsyncIterator[Progress]:
    """While jobs are taken, give workers more lanes if machine, sites and endpoint keep up; says at the end to how
    many. Gives what progress has to be told to.
    """
    if not size.at_first:
        yield progress
        return

    def endpoint() -> tuple[int, int]:
        flow = context.rate_limiter.flow()
        return flow.refused, flow.waiting

    free_mb = machine_capacity().memory_mb
    growth = schedule.growth = LaneGrowth(
        workers=size.workers,
        least=size.at_first,
        most=size.lanes,
        free_mb=free_mb,
        reserve_mb=int(free_mb * (1 - SPARE)),
        endpoint=endpoint,
        further=progress,
    )
    async with growing(growth, lambda: len(schedule), schedule.look_again, LoadMeter()):
        yield growth
    if growth.highest > size.at_first:
        context.say(f"lanes of a worker grew from {size.at_first} to {growth.highest}, as the processor was idle")


def _may_grow(context: RunContext) -> bool:
    """A process of an agent takes as much memory as it likes, and its processor time comes later than its page."""
    return session_kind(context.config.agent) is None


def _start(executor: Executor, folder: Path, number: int) -> AbstractAsyncContextManager[WorkerHandle]:
    return executor.start((sys.executable, *PLAYER), number, folder / WORKER_LOG)


async def supervised(
    context: RunContext, schedule: Scheduler, progress: Progress, where: EmbeddedServers, *, workers: Workers
) -> Invocation:
    """Run the pending jobs in worker processes, wherever those are."""
    config, lanes = context.config, workers.size.lanes
    supervision = SupervisorConfig(
        launch=workers.launch,
        setup=lambda number: worker_setup(context, where, number=number, lanes=lanes),
        rate_limiter=lambda send: RateLimiterServer(context.rate_limiter, send, working_s),
        store=lambda: StoreServer(context.run),
        ask_host=context.ask_host,
        lanes=lanes,
        schedule=schedule,
        journals=lambda task, trial: context.run.journal(task.task_id, trial),
        progress=progress,
        stopping=context.stopping,
        timeouts=Timeouts(
            silence_s=config.executor.silence_s,
            step_s=restore_deadline_s(config.browser.step_deadline_s),
            task_s=config.executor.task_deadline_s,
        ),
        losses=WorkerLosses(pending_policy(config)),
    )
    context.begun.set()
    # Once more: a cluster that was joined meanwhile (Ray) has taken over the signals.
    with context.stopping.listening():
        counts = await run_supervised(supervision, number_of_workers(workers.size, schedule))
    return _invocation(context, schedule, starts=counts.browser_starts)


def _invocation(context: RunContext, schedule: Scheduler, *, starts: int) -> Invocation:
    flow = context.rate_limiter.flow()
    return Invocation(
        model_requests=flow.sent,
        model_refused=flow.refused,
        model_waited_s=round(flow.waited_s, 3),
        browser_starts=starts,
        episodes_run=schedule.played,
        site_pauses={site: round(seconds, 3) for site, seconds in schedule.site_pauses.items()},
    )


def size_of(
    context: RunContext, schedule: Scheduler, there: Sequence[MachineCapacity], *, grows: bool = False
) -> Parallelism:
    """The numbers of workers and lanes: from the settings, else from the capacity, which is printed."""
    workers, lanes = context.config.workers, context.config.executor.lanes
    if context.episodes is not None:
        return parallelism_for(context.episodes, workers, lanes, there)
    size = resolve_parallelism(workers, lanes, there, len(schedule), grows=grows)
    if size.why:
        context.say(size.why)
    return size


def number_of_workers(size: Parallelism, schedule: Scheduler) -> int:
    """No more than there are jobs for; all of them where jobs are still to come."""
    if schedule.is_open:
        return size.workers
    # By the lanes at the beginning: by those that may be added later, some cores would have no worker.
    return min(size.workers, -(-len(schedule) // size.begin))


def restore_deadline_s(step_deadline_s: float) -> float:
    """The deadline of every phase except the model's: a replay performs every step again."""
    return step_deadline_s * 2 + SLACK_S


def worker_setup(context: RunContext, where: EmbeddedServers, *, number: int, lanes: int) -> WorkerSetup:
    return WorkerSetup(
        number=number,
        lanes=lanes,
        config=context.config.tree(),
        config_digest=context.config_digest,
        prices=context.prices,
        # Each worker finds those of settings and environment by itself.
        secrets=context.secrets.of_tasks,
        readable=tuple(context.secrets.readable),
        folder=str(context.run.path.absolute()),
        lock_token=context.run.token(),
        sites_port=where.sites_port,
        base_url=where.base_url,
    )
