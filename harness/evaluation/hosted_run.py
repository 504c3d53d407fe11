"""Hosts a run whose episodes are asked for while it goes on (`harness.api.hosting`)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.actions import ActionSet
from harness.api.hosting import EpisodeNews, HostingRequest
from harness.config import Config
from harness.config.config_validation import check_inputs
from harness.episode.job import Job, task_digest
from harness.errors import ConfigError, JournalError, UsageError
from harness.evaluation.action_classes import action_set_of
from harness.evaluation.build_locks import build_scheduler
from harness.evaluation.builder import build_rate_limiter, check_plugins, load_tasks
from harness.evaluation.endpoint_settings import load_prices
from harness.evaluation.executor_choice import run_with_executor
from harness.evaluation.forks import fork_trials
from harness.evaluation.orchestrator import keep_quiet, take_over, undamaged
from harness.evaluation.preflight import check_before
from harness.evaluation.run_context import RunContext
from harness.evaluation.run_description import check_drift, describe_run
from harness.evaluation.run_secrets import RunSecrets
from harness.evaluation.summary_cache import invalidate_summary
from harness.internal_error import flatten_group
from harness.journal.store import RunFolder
from harness.protocols import Phase, ProgressEvent
from harness.records import Task
from harness.reports.console import Terminal
from harness.runner.scheduler import Scheduler
from harness.runner.shutdown import ShutdownSignal
from harness.settings.observation import ObservationSettings
from harness.settings.run import RunSettings

_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


@asynccontextmanager
async def hosted_run(config: Config, request: HostingRequest) -> AsyncIterator["OpenRun"]:
    """See `harness.api.hosting.Hosting`.

    Raises:
        UsageError: The run cannot be begun.
    """
    _check_size(config, request.episodes)
    _check_budgets(config.run)
    _check_plan(config)
    _check_parts(config.observation, request)
    check_plugins(config)
    check_inputs(config.browser, config.executor)
    console, folder = Terminal(), Path(config.run.root, config.run.id)
    tasks = load_tasks(config)
    secrets = RunSecrets(config=config, tasks=tasks)
    _log_into(folder)
    redactor = keep_quiet(secrets, folder)
    with RunFolder.open(folder, durability=config.journal.durability, redactor=redactor) as run:
        take_over(folder)
        outcomes, accepted = undamaged(run).outcomes, console.say if config.resume.accept_drift else None
        digests = {task.task_id: task_digest(task) for task in tasks}
        config_digest = check_drift(config, run, tasks, digests=digests, outcomes=outcomes, accepted=accepted)
        stopping = ShutdownSignal(console.say)
        jobs, embedded = build_scheduler(config, run, tasks, outcomes=outcomes, stopping=stopping, is_open=True)
        # For all tasks, as any of them may be asked for.
        await check_before(config, folder, [Job(task=task) for task in tasks], outcomes, say=console.say)
        describe_run(
            config, run, tasks, config_digest=config_digest, is_begun=bool(outcomes), accepted=accepted, is_open=True
        )
        secrets.announce(console.say)
        invalidate_summary(run)
        context = RunContext(
            config=config,
            run=run,
            secrets=secrets,
            tasks=tasks,
            config_digest=config_digest,
            prices=load_prices(config.llm),
            arguments=request.overrides,
            say=console.say,
            stopping=stopping,
            rate_limiter=build_rate_limiter(config.llm, config.judge, console.say, outcomes),
            embedded=embedded,
            ask_host=request.answer,
            episodes=request.episodes,
        )
        playing = asyncio.create_task(run_with_executor(context, jobs, _News(request)))
        hosted = OpenRun(context=context, jobs=jobs, playing=playing)
        releasing = asyncio.create_task(hosted.release())
        try:
            await hosted.begun()
            yield hosted
        finally:
            stopping.ask()
            # `wait` raises nothing, so an error of the body is not hidden; `check` raises that of the run.
            await asyncio.wait((playing, releasing))
        hosted.check()


def _log_into(folder: Path) -> None:
    # Only `hydra.main` configures logging, and a hosting command does not start by it.
    # Made with its first line: a start that is refused leaves neither the log nor its folder.
    log = logging.FileHandler(folder / "run.log", encoding="utf-8", delay=True)
    logging.basicConfig(handlers=[log], level=logging.INFO, format=_FORMAT)


def _check_size(config: Config, episodes: int) -> None:
    """Raises: ConfigError: There are lanes for fewer episodes, or shards, which cannot be played on demand."""
    if config.executor.plays_shards or config.task.shard:
        raise ConfigError("executor=slurm and task.shard play tasks in shards, not on demand; choose another executor")
    workers, lanes = config.workers, config.executor.lanes
    if workers is not None and lanes is not None and workers * lanes < episodes:
        raise ConfigError(
            f"workers={workers} executor.lanes={lanes} play {workers * lanes} episodes at the same time, fewer than the"
            f" {episodes} that are to be served; raise one of them, or leave both out"
        )


def _check_budgets(run: RunSettings) -> None:
    """Raises: ConfigError: There is a budget of a whole run, whose end would be that of all clients."""
    for name in ("max_tokens", "max_cost_usd", "max_working_s"):
        if getattr(run, name) is not None:
            raise ConfigError(
                f"run.{name} ends a run whose tasks are known, and here they are asked for one by one; leave it out, or"
                f" limit each episode by limits.{name}"
            )


def _check_plan(config: Config) -> None:
    """Raises: ConfigError: A setting says what is played, which clients decide here."""
    run = config.run
    given = {"run.fork": run.fork, "run.retry": run.retry, "run.dry": run.dry, "trials": config.trials != 1}
    if name := next((name for name, is_given in given.items() if is_given), ""):
        raise ConfigError(
            f"{name} is for a run that plays its tasks by itself, and here they are asked for one by one; leave it out"
        )


def _check_parts(observation: ObservationSettings, request: HostingRequest) -> None:
    """Raises: ConfigError: A part of the observation cannot be shown to who decides."""
    if observation.parts - request.shows:
        raise ConfigError(
            f"observation.type={observation.type} cannot be shown to clients; choose one of"
            f" {', '.join(sorted(part.value for part in request.shows))}, or several joined by +"
        )


@dataclass(frozen=True, slots=True)
class _News:
    """A `Progress` that tells what concerns whole episodes."""

    request: HostingRequest

    def tell(self, event: ProgressEvent) -> None:
        if event.task_id and event.phase in (Phase.ended, Phase.retrying):
            is_over = event.phase is Phase.ended
            self.request.tell(EpisodeNews(task_id=event.task_id, trial=event.trial, is_over=is_over, note=event.note))
        elif event.phase is Phase.stalled:
            self.request.stalled(event.note)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A `harness.api.hosting.HostedRun`."""

    context: RunContext
    jobs: Scheduler
    playing: "asyncio.Task[object]"
    broken: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Fails with what a job could not be queued for, and would have ended `harness run`."""

    @property
    def folder(self) -> Path:
        return self.context.run.path

    @property
    def tasks(self) -> Mapping[str, Task]:
        return {task.task_id: task for task in self.context.tasks}

    @property
    def action_set(self) -> ActionSet:
        config = self.context.config
        return action_set_of(config.action_set.value, config.actions)

    @property
    def observation(self) -> ObservationSettings:
        return self.context.config.observation

    async def play(self, task_id: str, trial: int, seed: int | None) -> None:
        try:
            await self.jobs.add(Job(task=self.tasks[task_id], trial=trial, seed=seed))
        except (UsageError, JournalError) as error:
            self._break(error)
            raise

    def withdraw(self, task_id: str, trial: int) -> bool:
        try:
            return self.jobs.withdraw(task_id, trial)
        except (UsageError, JournalError) as error:
            # It is out of the queue; another one could not be given what was kept for it.
            self._break(error)
            return True

    def held_up(self, task_id: str, trial: int) -> str:
        return self.jobs.held_up(task_id, trial)

    def _break(self, error: UsageError | JournalError) -> None:
        if not self.broken.done():
            self.broken.set_exception(error)

    async def fork(self, task_id: str, trial: int, step: int, trials: Sequence[int]) -> None:
        await asyncio.to_thread(fork_trials, self.context.run, self.tasks[task_id], trial, step=step, trials=trials)

    def stopping(self) -> bool:
        return self.context.stopping()

    async def stopped(self) -> None:
        asked = asyncio.create_task(self.context.stopping.asked())
        await asyncio.wait((asked, self.playing, self.broken), return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        self.check()

    async def begun(self) -> None:
        """Wait until workers are being started.

        Raises:
            HarnessError: They are not.
        """
        begun = asyncio.create_task(self.context.begun.wait())
        await asyncio.wait((begun, self.playing), return_when=asyncio.FIRST_COMPLETED)
        begun.cancel()
        self.check()

    async def release(self) -> None:
        """Let idle lanes end once the run is to stop."""
        await self.context.stopping.asked()
        self.jobs.look_again()

    def check(self) -> None:
        """Raises: HarnessError: The run has ended because of it."""
        if self.broken.done():
            self.broken.result()
        if not self.playing.done() or self.playing.cancelled() or (error := self.playing.exception()) is None:
            return
        raise flatten_group(error)[0] if isinstance(error, BaseExceptionGroup) else error
