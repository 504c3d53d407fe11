"""Chat requests against a real server, with its faults; only waiting is not real."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import httpx2
import pytest

from harness.api import ChatSettings, Message
from harness.errors import ConfigError, ModelRejected, ModelUnavailable, RequestRefused
from harness.llm.endpoint import Endpoint
from harness.llm.endpoint_model import EndpointModel
from harness.llm.exchange import Exchanger
from harness.llm.permits import Permit, PermitRequest, RequestOutcome, RequestResult
from harness.llm.prices import Price
from harness.llm.retry import Retrier, Timing
from harness.loopback_server import serving
from harness.plugins.demo.model.fault_injection import read_faults
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripts import Script, Scripts, ScriptStep
from harness.settings.models import EndpointSettings, RetryPolicy

PLANS = Scripts(by_intent={"Go back.": Script(task_id="1", steps=(ScriptStep(do="go_back"),))})
ASKED = (
    Message(role="system", content="click [id]"),
    Message(role="system", name="example_user", content="hello"),
    Message(role="user", content="OBSERVATION:\n\nURL:\nu\nOBJECTIVE:\nGo back.\nPREVIOUS ACTIONS:\nNone"),
)
KEY = "sk-very-secret-0123456789"


class Waits:
    """Time that passes only by sleeping, and a record of it."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.notices: list[str] = []

    def monotonic(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def retrier(self, **policy: Any) -> Retrier:
        timing = Timing(monotonic=self.monotonic, sleep=self.sleep, chance=lambda: 0.5)
        return Retrier(RetryPolicy(**policy), tell=self.notices.append, timing=timing)


def chat(endpoint: Endpoint, waits: Waits, *, prices: Any = None, **settings: Any) -> EndpointModel:
    given: dict[str, Any] = {"model": "scripted", "timeout_s": 5.0} | settings
    asked = ChatSettings(**given)
    return EndpointModel(Exchanger(endpoint, asked, retrier=waits.retrier(), prices=prices or {}))


@asynccontextmanager
async def scripted(*faults: dict[str, Any], waits: Waits, **settings: Any) -> AsyncIterator[tuple[EndpointModel, str]]:
    """A chat on the scripted endpoint, and the endpoint's address."""
    async with serving(endpoint_app(PLANS, read_faults(list(faults)))) as port:
        url = f"http://127.0.0.1:{port}"
        async with chat(Endpoint(EndpointSettings(base_url=f"{url}/v1", api_key=KEY)), waits, **settings) as model:
            yield model, url


async def requests_at(url: str) -> int:
    async with httpx.AsyncClient(verify=False) as client:  # reading certificates takes 25 ms
        return int((await client.get(f"{url}/__stats__")).json()["requests"])


def mocked(handler: Callable[[httpx2.Request], httpx2.Response], **further: Any) -> Endpoint:
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    given: dict[str, Any] = {"base_url": "http://model.test/v1"} | further
    return Endpoint(EndpointSettings(**given), http_client=client)


def completion(**further: Any) -> httpx2.Response:
    data = {"choices": [{"message": {"role": "assistant", "content": "hi"}}], "model": "m-2026"}
    return httpx2.Response(200, json=data | further)


async def test_an_answer_tells_text_model_tokens_and_one_request() -> None:
    waits = Waits()
    async with scripted(waits=waits) as (model, url):
        reply = await model.ask(ASKED)
        assert reply.text.endswith("```go_back```")
        assert reply.model == "scripted"
        assert reply.usage.requests == 1
        assert reply.usage.prompt_tokens > 0 and reply.usage.completion_tokens > 0
        assert not reply.usage.priced
        assert waits.slept == []
        assert await requests_at(url) == 1


@pytest.mark.parametrize("do", ["408", "409", "429", "500", "502", "503", "599", "cut", "malformed", "empty"])
async def test_what_may_pass_is_tried_again_and_counted(do: str) -> None:
    waits = Waits()
    async with scripted({"do": do, "on": {"first": 2}}, waits=waits) as (model, _):
        reply = await model.ask(ASKED)
        assert reply.text.endswith("```go_back```")
        assert reply.usage.requests == 3
        assert waits.slept == [0.75, 1.5]
        assert [one.rpartition("; ")[2] for one in waits.notices] == ["retrying in 0.8 s", "retrying in 1.5 s"]


async def test_a_hung_request_is_given_up_after_its_time_and_tried_again() -> None:
    waits = Waits()
    async with scripted({"do": "hang", "on": {"first": 1}}, waits=waits, timeout_s=1.5) as (model, _):
        assert (await model.ask(ASKED)).usage.requests == 2
        assert waits.notices[0].startswith("no answer within 1.5 s; ")


@pytest.mark.parametrize(
    ("do", "error"),
    [(status, ModelRejected) for status in ("401", "402", "403", "404")]
    + [(status, RequestRefused) for status in ("400", "413", "422")],
)
async def test_a_rejection_is_never_tried_again_and_tells_the_servers_words(do: str, error: type[Exception]) -> None:
    waits = Waits()
    async with scripted({"do": do}, waits=waits) as (model, url):
        with pytest.raises(error) as caught:
            await model.ask(ASKED)
        told = str(caught.value)
        assert f"HTTP {do}" in told and f"injected fault {do}" in told and "'scripted'" in told and f"{url}/v1" in told
        assert "\n" not in told and KEY not in told
        assert waits.slept == []
        assert await requests_at(url) == 1


async def test_after_the_last_attempt_the_error_tells_the_count_and_the_last_failure() -> None:
    waits = Waits()
    async with scripted({"do": "503"}, waits=waits) as (model, url):
        with pytest.raises(ModelUnavailable) as caught:
            await model.ask(ASKED)
        assert "after 8 requests; last error: HTTP 503: injected fault 503" in str(caught.value)
        assert await requests_at(url) == 8
        assert waits.slept == [0.75 * 2**n for n in range(6)] + [45.0], "doubled, with jitter, and capped"


async def test_retry_after_is_kept_to() -> None:
    waits = Waits()
    async with scripted({"do": "429", "retry_after": 90, "on": {"first": 1}}, waits=waits) as (model, _):
        assert (await model.ask(ASKED)).usage.requests == 2
        assert waits.slept == [90.5], "the wait asked for, and a little more so that not all come back at once"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "in an hour"}, 3600.5),
        ({"X-RateLimit-Reset-Requests": "2s", "x-ratelimit-reset-tokens": "1m0s"}, 60.5),
        ({"retry-after-ms": "200"}, 0.21),
    ],
)
async def test_every_way_of_asking_for_a_wait_is_understood(headers: dict[str, str], wait: float) -> None:
    waits = Waits()
    if headers.get("Retry-After") == "in an hour":  # from now, not from when the tests were collected
        headers = {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)}
    answers = [httpx2.Response(429, headers=headers), completion()]
    retrier = waits.retrier(max_retry_s=7200)
    settings = ChatSettings(model="m")
    async with EndpointModel(
        Exchanger(mocked(lambda _: answers.pop(0)), settings, retrier=retrier, prices={})
    ) as model:
        assert (await model.ask(ASKED)).usage.requests == 2
    assert waits.slept == [pytest.approx(wait, abs=30 if wait > 1000 else 1e-6)]


