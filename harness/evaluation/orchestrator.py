"""One invocation: find the pending jobs, run them, report the results.

All state is in the run folder. If no job is pending, no server, browser or model client is started.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.choices import Display
from harness.codec import dumps
from harness.config import Config
from harness.config.config_validation import check_inputs
from harness.config.site_settings import SitesSettings
from harness.episode.job import task_digest
from harness.episode.references import as_asked, outdated
from harness.errors import ExitCode
from harness.escape import show_logs
from harness.evaluation import retry_request
from harness.evaluation.build_locks import build_scheduler
from harness.evaluation.builder import build_rate_limiter, build_run_budget, check_plugins, load_tasks, pending_policy
from harness.evaluation.conditions import below_least, exit_code
from harness.evaluation.dry_run import describe_dry_run
from harness.evaluation.embedded import is_embedded_endpoint
from harness.evaluation.endpoint_settings import check_keys, load_prices
from harness.evaluation.forks import begin_fork, check_fork, forked_tasks
from harness.evaluation.preflight import check_before, tasks_on_sites, what_is_missing
from harness.evaluation.provenance import describe_tasks
from harness.evaluation.reply_caches import check_reply_caches
from harness.evaluation.reset_hooks import unresettable
from harness.evaluation.run_context import RunContext
from harness.evaluation.run_description import about, check_drift, describe_run, describe_unplayed, weights
from harness.evaluation.run_secrets import RunSecrets
from harness.evaluation.summary_cache import invalidate_summary, save_summary
from harness.evaluation.trackers import RunTracker, open_tracker
from harness.journal.index import Outcomes, Scan, scan
from harness.journal.merge import merge_shards
from harness.journal.store import RunFolder
from harness.records import Task
from harness.reports.basis import basis
from harness.reports.console import Terminal
from harness.reports.display import LiveDisplay, LiveStats, PlainDisplay
from harness.reports.page_writers import FINDINGS, PAGES, call_all
from harness.reports.summary import Invocation, Summary, as_json, summarize
from harness.reports.table import NOTHING_LEFT, StillPending, print_summary
from harness.reports.write_all import write_reports
from harness.runner.pending import pending_jobs
from harness.runner.process_tree import kill_orphans, tag_environment
from harness.runner.run_budget import RunBudget
from harness.runner.scheduler import Scheduler
from harness.runner.shutdown import ShutdownSignal
from harness.runs.attribution import Attributions, read_attributions
from harness.runs.baselines import baselines_of_run
from harness.runs.notes import UNCONFINED
from harness.runs.outcome import UNSCORED, is_judgeable, score_of
from harness.runs.results import episodes_of, result_of, unbegun
from harness.runs.run import Run
from harness.secrets.redacting_progress import RedactingProgress
from harness.secrets.redacting_stream import redact_output
from harness.secrets.redaction import Redactor, redact_logs
from harness.settings.run import RunSettings

if TYPE_CHECKING:
    from harness.runner.executors.supervisor import Launch

_NOT_CACHED = (
    "llm.cache does not apply to agent=process: the agent's requests are passed on and not kept; a judge's are"
    " (docs/pages/cache.md)"
)


async def evaluate(  # noqa: PLR0913 (what a start of a run is)
    config: Config,
    folder: Path,
    console: Terminal,
    arguments: tuple[str, ...] = (),
    *,
    begun: float | None = None,
    launch: "Launch | None" = None,
) -> int:
    """Run the pending jobs of `folder`.

    Args:
        arguments: The overrides that compose this configuration.
        begun: When the command began, by `time.monotonic`; None = now.
        launch: Starts worker processes, the first of which has begun; None = none has.

    Returns:
        The exit code.
    """
    begun = time.monotonic() if begun is None else begun
    check_plugins(config)
    check_fork(config.run.fork, executor=config.executor.kind, strategy=config.resume.strategy, agent=config.agent)
    if config.run.dry:
        return await _tried_dry(config, folder, console)
    check_inputs(config.browser, config.executor)
    check_reply_caches(config.llm, config.judge)
    if config.agent._target_ is None and config.agent.kind == "process":
        _say_what_confines(config, console)
        if config.llm.cache not in (None, "off"):
            console.say(_NOT_CACHED)
    return await _evaluate(config, folder, console, Given(arguments, begun, launch))


async def _tried_dry(config: Config, folder: Path, console: Terminal) -> int:
    policy, tasks = pending_policy(config), load_tasks(config)
    redactor = keep_quiet(RunSecrets(config=config, tasks=tasks), folder)
    tasks = forked_tasks(config.run.fork, folder, tasks, trials=config.trials, say=console.say)
    digests, recorded = {task.task_id: task_digest(task) for task in tasks}, scan(folder).outcomes
    if recorded:
        # Not held: nothing is written. What a start would accept, it says itself.
        run = RunFolder(folder, None, durability=config.journal.durability, redactor=redactor)
        accepted: Callable[[str], None] | None = (lambda _: None) if config.resume.accept_drift else None
        check_drift(config, run, tasks, digests=digests, outcomes=recorded, accepted=accepted)
    outcomes = as_asked(recorded, digests)
    policy = retry_request.standing(policy, folder, tasks, outcomes, trials=config.trials)
    pending = tasks_on_sites(pending_jobs(tasks, config.trials, outcomes, policy), outcomes)
    missing = await what_is_missing(config, pending)
    told = describe_dry_run(tasks, outcomes, policy, trials=config.trials, sites=config.sites, missing=missing)
    console.out(told, highlight=False)
    # Last, as it may raise: the list is printed all the same.
    check_keys(config.llm, config.judge)
    return ExitCode.DONE


class Given(NamedTuple):
    """What a start of a run comes with, besides its settings; see `evaluate`."""

    arguments: tuple[str, ...]
    begun: float
    launch: "Launch | None"


async def _evaluate(config: Config, folder: Path, console: Terminal, given: Given) -> int:
    policy, tasks, measured = pending_policy(config), load_tasks(config), config.measured()
    secrets = RunSecrets(config=config, tasks=tasks)
    async with AsyncExitStack() as closing:
        opened = RunFolder.open(folder, durability=config.journal.durability, redactor=keep_quiet(secrets, folder))
        run, heeding = closing.enter_context(opened), closing.enter_context(ExitStack())
        take_over(folder)  # under the lock: no other start of this run is active
        tasks = begin_fork(config.run.fork, run, tasks, trials=config.trials, measured=measured, say=console.say)
        outcomes = (scanned := _brought_together(run)).outcomes
        stopping, accepted = ShutdownSignal(console.say), console.say if config.resume.accept_drift else None
        digests = {task.task_id: task_digest(task) for task in tasks}
        config_digest = check_drift(config, run, tasks, digests=digests, outcomes=outcomes, accepted=accepted)
        asked = _asked(outcomes, digests, policy.dialect, console)
        jobs, embedded = build_scheduler(config, run, tasks, outcomes=asked, stopping=stopping)
        budget = _budget(config, run, outcomes if len(jobs) else {}, stopping)  # nothing pending: nothing to stop
        tracker, invocation = open_tracker(config.tracking, config.llm, config.scoring, folder), Invocation()
        closing.push_async_callback(tracker.close)  # before signals are no longer heeded: it may send for long
        if plays := bool(len(jobs)) and not budget.spent_up:
            await check_before(config, folder, jobs.pending, outcomes, say=console.say)
            describe_run(config, run, tasks, config_digest=config_digest, is_begun=bool(outcomes), accepted=accepted)
            describe_tasks(run, tasks)
            retry_request.remember(policy, run, tasks, asked, trials=config.trials)
            context = RunContext(
                config=config,
                run=run,
                secrets=secrets,
                tasks=tasks,
                config_digest=config_digest,
                prices=load_prices(config.llm),
                arguments=given.arguments,
                launch=given.launch,
                say=console.say,
                stopping=stopping,
                rate_limiter=build_rate_limiter(config.llm, config.judge, console.say, outcomes),
                embedded=embedded,
            )
            _begin(context, jobs, console)
            heeding.enter_context(_heeding(stopping, console))  # to the end: what is written last is not cut short
            invocation = await _play(context, jobs, console, tracker=tracker, budget=budget)
        else:
            describe_unplayed(config, run, tasks)
            describe_tasks(run, tasks)
        found = _scan_as_asked(undamaged(run) if plays else scanned, digests)
        left = _left(config, folder, tasks, found.outcomes, budget=budget)
        whole = not stopping() or not (len(jobs) or left.pending)  # by its last decision, a budget may be spent
        played = Run(folder, scoring=config.scoring.value, scanned=found)
        whose = _look_through(played, config.run.report and whole, console)
        summary = _timed(_summary(config, played, found, tasks, invocation=invocation, whose=whose), given.begun)
        with _results(run, summary, left, console, begun=given.begun):
            _write_reports(config, run, tasks, found, console=console, pages=config.run.report and whole)
        await tracker.log(whole=whole)
        if not whole and not budget.spent_up:
            return _interrupted(console)
        if not (left.pending or left.retries):
            retry_request.settle(policy, run, tasks, found.outcomes, trials=config.trials)
        if left == NOTHING_LEFT:  # else the next start has to say what there is to do
            save_summary(run, summary, settings=config.tree() | measured)  # last: it says that all reports are written
        below = below_least(played, config.fail_under_of)
        code = exit_code(console, summary.statistics.all, config.fail_under, below, left_out=played.left_out)
        return ExitCode.UNSCORED if left.retries and code is ExitCode.DONE else code


def _asked(outcomes: Outcomes, digests: Mapping[str, str], dialect: str, console: Terminal) -> Outcomes:
    """See `as_asked`; that episodes will be scored again is said."""
    if episodes := outdated(outcomes, digests, dialect):
        what = "1 episode that has ended is" if episodes == 1 else f"{episodes} episodes that have ended are"
        console.say(f"{what} scored again, with the reference (eval) of the present task; none of them is played again")
    return as_asked(outcomes, digests)


def _budget(config: Config, run: RunFolder, outcomes: Outcomes, stopping: ShutdownSignal) -> RunBudget:
    """What this start watches; each shard watches its own."""
    limits = RunSettings() if config.executor.plays_shards else config.run
    return build_run_budget(limits, run, outcomes, stopping=stopping)


def _scan_as_asked(found: Scan, digests: Mapping[str, str]) -> Scan:
    """See `as_asked`: where a budget or a signal kept it from scoring again, results are not by the old reference."""
    asked = as_asked(found.outcomes, digests)
    entries = (replace(one, outcome=asked[one.outcome.task_id, one.outcome.trial]) for one in found.entries)
    return replace(found, entries=tuple(entries))


def take_over(folder: Path) -> None:
    """End what an earlier start left running, and mark what this one starts."""
    kill_orphans(folder)
    tag_environment(folder)


def keep_quiet(secrets: RunSecrets, folder: Path) -> Redactor:
    """About the secrets of a run, in what is logged and printed from now on; for what is written, too.

    The path of the run folder is printed as it is, since a person has to copy it.
    """
    redactor = secrets.redactor()
    redact_logs(redactor)
    show_logs()
    logging.raiseExceptions = False  # a full disk is told by the journal, not by a traceback for each line of the log
    # The streams themselves are wrapped: a traceback has no other place where it could be redacted.
    redact_output(redactor.showing(str(folder)))
    return redactor


def _say_what_confines(config: Config, console: Terminal) -> None:
    from harness.sandbox.bubblewrap import choose_sandbox  # only of use with a process

    sandbox, why = choose_sandbox(config.agent.sandbox)
    if sandbox is None:
        console.say(f"the agent's process is not confined ({why}): {UNCONFINED}")


@contextmanager
def _heeding(stopping: ShutdownSignal, console: Terminal) -> Iterator[None]:
    """Stop on a signal, and when standard output is closed."""
    # `Terminal.lost` may be called in another thread.
    console.lost = partial(asyncio.get_running_loop().call_soon_threadsafe, stopping.ask)
    with stopping.listening():
        yield


def _begin(context: RunContext, jobs: Scheduler, console: Terminal) -> None:
    context.secrets.announce(console.say)
    invalidate_summary(context.run)
    _say_what_is_not_reset(context.config.sites, context.tasks, console)
    _say_who_is_alone(jobs, _jobs_are(context.config.trials), console)


async def _play(
    context: RunContext, jobs: Scheduler, console: Terminal, *, tracker: RunTracker, budget: RunBudget
) -> Invocation:
    from harness.evaluation.executor_choice import run_with_executor  # heavy: not needed without pending jobs

    board = LiveStats(
        len(jobs),
        context.rate_limiter.flow,
        lambda: jobs.waits,
        _jobs_are(context.config.trials),
        starting=_starting(context.config),
    )
    with _display(context.config.run.display, console, board) as display:
        discreet = RedactingProgress(display, context.run.redactor.said)
        async with tracker.following(discreet) as progress:
            return await run_with_executor(context, jobs, budget.watching(progress))


def _starting(config: Config) -> str:
    """What has to be up before the first task begins, in words."""
    executor = {"ray": "Ray and its workers", "slurm": "the Slurm jobs", "inline": "the browsers"}
    parts = (
        "the embedded sites" if config.sites.embedded and config.sites.port is None else "",
        "the scripted endpoint" if is_embedded_endpoint(config.llm) else "",
        executor.get(config.executor.kind, "the worker processes and their browsers"),
    )
    return ", ".join(part for part in parts if part)


def _display(wanted: Display, console: Terminal, board: LiveStats) -> LiveDisplay | PlainDisplay:
    if wanted is Display.live or (wanted is Display.auto and console.is_tty):
        return LiveDisplay(console, board)
    return PlainDisplay(console, board)


def _say_what_is_not_reset(sites: SitesSettings, tasks: Sequence[Task], console: Terminal) -> None:
    if unreset := unresettable(sites, tasks):
        console.print(
            f"{len(unreset)} tasks have require_reset, but no reset hook is configured; they run without a reset: "
            "set sites.reset.command, or reset_command or reset_url of the sites",
            markup=False,
        )


def _jobs_are(trials: int) -> str:
    return "tasks" if trials == 1 else "episodes"


def _say_who_is_alone(jobs: Scheduler, what: str, console: Terminal) -> None:
    if jobs.believed:
        console.print(
            f"{jobs.believed} of {len(jobs)} {what} do not set `mutates`; each gets exclusive access to its sites. "
            "Add instances (sites.X.instances=[…]) for more parallelism, or disable locking with sites.locks=none.",
            markup=False,
            highlight=False,
        )


def undamaged(run: RunFolder) -> Scan:
    """What became of each task.

    Raises:
        JournalError: A journal is damaged.
    """
    found = run.scan()
    if found.damaged:
        raise found.damaged[0]
    return found


def _brought_together(run: RunFolder) -> Scan:
    """The same, with what shards of an earlier start have recorded, whichever executor goes on with the run."""
    merge_shards(run.path)
    return undamaged(run)


def _left(
    config: Config, folder: Path, tasks: Sequence[Task], outcomes: Outcomes, *, budget: RunBudget
) -> StillPending:
    """The pending jobs, and those that only `run.retry` would run again: a budget, or that of a shard, has kept it from
    that.
    """
    asked = pending_policy(config)
    policy = replace(asked, run=replace(config.run, retry=None))
    jobs, retries = pending_jobs(tasks, config.trials, outcomes, policy), 0
    if budget.spent_up or config.executor.plays_shards:
        asked = retry_request.standing(asked, folder, tasks, outcomes, trials=config.trials)
        retries = sum(job.reopen_at is not None for job in pending_jobs(tasks, config.trials, outcomes, asked))
    ours = {(task.task_id, trial) for task in tasks for trial in range(config.trials)}
    judgeable = sum(is_judgeable(one, policy.dialect) for key, one in outcomes.items() if key in ours)
    known = about(config, tasks, folder)
    others = {(task_id, trial) for task_id in known.tasks for trial in range(known.trials)} - ours
    unscored = sum(key not in outcomes or score_of(outcomes[key], policy.dialect).status == UNSCORED for key in others)
    return StillPending(pending=len(jobs), judgeable=judgeable, retries=retries, others=unscored, spent=budget.spent_up)


def _interrupted(console: Terminal) -> int:
    console.print("interrupted; no recorded step is lost; run the same command to continue")
    return ExitCode.INTERRUPTED


@contextmanager
def _results(
    run: RunFolder, summary: Summary, left: StillPending, console: Terminal, *, begun: float
) -> Iterator[None]:
    """Write the results, and print them at the end, whether the disk takes their pages or not."""
    made_with = basis(run.path, summary.dialect, summary.statistics)
    run.write("summary.json", dumps(as_json(summary, made_with=made_with)) + b"\n")
    try:
        yield
    finally:
        told = baselines_of_run(run.path, summary.dialect)
        print_summary(console, _timed(summary, begun), str(run.path), left, baselines=told)


def _timed(summary: Summary, begun: float) -> Summary:
    """The same, with the time since the command began."""
    return replace(summary, invocation=replace(summary.invocation, wall_s=round(time.monotonic() - begun, 3)))


def _look_through(run: Run, is_wanted: bool, console: Terminal) -> Attributions:
    """Whose the failures are, as it is known then."""
    if is_wanted:
        call_all(FINDINGS, run, console.say)
    return read_attributions(run.folder)


def _summary(  # noqa: PLR0913 (what a summary says)
    config: Config, run: Run, found: Scan, tasks: Sequence[Task], *, invocation: Invocation, whose: Attributions
) -> Summary:
    outcomes, scoring = found.outcomes, config.scoring.value
    # Where tasks count that have not begun is read from `run.json` here, too, so that all later readers say the same.
    known = replace(about(config, tasks, run.folder), of_tasks=run.about.of_tasks)
    order = list(episodes_of(known))
    missing = unbegun([outcomes[key] for key in order if key in outcomes], known)
    results_of_missing = {(one.task_id, one.trial): one for one in missing}
    results = [results_of_missing.get(key) or result_of(outcomes[key], scoring, attributions=whose) for key in order]
    return summarize(
        config.run.id,
        results,
        scoring,
        invocation,
        weights=weights(config),
        notes=(*run.notes, *config.sites.visits.remarks),
    )


def _write_reports(  # noqa: PLR0913 (what reports are made of)
    config: Config, folder: RunFolder, tasks: Sequence[Task], found: Scan, *, console: Terminal, pages: bool
) -> None:
    run = Run(folder.path, scoring=config.scoring.value, scanned=found)
    write_reports(folder, about(config, tasks, folder.path), run, console=console)
    if pages:
        call_all(PAGES, run, console.say)
