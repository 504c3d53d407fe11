"""One start of one run: find what is owed, play it, say what it came to.

All state is in the run folder. A start that finds nothing owed starts no server, no browser and no model client.
"""

import asyncio
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from harness import __version__
from harness.choices import Display
from harness.codec import dumps
from harness.compose.budget import run_purse
from harness.compose.conclusion import conclude, forget
from harness.compose.deployment import load_tasks
from harness.compose.drift import settle
from harness.compose.game import Game
from harness.compose.limiting import limiter
from harness.compose.owing import policy
from harness.compose.rehearsal import rehearsed
from harness.compose.resetting import unresettable
from harness.compose.settings import redacting, saved
from harness.compose.sharing import schedule
from harness.compose.tracking import Tracker
from harness.config import Config
from harness.errors import ConfigError, ExitCode
from harness.journal.index import Scan
from harness.journal.log import Durability
from harness.journal.redaction import redact_logs
from harness.journal.store import RunFolder
from harness.records import Task
from harness.reports.display import Board, LiveDisplay, PlainDisplay
from harness.reports.leaving import leave_reports
from harness.reports.rows import About
from harness.reports.summary import Entry, Invocation, Summary, as_json, summarize
from harness.reports.table import exit_code, print_summary
from harness.reports.terminal import Terminal
from harness.runner.family import mark, sweep
from harness.runner.plan import RETRIES, owed
from harness.runner.purse import Purse
from harness.runner.schedule import Schedule
from harness.runner.stopping import Stopping


async def evaluate(config: Config, folder: Path, console: Terminal, arguments: tuple[str, ...] = ()) -> int:
    """Play what `folder` still owes of the configured tasks; `arguments` compose this configuration anew.

    Returns:
        The exit code.
    """
    _check(config)
    if config.run.dry:
        console.out(rehearsed(config, folder), highlight=False)
        return ExitCode.DONE
    return await _evaluate(config, folder, console, arguments)


async def _evaluate(config: Config, folder: Path, console: Terminal, arguments: tuple[str, ...]) -> int:
    begun = time.monotonic()
    tasks = load_tasks(config)
    redactor = redacting(config)
    redact_logs(redactor)

    with (
        RunFolder.open(folder, durability=Durability(config.journal.durability.value), redactor=redactor) as run,
        ExitStack() as closing,
    ):
        sweep(folder)
        mark(folder)
        outcomes = (scanned := _scan(run)).outcomes
        digest = settle(config, run, tasks, outcomes=outcomes, tell=console.say)
        stopping = Stopping(console.say)
        jobs = schedule(config, run, tasks, outcomes=outcomes, stopping=stopping)
        spent = outcomes if len(jobs) else {}  # with nothing owed there is nothing to stop
        purse = run_purse(config, run, spent, stopping=stopping, tell=console.say)
        tracker = Tracker(config, folder)
        invocation = Invocation()
        if plays := bool(len(jobs)) and not purse.is_empty():
            _begin(config, run, tasks, jobs, console=console)
            _describe(config, run, digest, tasks)
            game = Game(
                config=config,
                run=run,
                tasks=tasks,
                config_digest=digest,
                arguments=arguments,
                say=console.say,
                stopping=stopping,
                turns=limiter(config, console.say),
            )
            closing.enter_context(_heeding(stopping, console))  # to the end: what is written last is not cut short
            invocation = await _play(game, jobs, console, tracker=tracker, purse=purse)
        found = _scan(run) if plays else scanned
        summary = _summary(config, found, tasks, replace(invocation, wall_s=round(time.monotonic() - begun, 3)))
        _leave(run, summary, console)
        done = _is_done(config, tasks, found)
        # Asked to stop when nothing was left to do: by its last decision, a budget may be spent.
        whole = not stopping() or (not len(jobs) and done)
        leave_reports(run, _about(config, tasks), found, console=console, pages=config.run.report and whole)
        await tracker.log(whole=whole)
        await tracker.close()
        if not whole and not purse.is_empty():
            console.print("interrupted: nothing is lost; the same command goes on from here")
            return ExitCode.INTERRUPTED
        if done:
            conclude(config, run, summary)
        return exit_code(console, summary.overall, config.fail_under)


@contextmanager
def _heeding(stopping: Stopping, console: Terminal) -> Iterator[None]:
    """Stop when asked to, and when nobody reads any more what is said."""
    console.lost = partial(asyncio.get_running_loop().call_soon_threadsafe, stopping.ask)
    with stopping.listening():
        yield