async def test_no_wait_goes_beyond_the_total_time() -> None:
    waits = Waits()
    async with scripted({"do": "429", "retry_after": 250}, waits=waits) as (model, _):
        with pytest.raises(ModelUnavailable, match="after 3 requests"):
            await model.ask(ASKED)
        assert sum(waits.slept) <= 600


async def test_a_connection_that_cannot_be_made_is_tried_again() -> None:
    waits = Waits()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        endpoint = Endpoint(EndpointSettings(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1"))
        async with chat(endpoint, waits) as model:
            with pytest.raises(ModelUnavailable, match="connection failed"):
                await model.ask(ASKED)
    assert len(waits.slept) == 7


async def test_cancelling_passes_at_once_and_is_not_an_attempt() -> None:
    waits = Waits()
    async with scripted({"do": "hang"}, waits=waits) as (model, _):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await model.ask(ASKED)
        assert waits.slept == []


async def refused_with(status: int, error: Any, **settings: Any) -> tuple[Exception, int]:
    """What is raised for an endpoint that always answers so, and after how many requests."""
    sent: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(status, json={"type": "error", "error": error})

    async with chat(mocked(handler), Waits(), **settings) as model:
        with pytest.raises((ModelRejected, ModelUnavailable, RequestRefused)) as caught:
            await model.ask(ASKED)
    return caught.value, len(sent)


NO_CREDIT = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade."


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}),
        (429, {"message": "No credits", "type": "insufficient_quota", "code": "credit_balance_exhausted"}),
        (400, {"message": NO_CREDIT, "type": "invalid_request_error"}),
        (400, {"message": "You have reached your specified API usage limits. You will regain access on 2026-12-01."}),
        (400, {"message": "You have reached your specified workspace API usage limits."}),
        (429, {"message": "You have reached your API usage limits", "type": "rate_limit_error"}),
        (402, {"message": "Insufficient credits", "metadata": {"limit_source": "openrouter_credits"}}),
    ],
)
@pytest.mark.parametrize("api", ["chat", "messages"])
async def test_an_exhausted_account_is_not_waited_for(status: int, error: Any, api: str) -> None:
    raised, requests = await refused_with(status, error, api=api)
    assert isinstance(raised, ModelRejected) and requests == 1
    assert error["message"].rstrip(".") in str(raised) and "check the account's quota" in str(raised)


