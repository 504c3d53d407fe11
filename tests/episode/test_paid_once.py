"""A decision that asks its model more than once: no answered request is sent again, and each is counted once."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from typing import Any

import httpx2
import pytest

from harness.actions import Action, Stop
from harness.api import ChatModel, ChatSettings, Decision, Episode, LiveObservation, Message, Reply, Task
from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.episode.recorder import EpisodeDeps
from harness.errors import HarnessError, InfraError, RequestRefused
from harness.llm.decision_replies import JournaledModel
from harness.llm.endpoint_model import EndpointModel
from harness.llm.exchange import Exchanger
from harness.llm.request_digest import RequestDigest
from harness.records import EpisodeLimits, Failed, Replied, Usage
from harness.testing import MemoryJournal, ScriptedPages, a_task
from tests.llm.test_endpoint_model import Waits, completion, mocked
from tests.waiting import until

PAID = {"prompt_tokens": 40, "completion_tokens": 2}
Asks = Callable[[ChatModel], Awaitable[Reply]]


class Nobody:
    def tell(self, news: Any) -> None:
        return


class Agent:
    def __init__(self, model: ChatModel, asks: Asks) -> None:
        self.model, self.asks = model, asks

    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        reply = await self.asks(self.model)
        return Decision(action=Stop(answer=reply.text), reply=reply, messages=())


class Wire:
    """What was asked, and what is answered; a text of `held` is not answered, one of `refused` with status 400."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.held: set[str] = set()
        self.refused: set[str] = set()
        self.holds = asyncio.Event()

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        text = json.loads(request.content)["messages"][0]["content"]
        self.asked.append(text)
        if text in self.held:
            self.holds.set()
            await asyncio.Event().wait()
        if text in self.refused:
            return httpx2.Response(400, json={})
        answer = {"role": "assistant", "content": f"{text}, answer {self.asked.count(text)}"}
        return completion(usage=PAID, choices=[{"message": answer}])


async def play(
    journal: MemoryJournal, wire: Wire, asks: Asks, *, killed: bool = False, pages: ScriptedPages | None = None
) -> None:
    """Play the episode from where its journal ends; `killed`: when a request is held."""
    endpoint: Any = wire
    settings = ChatSettings(model="m")
    async with EndpointModel(Exchanger(mocked(endpoint), settings, retrier=Waits().retrier(), prices={})) as model:
        deps = EpisodeDeps(
            agent=Agent(JournaledModel(model, model, RequestDigest(model, address={}, redact=bytes)), asks),
            evaluators={},
            artifacts=journal.artifacts,
            checkpoints=journal.artifacts,
            limits=EpisodeLimits(),
            config_digest="c",
            seed=0,
            progress=Nobody(),
            stopping=lambda: False,
        )
        playing = asyncio.create_task(
            EpisodeRunner(deps, Job(task=a_task()), journal).play(nullcontext(pages or ScriptedPages("page")))
        )
        if killed:
            await wire.holds.wait()
            playing.cancel()
            await asyncio.wait([playing])
        else:
            await playing


async def said(model: ChatModel, text: str) -> Reply:
    return await model.ask([Message(role="user", content=text)])


async def one_after_the_other(model: ChatModel) -> Reply:
    first = await said(model, "a")
    return (await said(model, "b")).after(first)


async def side_by_side(model: ChatModel) -> Reply:
    replies = await asyncio.gather(*(said(model, text) for text in "aabc"), return_exceptions=True)
    total = Reply()
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply
        total = reply.after(total)
    return total


def kinds(journal: MemoryJournal) -> list[str]:
    return [record.kind for record in journal.records]


async def test_who_asks_once_has_no_record_more() -> None:
    journal, wire = MemoryJournal(), Wire()
    await play(journal, wire, lambda model: said(model, "a"))
    assert kinds(journal) == ["opened", "acted", "decided", "closed"]


async def test_an_earlier_reply_is_on_record_before_the_next_request_and_counted_once() -> None:
    journal, wire = MemoryJournal(), Wire()
    await play(journal, wire, one_after_the_other)
    assert kinds(journal) == ["opened", "acted", "replied", "decided", "closed"]
    episode = journal.episode
    assert episode.pending is not None and episode.pending.usage.tokens == 84, "of the whole step"
    assert (episode.usage.tokens, episode.total_usage.requests, episode.spent()[1].tokens) == (84, 2, 84)
    assert episode.replied[0].response in episode.pending.earlier_responses


async def test_a_kill_during_the_next_request_costs_that_request_only() -> None:
    journal, wire = MemoryJournal(), Wire()
    wire.held.add("b")
    await play(journal, wire, one_after_the_other, killed=True)
    assert kinds(journal) == ["opened", "acted", "replied"] and journal.episode.usage.tokens == 42
    wire.held.clear()
    await play(journal, wire, one_after_the_other)
    assert wire.asked == ["a", "b", "b"]
    episode = journal.episode
    assert episode.pending is not None and episode.pending.action == Stop(answer="b, answer 2")
    assert (episode.pending.usage.tokens, episode.usage.tokens, episode.usage.requests) == (84, 84, 2)
    assert len(episode.pending.earlier_responses) == 1


