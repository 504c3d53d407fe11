"""Chooses the executor and lets it play."""

import sys
from collections.abc import Sequence
from dataclasses import replace

from harness import __version__
from harness.compose.confidential import secrets_of_tasks
from harness.compose.game import Game
from harness.compose.owing import policy
from harness.compose.services import Services, services
from harness.compose.settings import as_plain
from harness.compose.sharding import play_shards
from harness.compose.size import lanes_of, with_size, workers_of
from harness.config import Config
from harness.journal.store import hold_of
from harness.llm.turns import TurnServer
from harness.protocols import Progress
from harness.reports.summary import Invocation
from harness.runner.capacity import Room, room
from harness.runner.executors.desk import Desk
from harness.runner.executors.losses import Losses
from harness.runner.executors.processes import child_processes
from harness.runner.executors.ray import Cluster, on_cluster
from harness.runner.executors.supervising import Launch, Supervision, Terms, run_supervised
from harness.runner.schedule import Schedule
from harness.runner.working_time import working_s

_PLAYER = ("-m", "harness.player")
SLACK_S = 30.0
"""A worker ends its own steps at their deadline; its supervisor only when that did not work."""


async def execute(game: Game, schedule: Schedule, progress: Progress) -> Invocation:
    """Play all that is owed, by the configured executor."""
    kind = game.config.executor.kind
    if kind == "slurm":
        return await play_shards(game, progress)
    async with services(game) as where, schedule:
        requests, starts = await _PLAYS[kind](game, schedule, progress, where)
    flow = game.turns.flow()
    return Invocation(
        model_requests=requests,
        model_refused=flow.refused,
        model_waited_s=round(flow.waited_s, 3),
        browser_starts=starts,
        episodes_run=schedule.played,
    )


async def _inline(game: Game, schedule: Schedule, progress: Progress, where: Services) -> tuple[int, int]:
    from harness.compose.crew import crew  # browser libraries: supervisors do without
    from harness.runner.executors.inline import run_inline

    game = _sized(game, schedule, (room(),))
    config = game.config
    with game.stopping.listening():
        async with crew(game, where, progress, range(workers_of(config))) as players:
            await run_inline(players.workers, lanes_of(config), schedule)
            return players.requests.made, sum(browser.starts for browser in players.browsers)


async def _processes(game: Game, schedule: Schedule, progress: Progress, where: Services) -> tuple[int, int]:
    game = _sized(game, schedule, (room(),))
    launch = child_processes((sys.executable, *_PLAYER), game.run.path / "worker.log")
    return await _supervised(game, schedule, progress, where, launch=launch)


async def _ray(game: Game, schedule: Schedule, progress: Progress, where: Services) -> tuple[int, int]:
    executor = game.config.executor
    if executor.address is None:
        game = _sized(game, schedule, (room(),))  # of a cluster of our own, which is as large as we ask
    own = None if executor.address else _workers(game, schedule)
    cluster = Cluster(address=executor.address, workers=own, cpus=executor.cpus)
    with on_cluster(cluster, _PLAYER, game.run.path, silence_s=executor.silence_s) as joined:
        game = _sized(game, schedule, joined.nodes)
        return await _supervised(game, schedule, progress, where, launch=joined.launch)


async def _supervised(
    game: Game, schedule: Schedule, progress: Progress, where: Services, *, launch: Launch
) -> tuple[int, int]:
    config = game.config
    supervision = Supervision(
        launch=launch,
        hello=lambda number: {**hello(game, where), "number": number},
        turns=lambda send: TurnServer(game.turns, send, working_s),
        desk=lambda: Desk(game.run),
        lanes=lanes_of(config),
        schedule=schedule,
        journals=lambda task, trial: game.run.journal(task.task_id, trial),
        progress=progress,
        stopping=game.stopping,
        terms=Terms(
            silence_s=config.executor.silence_s,
            step_s=restore_deadline_s(config),
            task_s=config.executor.task_deadline_s,
        ),
        losses=Losses(policy(config)),
    )
    with game.stopping.listening():
        counts = await run_supervised(supervision, _workers(game, schedule))
    return counts.model_requests, counts.browser_starts


def _sized(game: Game, schedule: Schedule, there: Sequence[Room]) -> Game:
    """With as many workers and lanes as there is room for, which is said, unless the settings say how many."""
    config, why = with_size(game.config, there, len(schedule))
    if why:
        game.say(why)
    return replace(game, config=config)


def _workers(game: Game, schedule: Schedule) -> int:
    return min(workers_of(game.config), -(-len(schedule) // lanes_of(game.config)))


_PLAYS = {"inline": _inline, "processes": _processes, "ray": _ray}


def restore_deadline_s(config: Config) -> float:
    """How long any phase of an episode but the model's may take: a replay performs every step of it again."""
    return config.browser.step_deadline_s * 2 + SLACK_S


def hello(game: Game, where: Services) -> dict[str, object]:
    """What a worker process is told before it starts; it touches no disk, so keys may be in it."""
    return {
        "config": as_plain(game.config),
        "secrets": secrets_of_tasks(game.tasks),
        "harness": __version__,
        "folder": str(game.run.path.absolute()),
        "hold": hold_of(game.run.path),
        "config_digest": game.config_digest,
        "sites_port": where.sites_port,
        "base_url": where.base_url,
    }
