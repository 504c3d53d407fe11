"""What was paid for a decision that was not made is in the record of the failure, so that budgets see it."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from harness.api import Answer, ChatSettings, Decision, Episode, LiveObservation, Message, Task
from harness.episode.attempt import overspent
from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.episode.recorder import EpisodeDeps
from harness.errors import InfraError, PluginFailed, RequestRefused
from harness.llm.endpoint_model import EndpointModel
from harness.llm.exchange import Exchanger
from harness.llm.providers.chat import ChatCompletions
from harness.records import EpisodeLimits
from harness.testing import MemoryJournal, ScriptedPages, a_task
from tests.llm.test_endpoint_model import Waits, completion, mocked

ANSWER = Answer(text="", model="m", prompt_tokens=1, completion_tokens=1)


class Nobody:
    def tell(self, news: Any) -> None:
        return


class AsksTwice:
    """An agent that asks again, as one does whose first reply cannot be read; `decides`: what it gives back."""

    def __init__(self, model: EndpointModel, requests: int, decides: Any = None) -> None:
        self.model = model
        self.requests = requests
        self.decides = decides

    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        for _ in range(self.requests):
            await self.model.ask([Message(role="user", content="?")])
        return self.decides  # type: ignore[no-any-return]


async def failing(*statuses: int, requests: int, error: type[InfraError], stopping: bool = False) -> MemoryJournal:
    left, journal = list(statuses), MemoryJournal()

    def handler(_: httpx2.Request) -> httpx2.Response:
        usage = {"prompt_tokens": 40, "completion_tokens": 2}
        status = left.pop(0)
        return completion(usage=usage) if status == 200 else httpx2.Response(status, json={})

    settings = ChatSettings(model="m")
    async with EndpointModel(Exchanger(mocked(handler), settings, retrier=Waits().retrier(), prices={})) as model:
        deps = EpisodeDeps(
            agent=AsksTwice(model, requests),
            evaluators={},
            artifacts=journal.artifacts,
            checkpoints=journal.artifacts,
            limits=EpisodeLimits(),
            config_digest="c",
            seed=0,
            progress=Nobody(),
            stopping=lambda: stopping and len(left) < len(statuses),
        )
        with pytest.raises(error):
            await EpisodeRunner(deps, Job(task=a_task()), journal).play(nullcontext(ScriptedPages("page")))
    return journal


@pytest.mark.parametrize("stopping", [False, True])
async def test_a_request_that_is_refused_after_one_that_was_answered(stopping: bool) -> None:
    journal = await failing(200, 400, requests=2, error=RequestRefused, stopping=stopping)
    episode = journal.episode
    assert (episode.usage.tokens, episode.total_usage.tokens, episode.usage.requests) == (42, 42, 1)
    assert [failed.shared for failed in episode.failures] == [stopping]
    assert "tokens" in (overspent(replace(EpisodeLimits(), max_tokens=42), episode) or "")


async def test_an_agent_that_gives_back_no_decision() -> None:
    assert (await failing(200, requests=1, error=PluginFailed)).episode.total_usage.tokens == 42


async def test_a_failure_that_cost_nothing_is_the_line_that_it_was() -> None:
    journal = await failing(400, requests=1, error=RequestRefused)
    (failed,) = journal.episode.failures
    assert failed.usage.requests == 0 == journal.episode.total_usage.requests


@pytest.mark.parametrize(
    ("read", "why"),
    [
        (lambda content: {}["choices"], "cannot read an answer: KeyError: 'choices'"),
        (lambda content: None, "read an answer as NoneType, not as Answer"),
        (
            lambda content: replace(ANSWER, prompt_tokens=10.0),
            "gave Answer.prompt_tokens=10.0; it is an integer from 0",
        ),
        (
            lambda content: replace(ANSWER, cached_tokens=None),
            "gave Answer.cached_tokens=None; it is an integer from 0",
        ),
        (lambda content: replace(ANSWER, text=None), "gave Answer.text=None; it is a text"),
        (lambda content: replace(ANSWER, tool_calls=None), "gave Answer.tool_calls=None; it is a tuple of ToolCall"),
    ],
    ids=["raises", "None", "float count", "no count", "no text", "no calls"],
)
async def test_an_answer_that_its_provider_cannot_read(
    read: Callable[[bytes], Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChatCompletions, "read", lambda self, content: read(content))
    journal = await failing(200, requests=1, error=PluginFailed)
    (failed,) = journal.episode.failures
    assert failed.usage.requests == 1 and failed.message.endswith(why)
    assert failed.message.startswith("harness.llm.providers.chat.ChatCompletions, the provider 'chat',")
