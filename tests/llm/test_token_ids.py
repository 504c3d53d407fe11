"""Token ids and log probabilities (`llm.token_ids`): asked for until an endpoint refuses, never at the cost of a request."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from harness.api import ChatSettings, Tokens
from harness.errors import ModelRejected, RequestRefused
from harness.llm.circuit_breaker import OutageWaiter
from harness.llm.endpoint import Endpoint
from harness.llm.endpoint_model import EndpointModel
from harness.llm.exchange import Exchanger
from harness.llm.passthrough import ForeignRequest, Passthrough
from harness.llm.permits import Unlimited
from harness.llm.providers.chat import ChatCompletions
from harness.llm.recorded_answer import tokens_of
from harness.llm.token_ids import TokenIds, without_tokens
from harness.loopback_server import serving
from harness.plugins.demo.model.fault_injection import read_faults
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.token_bytes import text_of_ids
from harness.secrets.redaction import Redactor
from harness.settings.models import EndpointSettings
from tests.llm.test_endpoint_model import ASKED, KEY, PLANS, Waits
from tests.llm.test_passthrough import WHOLE, Server

MESSAGES = [{"role": message.role, "content": message.content} for message in ASKED]


@asynccontextmanager
async def asking(
    token_ids: TokenIds, *, model: str = "scripted", faults: Any = ()
) -> AsyncIterator[tuple[EndpointModel, Passthrough, str]]:
    """Both ways to the scripted endpoint, which share what they know of it."""
    async with serving(endpoint_app(PLANS, read_faults(list(faults)))) as port:
        url = f"http://127.0.0.1:{port}"
        endpoint = Endpoint(EndpointSettings(base_url=f"{url}/v1", api_key=KEY))
        chat, retrier = ChatSettings(model=model, timeout_s=5.0), Waits().retrier()
        passthrough = Passthrough(
            Exchanger(endpoint, chat, retrier=retrier, prices={}),
            OutageWaiter(Unlimited(), max_outage_s=0.0),
            token_ids=token_ids,
        )
        try:
            async with EndpointModel(Exchanger(endpoint, chat, retrier=retrier, prices={}), token_ids=token_ids) as own:
                yield own, passthrough, url
        finally:
            await passthrough.close()


def foreign(**more: Any) -> ForeignRequest:
    return ForeignRequest(interface="chat", body=json.dumps({"model": "m", "messages": MESSAGES, **more}).encode())


async def requests_at(url: str) -> list[int]:
    async with httpx.AsyncClient() as client:
        return [one["status"] for one in (await client.get(f"{url}/__requests__")).json()]


async def test_an_own_agents_answer_has_the_tokens_that_spell_it() -> None:
    async with asking(TokenIds(wanted=True)) as (own, _, _):
        reply = await own.ask(ASKED)
    found = tokens_of("chat", reply.raw)
    assert found is not None and text_of_ids(found.completion_ids) == reply.text != ""
    assert len(found.logprobs) == len(found.completion_ids)
    assert all(isinstance(one, float) and one <= 0 for one in found.logprobs)
    assert "Go back." in text_of_ids(found.prompt_ids) and b'"return_token_ids":true' in reply.request


@pytest.mark.parametrize("stream", [False, True])
async def test_so_has_that_of_an_agents_process_streamed_or_not(stream: bool) -> None:
    async with asking(TokenIds(wanted=True)) as (own, passthrough, _):
        answer = await passthrough.send(foreign(stream=stream))
        said = (await own.ask(ASKED)).text
    found = tokens_of("chat", answer.body)
    assert found is not None and text_of_ids(found.completion_ids) == said
    assert len(found.logprobs) == len(found.completion_ids) and "Go back." in text_of_ids(found.prompt_ids)


async def test_nothing_is_asked_for_by_default_and_a_body_stays_byte_for_byte() -> None:
    async with asking(TokenIds()) as (own, passthrough, _):
        reply, answer = await own.ask(ASKED), await passthrough.send(foreign())
    assert tokens_of("chat", reply.raw) is None is tokens_of("chat", answer.body)
    assert b"token_ids" not in reply.request + reply.raw + answer.body and b"logprobs" not in reply.raw


async def test_an_endpoint_that_refuses_is_asked_once_and_no_request_is_lost() -> None:
    notices: list[str] = []
    token_ids = TokenIds(wanted=True, notice=notices.append)
    async with asking(token_ids, model="gpt-5-mini") as (own, passthrough, url):
        replies = [await own.ask(ASKED) for _ in range(3)]
        answer = await passthrough.send(foreign(model="gpt-5-mini"))
        statuses = await requests_at(url)
    assert statuses == [400, 200, 200, 200, 200] and answer.status == 200
    assert [reply.usage.requests for reply in replies] == [2, 1, 1] and len({reply.text for reply in replies}) == 1
    assert len(notices) == 1 and notices[0].startswith("no token ids: ") and "HTTP 400" in notices[0]
    assert tokens_of("chat", replies[0].raw) is None


async def test_a_request_that_is_wrong_without_them_too_says_nothing_of_the_endpoint() -> None:
    token_ids = TokenIds(wanted=True)
    faults = [{"do": "400", "on": {"first": 1}}]  # of each body
    async with asking(token_ids, faults=faults) as (own, _, url):
        with pytest.raises(RequestRefused):
            await own.ask(ASKED)
        reply = await own.ask(ASKED)
        assert await requests_at(url) == [400, 400, 200]
    assert tokens_of("chat", reply.raw) is not None


async def test_a_wrong_key_is_not_tried_twice() -> None:
    async with asking(TokenIds(wanted=True), faults=[{"do": "401"}]) as (own, _, url):
        with pytest.raises(ModelRejected):
            await own.ask(ASKED)
        assert await requests_at(url) == [401]


async def test_what_a_process_asks_itself_stays_as_it_is() -> None:
    server = Server(*[(200, json.dumps(WHOLE[name]).encode()) for name in ("chat", "messages")])
    async with serving(server) as port:
        endpoint = Endpoint(EndpointSettings(base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY))
        exchanger = Exchanger(endpoint, ChatSettings(model="m"), retrier=Waits().retrier(), prices={})
        waiter = OutageWaiter(Unlimited(), max_outage_s=0.0)
        passthrough = Passthrough(exchanger, waiter, token_ids=TokenIds(wanted=True))
        await passthrough.send(foreign(logprobs=False, x=1.0))
        await passthrough.send(ForeignRequest(interface="messages", body=b'{"model": "m", "messages":  []}'))
        await passthrough.close()
    first, second = server.seen[0][2], server.seen[1][2]
    assert json.loads(first) == {**foreign(logprobs=False, x=1.0).tree, "return_token_ids": True}
    assert second == b'{"model": "m", "messages":  []}', "that format has no token ids"


async def test_a_request_with_a_secret_keeps_no_ids_which_would_spell_it() -> None:
    token_ids = TokenIds(wanted=True, redact=Redactor({"PASSWORD": "hunter-2-go-back"}).data)
    secret = [*MESSAGES[:-1], {"role": "user", "content": f"hunter-2-go-back {MESSAGES[-1]['content']}"}]
    async with asking(token_ids) as (_, passthrough, _):
        plain = await passthrough.send(foreign())
        whole = await passthrough.send(foreign(messages=secret))
        streamed = await passthrough.send(foreign(messages=secret, stream=True))
    assert tokens_of("chat", plain.body) is not None
    for answer in (whole, streamed):
        assert tokens_of("chat", answer.body) is None and b"token" not in answer.body.replace(b"_tokens", b"")
        assert answer.usage.requests == 1 and answer.status == 200
    assert streamed.body.endswith(b"data: [DONE]\n\n")


def completion(choice: Any, **more: Any) -> bytes:
    return json.dumps({"choices": [choice], **more}).encode()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (completion({"token_ids": [5, 6]}, prompt_token_ids=[1]), ((1,), (5, 6), ())),
        (completion({"logprobs": {"content": [{"token": "token_id:5", "logprob": -0.5}]}}), ((), (5,), (-0.5,))),
        (completion({"logprobs": {"content": [{"token": "Tea", "logprob": -1}]}}), ((), (), (-1.0,))),
        (completion({"logprobs": {"content": [{"token": "token_id:5", "logprob": "x"}]}}), ((), (5,), (None,))),
        (completion({"token_ids": [5, True]}, prompt_token_ids=[1]), ((1,), (), ())),
        (completion({"token_ids": [-5]}, prompt_token_ids=[1 << 40]), None),
        (completion({"token_ids": "5", "logprobs": {"content": "x"}}, prompt_token_ids={}), None),
        (completion({"logprobs": {"content": [7]}}), None),
        (completion("x"), None),
        (b'{"choices": []}', None),
        (b"[]", None),
        (b"<html>", None),
    ],
)
def test_tokens_are_read_in_both_spellings_and_never_made_up(content: bytes, found: Any) -> None:
    expected = None if found is None else Tokens(prompt_ids=found[0], completion_ids=found[1], logprobs=found[2])
    assert ChatCompletions().tokens(content) == expected


def test_an_answer_without_tokens_is_the_same_else() -> None:
    content = completion(
        {"message": {"content": "Tea"}, "token_ids": [5], "logprobs": None}, prompt_token_ids=[1], id="a"
    )
    assert json.loads(without_tokens(content)) == {"choices": [{"message": {"content": "Tea"}}], "id": "a"}
    assert without_tokens(b"<html>") == b"<html>" and without_tokens(b"[1]") == b"[1]"