def too_large(limit: int, requested: int) -> dict[str, Any]:
    message = (
        f"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit {limit}, Requested"
        f" {requested}. The input or output tokens must be reduced in order to run successfully."
    )
    return {"message": message, "type": "tokens", "code": "rate_limit_exceeded"}


async def test_a_prompt_larger_than_the_limit_is_refused_and_one_that_fits_in_it_waits() -> None:
    raised, requests = await refused_with(429, too_large(30_000, 61_337))
    assert isinstance(raised, RequestRefused) and requests == 1
    raised, requests = await refused_with(
        429, {"message": "The input or output tokens must be reduced in order to run"}
    )
    assert isinstance(raised, RequestRefused) and requests == 1
    raised, requests = await refused_with(429, too_large(250_000, 546))
    assert isinstance(raised, ModelUnavailable) and requests == 8


async def test_an_account_with_too_many_requests_on_their_way_waits() -> None:
    error = {"message": "Too many", "code": 402, "metadata": {"limit_source": "openrouter_in_flight_budget"}}
    raised, requests = await refused_with(402, error)
    assert isinstance(raised, ModelUnavailable) and requests == 8


async def test_a_request_that_failed_while_it_was_answered_is_sent_again() -> None:
    raised, requests = await refused_with(424, {"message": "Request failed during generation"})
    assert isinstance(raised, ModelUnavailable) and requests == 8


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "no", "code": 403, "metadata": {"reasons": ["violence"]}}, RequestRefused),
        ({"message": "no", "code": 403, "metadata": {"flagged_input": "…"}}, RequestRefused),
        ({"message": 'm requires moderation on Azure. Your input was flagged for "violence".'}, RequestRefused),
        ({"message": "Request blocked: prompt injection patterns detected"}, RequestRefused),
        ({"message": "The caller does not have permission"}, ModelRejected),
        ({"message": "Key limit exceeded", "metadata": {"limit_source": "openrouter_key_limit"}}, ModelRejected),
    ],
)
async def test_403_ends_the_run_unless_it_is_about_the_prompt(error: Any, kind: type[Exception]) -> None:
    raised, requests = await refused_with(403, error)
    assert type(raised) is kind and requests == 1


async def test_the_key_is_never_in_a_message_even_when_the_server_quotes_it() -> None:
    endpoint = mocked(
        lambda _: httpx2.Response(401, json={"error": {"message": f"bad key {KEY}"}}), api_key=f" {KEY}\n"
    )
    async with chat(endpoint, Waits()) as model:
        with pytest.raises(ModelRejected) as caught:
            await model.ask(ASKED)
        assert "bad key [key]" in str(caught.value)
    assert KEY not in repr(endpoint)


async def test_only_what_is_set_is_sent() -> None:
    sent: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return completion()

    async with chat(mocked(handler), Waits(), model="m") as model:
        await model.ask(ASKED)
    settings: dict[str, Any] = {"temperature": 0.0, "max_tokens": 9, "max_tokens_field": "max_completion_tokens"}
    async with chat(mocked(handler, api_key=KEY), Waits(), model="m", seed=3, extra_body={"x": 1}, **settings) as model:
        await model.ask(ASKED[:1])
    first, second = (json.loads(request.content) for request in sent)
    assert first == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "click [id]"},
            {"role": "system", "name": "example_user", "content": "hello"},
            {"role": "user", "content": ASKED[2].content},
        ],
    }
    assert second == {
        "model": "m",
        "messages": [{"role": "system", "content": "click [id]"}],
        "temperature": 0.0,
        "max_completion_tokens": 9,
        "seed": 3,
        "x": 1,
    }
    assert [request.headers["authorization"] for request in sent] == ["Bearer none", f"Bearer {KEY}"]


