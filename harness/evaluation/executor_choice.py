"""Chooses the executor and lets it play."""

import sys
from collections.abc import Sequence
from dataclasses import replace

from harness import __version__
from harness.config import Config
from harness.config.config_secrets import task_secrets
from harness.config.config_tree import as_tree
from harness.evaluation.embedded import EmbeddedServers, embedded_servers
from harness.evaluation.parallelism import lanes_of, resolve_parallelism, workers_of
from harness.evaluation.pending_settings import pending_policy
from harness.evaluation.run_context import RunContext
from harness.evaluation.slurm_run import play_shards
from harness.journal.store import lock_token
from harness.llm.permits import RateLimiterServer
from harness.protocols import Progress
from harness.reports.summary import Invocation
from harness.runner.capacity import MachineCapacity, machine_capacity
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


async def run_with_executor(game: RunContext, schedule: Scheduler, progress: Progress) -> Invocation:
    """Play all that is owed, by the configured executor."""
    kind = game.config.executor.kind
    if kind == "slurm":
        return await play_shards(game, progress)
    async with embedded_servers(game) as where, schedule:
        requests, starts = await _PLAYS[kind](game, schedule, progress, where)
    flow = game.turns.flow()
    return Invocation(
        model_requests=requests,
        model_refused=flow.refused,
        model_waited_s=round(flow.waited_s, 3),
        browser_starts=starts,
        episodes_run=schedule.played,
    )


async def _inline(game: RunContext, schedule: Scheduler, progress: Progress, where: EmbeddedServers) -> tuple[int, int]:
    from harness.evaluation.worker_pool import build_workers  # browser libraries: supervisors do without
    from harness.runner.executors.inline import run_inline

    game = _sized(game, schedule, (machine_capacity(),))
    config = game.config
    with game.stopping.listening():
        async with build_workers(game, where, progress, range(workers_of(config))) as players:
            await run_inline(players.workers, lanes_of(config), schedule)
            return players.requests.made, sum(browser.starts for browser in players.browsers)


async def _processes(
    game: RunContext, schedule: Scheduler, progress: Progress, where: EmbeddedServers
) -> tuple[int, int]:
    game = _sized(game, schedule, (machine_capacity(),))
    launch = child_processes((sys.executable, *_PLAYER), game.run.path / "worker.log")
    return await _supervised(game, schedule, progress, where, launch=launch)


async def _ray(game: RunContext, schedule: Scheduler, progress: Progress, where: EmbeddedServers) -> tuple[int, int]:
    executor = game.config.executor
    if executor.address is None:
        game = _sized(game, schedule, (machine_capacity(),))  # of a cluster of our own, which is as large as we ask
    own = None if executor.address else _workers(game, schedule)
    cluster = RayClusterSpec(address=executor.address, workers=own, cpus=executor.cpus)
    with on_cluster(cluster, _PLAYER, game.run.path, silence_s=executor.silence_s) as joined:
        game = _sized(game, schedule, joined.nodes)
        return await _supervised(game, schedule, progress, where, launch=joined.launch)


async def _supervised(
    game: RunContext, schedule: Scheduler, progress: Progress, where: EmbeddedServers, *, launch: Launch
) -> tuple[int, int]:
    config = game.config
    supervision = SupervisorConfig(
        launch=launch,
        hello=lambda number: {**handshake(game, where), "number": number},
        turns=lambda send: RateLimiterServer(game.turns, send, working_s),
        desk=lambda: StoreServer(game.run),
        lanes=lanes_of(config),
        schedule=schedule,
        journals=lambda task, trial: game.run.journal(task.task_id, trial),
        progress=progress,
        stopping=game.stopping,
        terms=Timeouts(
            silence_s=config.executor.silence_s,
            step_s=restore_deadline_s(config),
            task_s=config.executor.task_deadline_s,
        ),
        losses=WorkerLosses(pending_policy(config)),
    )
    with game.stopping.listening():
        counts = await run_supervised(supervision, _workers(game, schedule))
    return counts.model_requests, counts.browser_starts


def _sized(game: RunContext, schedule: Scheduler, there: Sequence[MachineCapacity]) -> RunContext:
    """With as many workers and lanes as there is room for, which is said, unless the settings say how many."""
    config, why = resolve_parallelism(game.config, there, len(schedule))
    if why:
        game.say(why)
    return replace(game, config=config)


def _workers(game: RunContext, schedule: Scheduler) -> int:
    return min(workers_of(game.config), -(-len(schedule) // lanes_of(game.config)))


_PLAYS = {"inline": _inline, "processes": _processes, "ray": _ray}


def restore_deadline_s(config: Config) -> float:
    """How long any phase of an episode but the model's may take: a replay performs every step of it again."""
    return config.browser.step_deadline_s * 2 + SLACK_S


def handshake(game: RunContext, where: EmbeddedServers) -> dict[str, object]:
    """What a worker process is told before it starts; it touches no disk, so keys may be in it."""
    return {
        "config": as_tree(game.config),
        "secrets": task_secrets(game.tasks),
        "harness": __version__,
        "folder": str(game.run.path.absolute()),
        "hold": lock_token(game.run.path),
        "config_digest": game.config_digest,
        "sites_port": where.sites_port,
        "base_url": where.base_url,
    }