def _begin(config: Config, run: RunFolder, tasks: Sequence[Task], jobs: Schedule, *, console: Terminal) -> None:
    forget(run)
    _say_what_is_not_reset(config, tasks, console)
    _say_who_is_alone(jobs, console)


async def _play(game: Game, jobs: Schedule, console: Terminal, *, tracker: Tracker, purse: Purse) -> Invocation:
    from harness.compose.executing import execute  # model and server libraries: a start that owes nothing needs none

    with _display(game.config, console, Board(len(jobs), game.turns.flow, lambda: jobs.waits)) as display:
        async with tracker.following(display) as progress:
            return await execute(game, jobs, purse.watching(progress))


def _display(config: Config, console: Terminal, board: Board) -> LiveDisplay | PlainDisplay:
    wanted = config.run.display
    if wanted is Display.live or (wanted is Display.auto and console.is_terminal):
        return LiveDisplay(console, board)
    return PlainDisplay(console, board)


def _check(config: Config) -> None:
    """What the schema cannot say."""
    if config.run.retry is not None and config.run.retry not in RETRIES:
        raise ConfigError(f"run.retry={config.run.retry} is unknown; it is one of {', '.join(RETRIES)}, or null")
    if config.fail_under is not None and not 0 <= config.fail_under <= 1:
        raise ConfigError(f"fail_under={config.fail_under:g} is no rate; give a number from 0 to 1")
    counts = {"workers": config.workers, "executor.lanes": config.executor.lanes, "trials": config.trials}
    for name, value in counts.items():
        if value is not None and value < 1:
            raise ConfigError(f"{name}={value} is too few; give at least 1")


def _say_what_is_not_reset(config: Config, tasks: Sequence[Task], console: Terminal) -> None:
    if unreset := unresettable(config, tasks):
        console.print(
            f"{len(unreset)} tasks ask for a reset of their sites (require_reset) and are played without: "
            "set sites.reset.command, or reset_command or reset_url of the sites",
            markup=False,
        )


def _say_who_is_alone(jobs: Schedule, console: Terminal) -> None:
    if jobs.believed:
        console.print(
            f"{jobs.believed} of {len(jobs)} tasks do not say whether they change their sites (mutates) and have them "
            "alone; sites.X.instances=[…] lets more be played at once, sites.leases=none all",
            markup=False,
            highlight=False,
        )


def _scan(run: RunFolder) -> Scan:
    found = run.scan()
    if found.damaged:
        raise found.damaged[0]
    return found


def _describe(config: Config, run: RunFolder, config_digest: str, tasks: Sequence[Task]) -> None:
    """Leave beside the journals what made them."""
    run.write("config.yaml", saved(config).encode())
    packages = ("playwright", "openai", "hydra-core", "orjson")
    described = {
        "harness": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version(name) for name in packages},
        "config_digest": config_digest,
        "seed": config.run.seed,
        "model": config.llm.model,
        "agent": config.agent.name,
        "scoring": config.scoring.value,
        "trials": config.trials,
        "tasks": [task.task_id for task in tasks],
    }
    run.write("run.json", dumps(described) + b"\n")


def _about(config: Config, tasks: Sequence[Task]) -> About:
    return About(
        name=config.run.id,
        dialect=config.scoring.value,
        model=config.llm.model,
        agent=config.agent.name,
        tasks=tuple(task.task_id for task in tasks),
        trials=config.trials,
    )


def _is_done(config: Config, tasks: Sequence[Task], found: Scan) -> bool:
    """Whether nothing is owed but what a person may ask to be retried."""
    return not owed(tasks, config.trials, found.outcomes, replace(policy(config), retry=None))


def _leave(run: RunFolder, summary: Summary, console: Terminal) -> None:
    run.write("summary.json", dumps(as_json(summary)) + b"\n")
    print_summary(console, summary, str(run.path))


def _summary(config: Config, found: Scan, tasks: Sequence[Task], invocation: Invocation) -> Summary:
    outcomes = found.outcomes
    entries = (
        Entry(task=task, trial=trial, outcome=outcomes.get((task.task_id, trial)))
        for trial in range(config.trials)
        for task in tasks
    )
    return summarize(config.run.id, entries, config.scoring.value, invocation)
