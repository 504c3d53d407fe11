"""Makes the models, browsers and workers of a run together, and closes them together."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from harness.actions.truncate import cut
from harness.agents.kind import LaneServices
from harness.api import Action, ActionSet, Agent, Benchmark, CloseReason, Evaluator, JudgedEvaluator, PluginFailed, Task
from harness.browser.session.chromium import ChromiumPool
from harness.choices import ActionSetName, Dialect
from harness.collector import collect_rarely
from harness.config.deployment import Deployment
from harness.config.site_settings import SitesSettings
from harness.episode.attempt import StopRules, Termination, stop_rules
from harness.episode.recorder import EpisodeDeps
from harness.evaluation.action_classes import action_set_of
from harness.evaluation.agent_registry import session_kind
from harness.evaluation.builder import (
    agent_context,
    build_agent,
    build_benchmark,
    build_evaluators,
    build_judge,
    build_renderer,
    pending_policy,
)
from harness.evaluation.embedded import EmbeddedServers
from harness.evaluation.hidden_paths import hidden_paths
from harness.evaluation.run_context import WorkerContext
from harness.evaluators.judge import ModelJudge
from harness.evaluators.scorer import Scorer
from harness.protocols import EpisodeScorer, Phase, Progress, ProgressEvent, SessionAgent
from harness.records import EpisodeLimits, benchmark_of
from harness.runner.worker import Worker

if TYPE_CHECKING:
    from harness.evaluation.model_builder import Models

logger = logging.getLogger(__name__)

MODEL_CLIENT = "harness.llm.http_client"
"""The module whose library takes half a second of one processor to import."""
_LONGEST_WHY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPool:
    """The workers and browsers of a process."""

    workers: tuple[Worker, ...]
    browsers: tuple[ChromiumPool, ...]


@asynccontextmanager
async def build_workers(
    context: WorkerContext, services: EmbeddedServers, progress: Progress, numbers: range, *, lanes: int
) -> AsyncIterator[WorkerPool]:
    """Make the workers with these numbers; leaving the context closes their browsers and connections.

    Args:
        numbers: Of the workers; worker n has the lanes from n times `lanes` on.
        lanes: Of each worker.
    """
    config = context.config
    deployment = Deployment(config.sites, services.sites_port)
    benchmark = build_benchmark(config.task)
    collect_rarely()
    async with AsyncExitStack() as closing:
        browsers = tuple(
            [
                await closing.enter_async_context(chromium(context, deployment, _waits(progress), benchmark))
                for _ in numbers
            ]
        )
        for number, browser in zip(numbers, browsers, strict=True):
            browser.begin(number * lanes)
        models = await _models(context, closing, progress, numbers.start * lanes)
        further = build_evaluators(config, benchmark)
        evaluators = await _evaluators(context, models, further)

        async def deps(lane: int) -> EpisodeDeps:
            agent = await _agent(context, models, services.base_url, progress, lane=lane)
            return _deps(context, agent, evaluators, progress, benchmark=benchmark, further=further)

        # The first one at once: an agent that cannot be made is an error before any job is taken.
        made = {lane: await deps(lane) for lane in range(numbers.start * lanes, numbers.stop * lanes, lanes)}

        async def of_lane(lane: int) -> EpisodeDeps:
            return made.get(lane) or await deps(lane)

        workers = tuple(
            Worker(
                deps=of_lane,
                pool=browser,
                journals=lambda task, trial: context.run.journal(task.task_id, trial),
                policy=pending_policy(config),
            )
            for browser in browsers
        )
        gc.freeze()  # objects of libraries live as long as the process: exclude them from garbage collection
        yield WorkerPool(workers=workers, browsers=browsers)


async def _models(context: WorkerContext, closing: AsyncExitStack, progress: Progress, lane: int) -> "Models":
    from harness.evaluation.model_builder import Models

    if context.config.llm.kind != "none" or context.config.judge.model:
        # Meanwhile the browser can come up.
        await asyncio.to_thread(import_module, MODEL_CLIENT)

    def notice(text: str) -> None:
        logger.warning("%s", text)
        progress.tell(ProgressEvent(lane=lane, task_id="", phase=Phase.notice, note=text))

    return Models(
        llm=context.config.llm,
        prices=context.prices,
        closing=closing,
        stopping=context.stopping,
        rate_limiter=context.rate_limiter,
        redactor=context.run.redactor,
        notice=notice,
    )


def _deps(  # noqa: PLR0913 (what an episode depends on)
    context: WorkerContext,
    agent: Agent | SessionAgent,
    evaluators: dict[str, EpisodeScorer],
    progress: Progress,
    *,
    benchmark: Benchmark | None,
    further: Mapping[str, Evaluator],
) -> EpisodeDeps:
    config = context.config
    by_benchmark = {name: EpisodeLimits(**member["limits"]) for name, member in config.task.members.items()}
    judged = {name: one for name, one in further.items() if isinstance(one, JudgedEvaluator)}
    published, corrected = (
        {name: one.in_dialect(dialect.value) for name, one in judged.items()} for dialect in Dialect
    )
    apart = {name for name in judged if published[name] is not corrected[name]}
    return EpisodeDeps(
        agent=agent,
        evaluators=evaluators,
        artifacts=context.run.artifacts,
        checkpoints=context.run.checkpoints,
        limits=config.limits,
        limits_of=lambda task: by_benchmark.get(benchmark_of(task.task_id)),
        is_run_limited=(config.run.max_tokens, config.run.max_cost_usd) != (None, None),
        stop_rules_of=_stop_rules_of(benchmark, action_set_of(config.action_set.value, config.actions)),
        config_digest=context.config_digest,
        seed=config.run.seed,
        progress=progress,
        stopping=context.stopping,
        redactor=context.run.redactor,
        renderer=build_renderer(config),
        keeps_trajectory=lambda task: not judged.keys().isdisjoint(task.eval.eval_types),
        asks_apart=lambda task: not apart.isdisjoint(task.eval.eval_types),
    )


def _stop_rules_of(benchmark: Benchmark | None, action_set: ActionSet) -> Callable[[Task], StopRules]:
    """The benchmark's own rule, then the limits of the settings."""

    def ended(task: Task, actions: Sequence[Action], limits: EpisodeLimits) -> Termination | None:
        if benchmark is not None and (why := benchmark.stop(task, actions)) is not None:
            if not isinstance(why, str):
                raise PluginFailed(f"{type(benchmark).__name__}.stop returned {type(why).__name__}, not a sentence")
            return Termination(reason=CloseReason.DONE, detail=cut(" ".join(why.split()), _LONGEST_WHY))
        return stop_rules(actions, limits, action_set.same)

    return lambda task: partial(ended, task)


