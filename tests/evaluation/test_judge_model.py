"""The judge as a model of its own: interface, permits, retries and prices come from its settings."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from harness.api import ChatModel
from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.errors import ConfigError, ModelUnavailable
from harness.evaluation.builder import build_rate_limiter
from harness.evaluation.endpoint_settings import load_prices
from harness.evaluation.model_builder import Models
from harness.journal.store import RunFolder
from harness.llm.permits import Permit, PermitRequest, Unlimited
from harness.loopback_server import serving
from harness.plugins.demo.model.fault_injection import read_faults
from harness.plugins.demo.model.model_server import endpoint_app
from harness.records import Reply, Scored
from harness.runner.shutdown import ShutdownSignal
from harness.settings.models import JudgeSettings, LlmSettings
from tests.episode.test_episode import deps_of
from tests.llm.test_endpoint_model import ASKED, PLANS, requests_at
from tests.scored_runs import a_task, play, scored


async def judged(*faults: dict[str, Any], **settings: Any) -> tuple[Reply, int]:
    """A judge's reply from the scripted endpoint, and how many requests that took."""
    async with serving(endpoint_app(PLANS, read_faults(list(faults)))) as port, AsyncExitStack() as closing:
        llm, judge = LlmSettings(max_attempts=9), JudgeSettings(base_url=f"http://127.0.0.1:{port}/v1", **settings)
        limits, prices = build_rate_limiter(llm, judge), load_prices(llm)
        models = Models(llm=llm, prices=prices, closing=closing, stopping=ShutdownSignal(), rate_limiter=limits)
        model = await models.judge_model(judge)
        try:
            return await model.ask(ASKED), await requests_at(f"http://127.0.0.1:{port}")
        finally:
            assert limits.flow().sent == 0, "the count is that of the model under test"


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("model", ["gpt-5", "gpt-4o-mini"])
async def test_a_judge_needs_nothing_but_its_name(api: str, model: str) -> None:
    reply, requests = await judged(api=api, model=model)
    assert reply.text and requests == 1 and reply.usage.priced


@pytest.mark.slow
async def test_claude_judges_with_the_settings_of_its_preset() -> None:
    reply, _ = await judged(api="messages", model="claude-opus-4-7", temperature=None, max_tokens=8192)
    assert reply.text


async def test_a_judge_has_retries_of_its_own() -> None:
    with pytest.raises(ModelUnavailable) as given_up:
        await judged({"do": "503"}, model="m", max_attempts=1)
    assert given_up.value.requests == 1


async def test_a_judge_has_prices_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("m: {prompt: 1000000, completion: 0}\n")
    reply, _ = await judged(model="m", prices=str(path))
    assert reply.usage.cost_usd == reply.usage.prompt_tokens
    with pytest.raises(ConfigError, match=r"judge\.prices: .* cannot be read"):
        await judged(model="m", prices=str(tmp_path / "none.yaml"))


class Noting:
    """Grants every permit, and notes what was asked for."""

    def __init__(self) -> None:
        self.wants: list[PermitRequest] = []

    async def acquire(self, want: PermitRequest) -> Permit:
        self.wants.append(want)
        return await Unlimited().acquire(want)

    async def outage(self, why: str, requests: int) -> float | None:
        return None

    async def rejection(self) -> bool:
        return False


@dataclass
class Asking:
    """A scorer that asks a judge."""

    model: ChatModel

    async def score(self, *_: object) -> Scored:
        await self.model.ask(ASKED)
        return scored("corrected", 1.0)


async def test_a_judge_asks_for_the_lane_whose_episode_it_judges(run: RunFolder) -> None:
    task, noting = a_task("1"), Noting()
    play(run, task, "12")
    async with serving(endpoint_app(PLANS, [])) as port, AsyncExitStack() as closing:
        models = Models(
            llm=LlmSettings(),
            prices={},
            closing=closing,
            stopping=ShutdownSignal(),
            rate_limiter=noting,
        )
        judge = await models.judge_model(JudgeSettings(base_url=f"http://127.0.0.1:{port}/v1", model="m"))
        deps = replace(deps_of(run, stopping=False), evaluators={"corrected": Asking(judge)})
        with run.journal("1") as journal:
            await EpisodeRunner(deps, Job(task=task), journal, lane=3).score()
    assert [(want.lane, want.judge) for want in noting.wants] == [(3, True)]


async def test_a_judges_permits_are_its_own() -> None:
    limiter = build_rate_limiter(LlmSettings(max_concurrency=1), JudgeSettings(max_concurrency=1))
    await limiter.acquire(PermitRequest())
    await asyncio.wait_for(limiter.acquire(PermitRequest(judge=True)), 60)
    waiting = [asyncio.ensure_future(limiter.acquire(PermitRequest(judge=judge))) for judge in (False, True)]
    await asyncio.sleep(0)
    assert not any(one.done() for one in waiting) and limiter.flow().waiting == 1
    for one in waiting:
        one.cancel()
