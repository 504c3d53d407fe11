"""Everything a run needs to play: servers, models, browsers and workers, started together and closed together."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.agents.prompt import read_prompt
from harness.agents.prompted import PromptedAgent
from harness.browser.session import Chromium
from harness.browser.settings import BrowserSettings, RestoreSettings
from harness.codec import dumps
from harness.compose.deployment import Deployment, canonical_bases
from harness.compose.game import Game
from harness.compose.model import Models, Requests, load_prices
from harness.compose.settings import policy
from harness.config import Config, Dialect
from harness.errors import ConfigError
from harness.evaluators.judge import Judge
from harness.evaluators.scoring import Scorer
from harness.llm.retrying import RetryNotice
from harness.protocols import Evaluator, News, Progress
from harness.records import Limits
from harness.runner.episode import Kit
from harness.runner.worker import Worker
from harness.sites.faults import read_faults
from harness.sites.launching import launched
from harness.sites.plans import read_plans


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """Who plays a run."""

    workers: tuple[Worker, ...]
    browsers: tuple[Chromium, ...]
    requests: Requests


@asynccontextmanager
async def crew(game: Game, progress: Progress) -> AsyncIterator[Crew]:
    """Start what the configuration asks for; leaving the context closes all of it."""
    config = game.config
    async with AsyncExitStack() as closing:
        sites_port = await _sites(game, closing) if config.sites.get("embedded") else None
        base_url = await _endpoint(game, closing) if _is_embedded_endpoint(config) else None
        requests = Requests()
        models = Models(config=config, requests=requests, prices=load_prices(config), closing=closing)
        evaluators = await _evaluators(config, models)
        deployment = Deployment(config, sites_port)
        kits: dict[int, Kit] = {}
        for lane in range(config.workers * config.executor.lanes):
            agent = await _agent(config, models, base_url, progress, lane=lane)
            kits[lane] = _kit(game, agent, evaluators, progress)
        browsers = tuple([await closing.enter_async_context(_browser(game, deployment)) for _ in range(config.workers)])
        workers = tuple(
            Worker(
                kit=kits.__getitem__,
                pool=browser,
                journals=lambda task, trial: game.run.journal(task.task_id, trial),
                policy=policy(config),
            )
            for browser in browsers
        )
        yield Crew(workers=workers, browsers=browsers, requests=requests)


def _kit(game: Game, agent: PromptedAgent, evaluators: dict[str, Evaluator], progress: Progress) -> Kit:
    config = game.config
    return Kit(
        agent=agent,
        evaluators=evaluators,
        artifacts=game.run.artifacts,
        checkpoints=game.run.checkpoints,
        limits=Limits(**vars(config.limits)),
        config_digest=game.config_digest,
        seed=config.run.seed,
        progress=progress,
        stopping=game.stopping,
    )


async def _agent(
    config: Config, models: Models, base_url: str | None, progress: Progress, *, lane: int
) -> PromptedAgent:
    def tell(notice: RetryNotice) -> None:
        note = f"{notice.why}; again in {notice.wait_s:.1f} s"
        progress.tell(News(lane=lane, task_id="", phase="retrying", note=note))

    return PromptedAgent(
        model=await models.agent_model(base_url, tell),
        prompt=read_prompt(vars(config.agent), action_set=config.action_set.value),
        action_set=config.action_set.value,
        max_observation_tokens=config.agent.max_observation_tokens,
        parsing_retries=config.agent.parsing_retries,
    )


async def _evaluators(config: Config, models: Models) -> dict[str, Evaluator]:
    """Both dialects, the one that counts last: when it is there, the other is too."""
    judge = Judge(await models.judge_model(config.judge)) if config.judge.model else None
    ordered = sorted(Dialect, key=lambda dialect: dialect is config.scoring)
    return {dialect.value: Scorer(dialect.value, judge) for dialect in ordered}


def _browser(game: Game, deployment: Deployment) -> Chromium:
    browser, resume = game.config.browser, game.config.resume
    settings = BrowserSettings(
        executable=browser.executable,
        headless=browser.headless,
        slow_mo_ms=browser.slow_mo_ms,
        viewport=(browser.width, browser.height),
        locale=browser.locale,
        timezone=browser.timezone,
        settle_timeout_s=browser.settle_timeout_s,
        action_timeout_s=browser.action_timeout_s,
        navigation_timeout_s=browser.navigation_timeout_s,
        step_deadline_s=browser.step_deadline_s,
        screenshots=browser.screenshots,
        dialect=game.config.observation.dialect.value,
        allowed=browser.allowed,
    )
    return Chromium(
        settings,
        restoring=RestoreSettings(strategy=resume.strategy.value, min_similarity=resume.min_similarity),
        sites=deployment.sites,
    )


async def _sites(game: Game, closing: AsyncExitStack) -> int:
    return await closing.enter_async_context(launched("harness.sites", log=game.run.path / "sites.log"))


def _is_embedded_endpoint(config: Config) -> bool:
    return config.llm.kind == "scripted" and config.llm.base_url is None


async def _endpoint(game: Game, closing: AsyncExitStack) -> str:
    llm, run = game.config.llm, game.run
    if llm.plans is None:
        raise ConfigError("llm.plans is not set: llm=scripted needs a plan file for these tasks, llm.plans=FILE")
    intents = {task.task_id: task.intent for task in game.tasks}
    placeholders = {f"__{name.upper()}__": base for name, base in canonical_bases(game.config).items()}
    read_plans(Path(llm.plans), intents, placeholders=placeholders)  # here, a wrong file can be told in one sentence
    read_faults(llm.faults)
    arguments = {
        "--intents": str(run.write("intents.json", dumps(intents))),
        "--plans": llm.plans,
        "--placeholders": dumps(placeholders).decode(),
        "--faults": dumps(llm.faults).decode(),
        "--latency-ms": str(llm.latency_ms),
    }
    pairs = [part for pair in arguments.items() for part in pair]
    port = await closing.enter_async_context(launched("harness.sites.endpoint", *pairs, log=run.path / "endpoint.log"))
    return f"http://127.0.0.1:{port}/v1"