async def test_a_key_from_the_environment_goes_nowhere_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    seen: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.headers))
        return completion()

    async with chat(mocked(handler), Waits()) as model:
        await model.ask(ASKED)
    assert KEY not in seen[0]


@pytest.mark.parametrize(
    ("further", "text"),
    [
        ({"choices": [{"message": {"content": None}}]}, ""),
        ({"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}]}, "ab"),
        ({"usage": None}, "hi"),
        ({"usage": {"prompt_tokens": None, "completion_tokens": "x"}}, "hi"),
    ],
)
async def test_answers_of_less_strict_servers_are_read(further: dict[str, Any], text: str) -> None:
    async with chat(mocked(lambda _: completion(**further)), Waits()) as model:
        reply = await model.ask(ASKED)
        assert (reply.text, reply.usage.prompt_tokens, reply.usage.requests) == (text, 0, 1)


@pytest.mark.parametrize(
    "content", [b"<html>busy</html>", b"", b"[]", b'{"error": {"message": "no provider"}}', b"\xff"]
)
async def test_an_answer_that_is_no_completion_is_malformed(content: bytes) -> None:
    async with chat(mocked(lambda _: httpx2.Response(200, content=content)), Waits()) as model:
        with pytest.raises(ModelUnavailable, match="malformed answer"):
            await model.ask(ASKED)


@pytest.mark.parametrize(
    ("model", "cost", "priced"),
    [("m", 3e-6 * 10 + 5e-6 * 2, True), ("alias", 3e-6 * 10 + 5e-6 * 2, True), ("x", 0.0, False)],
)
async def test_cost_follows_the_users_table_and_an_unknown_model_is_unpriced(
    model: str, cost: float, priced: bool
) -> None:
    price = Price(prompt_per_mtok=3, completion_per_mtok=5)
    said = "m" if model == "alias" else "other"
    answer = {"model": said, "usage": {"prompt_tokens": 10, "completion_tokens": 2}}
    async with chat(mocked(lambda _: completion(**answer)), Waits(), model=model, prices={"m": price}) as asked:
        usage = (await asked.ask(ASKED)).usage
    assert usage.cost_usd == pytest.approx(cost)
    assert usage.priced is priced


class Counting:
    """Turns that are counted, with refusals that somebody watches over."""

    def __init__(self, *, waited_s: float = 0.0, closed_s: float | None = None) -> None:
        self.waited_s, self.closed_s = waited_s, closed_s
        self.wants: list[PermitRequest] = []
        self.endings: list[RequestResult] = []

    async def acquire(self, want: PermitRequest) -> Permit:
        self.wants.append(want)
        return Permit(end=self.endings.append, waited_s=self.waited_s, closed_s=self.closed_s)

    @property
    def open(self) -> int:
        return len(self.wants) - len(self.endings)


async def test_a_turn_is_taken_for_each_request_and_not_kept_while_waiting() -> None:
    turns = Counting(waited_s=2.0, closed_s=0.0)
    open_while_waiting: list[int] = []

    async def sleep(seconds: float) -> None:
        open_while_waiting.append(turns.open)

    def handler(_: httpx2.Request) -> httpx2.Response:
        assert turns.open == 1
        usage = {"prompt_tokens": 40, "completion_tokens": 2}
        return completion(usage=usage) if open_while_waiting else httpx2.Response(503, headers={"retry-after": "3"})

    retrier = Retrier(RetryPolicy(), timing=Timing(sleep=sleep))
    settings = ChatSettings(model="m", max_tokens=100)
    async with EndpointModel(
        Exchanger(mocked(handler), settings, retrier=retrier, prices={}, rate_limiter=turns)
    ) as model:
        reply = await model.ask(ASKED)
        assert (reply.text, reply.waited_s) == ("hi", 4.0)
        await model.ask(ASKED)
    assert open_while_waiting == [0]
    assert [ending.outcome for ending in turns.endings] == [
        RequestOutcome.failed,
        RequestOutcome.answered,
        RequestOutcome.answered,
    ]
    assert (turns.endings[0].wait_s, turns.endings[1].tokens) == (3.0, 42)
    prompt = turns.wants[0].tokens - 100
    assert prompt > 0 and turns.wants[2].tokens == prompt + 2, "the last reply's length is the next guess"


@pytest.mark.parametrize(("closed_s", "requests"), [(0.0, 21), (599.0, 21), (601.0, 1)])
async def test_a_refusal_waits_for_its_turn_and_is_no_failed_attempt(closed_s: float, requests: int) -> None:
    turns, waits = Counting(closed_s=closed_s), Waits()
    headers = {"retry-after": "7", "x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "0"}

    def handler(_: httpx2.Request) -> httpx2.Response:
        return completion() if len(turns.wants) > 20 else httpx2.Response(429, headers=headers)

    retrier = waits.retrier(max_attempts=2, max_retry_s=600.0)
    async with EndpointModel(
        Exchanger(mocked(handler), ChatSettings(model="m"), retrier=retrier, prices={}, rate_limiter=turns)
    ) as model:
        if requests == 1:
            with pytest.raises(ModelUnavailable, match="HTTP 429"):
                await model.ask(ASKED)
        else:
            assert (await model.ask(ASKED)).usage.requests == requests
    assert len(turns.wants) == requests
    assert [want.again for want in turns.wants] == [False, *[True] * (requests - 1)]
    assert turns.endings[0] == RequestResult(outcome=RequestOutcome.refused, wait_s=7.0)
    assert set(waits.slept) <= {0.0} and waits.notices == []


async def test_time_spent_waiting_for_turns_is_no_time_spent_retrying() -> None:
    turns, waits = Counting(waited_s=1000.0, closed_s=0.0), Waits()
    waits.slept.append(0.0)
    passed = [0.0]

    def handler(_: httpx2.Request) -> httpx2.Response:
        passed[0] += 1000.0
        return completion() if len(turns.wants) == 3 else httpx2.Response(503)

    timing = Timing(monotonic=lambda: passed[0] + waits.monotonic(), sleep=waits.sleep, chance=lambda: 0.5)
    retrier = Retrier(RetryPolicy(max_retry_s=60.0), timing=timing)
    async with EndpointModel(
        Exchanger(mocked(handler), ChatSettings(model="m"), retrier=retrier, prices={}, rate_limiter=turns)
    ) as model:
        assert (await model.ask(ASKED)).usage.requests == 3


@pytest.mark.parametrize(
    ("version", "address"),
    [
        (None, "https://me.openai.azure.com/openai/v1/chat/completions"),
        ("2024-10-21", "https://me.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2024-10-21"),
    ],
)
async def test_azure_is_reached_by_its_v1_api_or_by_a_dated_version(version: str | None, address: str) -> None:
    seen: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        assert KEY in str(dict(request.headers))
        return completion()

    endpoint = mocked(handler, base_url="https://me.openai.azure.com/", api_key=KEY, kind="azure", api_version=version)
    async with chat(endpoint, Waits(), model="gpt") as model:
        await model.ask(ASKED)
    assert seen == [address]


@pytest.mark.parametrize(
    "wrong",
    [{"base_url": "localhost:8000"}, {"base_url": None, "kind": "azure"}, {"api_key": "clé"}, {"api_key": "a\nb"}],
)
def test_a_wrong_endpoint_is_one_sentence(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"llm\."):
        Endpoint(EndpointSettings(**wrong))


def test_the_address_in_messages_has_no_credentials() -> None:
    assert Endpoint(EndpointSettings(base_url="https://me:pw@host/v1/?k=1")).label == "https://host/v1"
    assert Endpoint(EndpointSettings(base_url="https://me:p@ss@w@host/v1")).label == "https://host/v1"
    assert Endpoint(EndpointSettings(base_url="https://me:p?s@host/v1?k=1")).label == "https://host/v1"
    assert Endpoint(EndpointSettings(base_url="https://host/v1/@me/x")).label == "https://host/v1/@me/x"
    assert Endpoint(EndpointSettings()).label == "https://api.openai.com/v1"