async def _agent(
    context: WorkerContext, models: "Models", base_url: str | None, progress: Progress, *, lane: int
) -> Agent | SessionAgent:
    def tell(note: str) -> None:
        progress.tell(ProgressEvent(lane=lane, task_id="", phase=Phase.retrying, note=note))

    config = context.config
    if (kind := session_kind(config.agent)) is None:
        return build_agent(config, await models.agent_model(base_url, tell, lane), context.ask_host)
    services = LaneServices(
        passthrough=lambda model: models.passthrough(base_url, tell, lane, model=model),
        stopping=context.stopping.asked,
        hidden=lambda: tuple(
            hidden_paths(config.run, config.task, config.tracking, config.llm.cache_dir, config.judge.cache_dir)
        ),
        say=lambda text: progress.tell(ProgressEvent(lane=lane, task_id="", phase=Phase.notice, note=text)),
    )
    return await kind.start(config.agent, agent_context(config), services)


async def _evaluators(
    context: WorkerContext, models: "Models", further: Mapping[str, Evaluator]
) -> dict[str, EpisodeScorer]:
    """Scorers of both dialects, the one that counts last: once its score is recorded, the other is, if it is to be."""
    config = context.config
    judge = build_judge(config.judge)
    if judge is None and config.judge.model:
        judge = ModelJudge(await models.judge_model(config.judge), name=config.judge.model)
    ordered = sorted(Dialect, key=lambda dialect: dialect is config.scoring)
    return {dialect.value: Scorer(dialect.value, judge, further=further) for dialect in ordered}


def _waits(progress: Progress) -> Callable[[int, str], None]:
    """Reports that a lane waits for a site, and then that it restores again."""

    def tell(lane: int, note: str) -> None:
        progress.tell(ProgressEvent(lane=lane, task_id="", phase=Phase.waiting if note else Phase.restoring, note=note))

    return tell


def chromium(
    context: WorkerContext,
    deployment: Deployment,
    tell: Callable[[int, str], None] = lambda lane, note: None,
    benchmark: Benchmark | None = None,
) -> ChromiumPool:
    """One browser as configured; it starts when it is first needed. `tell` gets the site that a lane waits for."""
    config = context.config
    kind = session_kind(config.agent)
    return ChromiumPool(
        replace(config.browser, allowed=_allowed(config.browser.allowed, config.sites)),
        observation=config.observation,
        # The set `cairn` promises that text is appended, whichever dialect shows the page.
        appends=config.action_set is ActionSetName.cairn,
        visits=config.sites.visits,
        shared=kind is not None and kind.drives_browser(config.agent),
        restoring=config.resume,
        sites=deployment.sites,
        checkpoints=context.run.checkpoints,
        tell=tell,
        benchmark=benchmark,
    )


def _allowed(said: str, sites: SitesSettings) -> str:
    return said if said != "auto" else "sites" if sites.embedded else "any"