async def test_a_kill_while_sites_are_asked_costs_no_reply() -> None:
    journal, wire = MemoryJournal(), Wire()

    class SlowSites(ScriptedPages):
        async def ask_sites(self, action: Action) -> Mapping[str, str]:
            await until(lambda: kinds(journal)[-1] == "replied")
            wire.holds.set()
            await asyncio.Event().wait()
            raise AssertionError

    await play(journal, wire, lambda model: said(model, "a"), killed=True, pages=SlowSites("page"))
    assert kinds(journal) == ["opened", "acted", "replied"]
    await play(journal, wire, lambda model: said(model, "a"))
    episode = journal.episode
    assert wire.asked == ["a"] and episode.pending is not None
    assert (episode.pending.usage.tokens, episode.usage.tokens, episode.usage.requests) == (42, 42, 1)


async def test_of_requests_side_by_side_those_that_were_answered_are_not_sent_again() -> None:
    journal, wire = MemoryJournal(), Wire()
    wire.refused.add("c")
    with pytest.raises(RequestRefused):
        await play(journal, wire, side_by_side)
    (failed,) = journal.episode.failures
    assert failed.usage.tokens == 0 and journal.episode.usage.tokens == 3 * 42
    wire.refused.clear()
    await play(journal, wire, side_by_side)
    assert sorted(wire.asked) == ["a", "a", "b", "c", "c"]
    episode = journal.episode
    assert (episode.total_usage.tokens, episode.total_usage.requests) == (4 * 42, 4)
    assert len({one.key for one in episode.replied}) == len(episode.replied)


async def test_equal_requests_of_a_decision_keep_their_own_replies() -> None:
    journal, wire = MemoryJournal(), Wire()
    texts: list[str] = []

    async def thrice(model: ChatModel) -> Reply:
        replies = [await said(model, "a"), await said(model, "a"), await said(model, "b")]
        texts[:] = [reply.text for reply in replies]
        return replies[2].after(replies[1].after(replies[0]))

    wire.held.add("b")
    await play(journal, wire, thrice, killed=True)
    wire.held.clear()
    await play(journal, wire, thrice)
    assert texts == ["a, answer 1", "a, answer 2", "b, answer 2"] and wire.asked == ["a", "a", "b", "b"]


class Mute(Exception):
    """One that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Panic(BaseException):
    """As an extension in Rust raises."""


@pytest.mark.parametrize(
    "error", [ValueError("of the agent"), SystemExit(0), Mute(), Panic("at"), asyncio.CancelledError()]
)
async def test_a_reply_that_the_agent_itself_failed_at_is_not_given_to_it_again(error: BaseException) -> None:
    journal, wire = MemoryJournal(), Wire()

    async def fails(model: ChatModel) -> Reply:
        await said(model, "a")
        raise error

    with pytest.raises(
        InfraError, match=r"of the agent|unexpected (SystemExit: 0|Mute: |Panic: at)$|agent raised CancelledError"
    ):
        await play(journal, wire, fails)
    assert kinds(journal) == ["opened", "acted", "failed"] and journal.episode.usage.tokens == 42
    await play(journal, wire, lambda model: said(model, "a"))
    assert wire.asked == ["a", "a"]


async def test_an_agent_that_adds_nothing_up_loses_no_cost() -> None:
    journal, wire = MemoryJournal(), Wire()

    async def last(model: ChatModel) -> Reply:
        await said(model, "a")
        return await said(model, "b")

    await play(journal, wire, last)
    episode = journal.episode
    assert episode.pending is not None and episode.pending.usage.tokens == 42
    assert (episode.usage.tokens, episode.usage.requests, episode.spent()[1].tokens) == (84, 2, 84)


async def test_what_is_asked_after_the_decision_leaves_no_record() -> None:
    journal, wire = MemoryJournal(), Wire()
    late: list[asyncio.Task[Reply]] = []

    async def leaves_one_running(model: ChatModel) -> Reply:
        reply = await said(model, "a")
        late.append(asyncio.create_task(said(model, "b")))
        return reply

    await play(journal, wire, leaves_one_running)
    await asyncio.wait(late)
    assert kinds(journal) == ["opened", "acted", "decided", "closed"]


def test_a_part_of_a_usage_is_left_out_and_nothing_becomes_negative() -> None:
    whole = Usage(prompt_tokens=5, completion_tokens=3, cost_usd=0.3, requests=2, from_cache=1)
    part = Usage(prompt_tokens=2, completion_tokens=3, cost_usd=0.1 + 0.2, requests=1)
    left = whole.without(part)
    assert (left.prompt_tokens, left.completion_tokens, left.requests, left.from_cache) == (3, 0, 1, 1)
    assert left.cost_usd == 0.0


def test_a_reply_has_its_place_in_a_journal() -> None:
    journal = MemoryJournal()
    replied = Replied(step=1, key="k", model="m", usage=Usage(requests=1), response="0" * 64, at=1.0)
    with pytest.raises(HarnessError, match="replied before the episode was opened"):
        journal.append(replied)
    assert not isinstance(replied, Failed)
