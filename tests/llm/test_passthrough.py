"""Requests that somebody else wrote, passed on over real HTTP: byte for byte, retried, counted and priced."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from harness.api import ChatSettings
from harness.errors import ConfigError, ModelUnavailable
from harness.llm.circuit_breaker import REJECTED, OutageWaiter
from harness.llm.endpoint import Endpoint
from harness.llm.exchange import Exchanger
from harness.llm.limiter import Limiter
from harness.llm.passthrough import ForeignRequest, NotARequest, Passthrough
from harness.llm.permits import Permit, PermitRequest, RateLimiter, Unlimited
from harness.llm.prices import Price
from harness.llm.token_ids import TokenIds
from harness.loopback_server import serving
from harness.settings.models import EndpointSettings
from tests.llm.test_endpoint_model import KEY, Waits, mocked

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
PRICE = Price(prompt_per_mtok=1e6, completion_per_mtok=1e6)
ODD = b'{"model":  "m",\n "stream" : true, "x": [1.0, 1e2, "\\u00e9"] }'
"""No serializer would write it again in the same way."""

WHOLE: dict[str, Any] = {
    "chat": {
        "model": "m-1",
        "choices": [{"message": {"role": "assistant", "content": "Tea"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    },
    "responses": {
        "model": "m-1",
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Tea"}]}],
        "usage": {"input_tokens": 7, "output_tokens": 2},
    },
    "messages": {
        "model": "m-1",
        "content": [{"type": "text", "text": "Tea"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 7, "output_tokens": 2},
    },
}


def events(*parts: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(part).encode() + b"\n\n" for part in parts)


STREAMED = {
    "chat": events(
        {"model": "m-1", "choices": [{"delta": {"content": "Te"}}]},
        {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}},
    )
    + b"data: [DONE]\n\n",
    "responses": events(
        {"type": "response.created", "response": {"status": "in_progress"}},
        {"type": "response.completed", "response": WHOLE["responses"]},
    ),
    "messages": b"event: message_start\n"
    + events(
        {"type": "message_start", "message": {"model": "m-1", "content": [], "usage": {"input_tokens": 7}}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Tea"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ),
}


class Server:
    """Answers with what it is given, and keeps what it was sent."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self.answers = list(answers)
        self.seen: list[tuple[str, dict[str, str], bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.seen.append((scope["path"], headers, body))
        status, answer = self.answers.pop(0)
        kind = b"application/json" if answer.startswith(b"{") else b"text/event-stream"
        named = [(b"content-type", kind), (b"x-request-id", b"req-1"), (b"set-cookie", b"a=b")]
        await send({"type": "http.response.start", "status": status, "headers": named})
        await send({"type": "http.response.body", "body": answer})


def passthrough_at(
    port: int, *, model: str | None = None, limiter: RateLimiter | None = None, token_ids: TokenIds | None = None
) -> Passthrough:
    endpoint = Endpoint(EndpointSettings(base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY))
    settings = ChatSettings(model="other", timeout_s=5.0)
    turns, retrier = limiter or Unlimited(), Waits().retrier(max_attempts=3)
    exchanger = Exchanger(endpoint, settings, retrier=retrier, prices={"m": PRICE}, rate_limiter=turns)
    return Passthrough(exchanger, OutageWaiter(turns, max_outage_s=0.0), model=model, token_ids=token_ids)


@asynccontextmanager
async def passing(server: Server, *, model: str | None = None) -> AsyncIterator[Passthrough]:
    async with serving(server) as port:
        passthrough = passthrough_at(port, model=model)
        try:
            yield passthrough
        finally:
            await passthrough.close()


each_interface = pytest.mark.parametrize("interface", PATHS)


@each_interface
@pytest.mark.parametrize("streamed", [False, True])
async def test_every_byte_passes_both_ways_and_is_counted(interface: str, streamed: bool) -> None:
    said = STREAMED[interface] if streamed else json.dumps(WHOLE[interface]).encode()
    server = Server((200, said))
    async with passing(server) as passthrough:
        answer = await passthrough.send(
            ForeignRequest(interface=interface, body=ODD, headers={"anthropic-beta": "computer-use"})
        )
    path, headers, body = server.seen[0]
    assert (path, body, answer.body) == (PATHS[interface], ODD, said)
    assert KEY in (headers.get("authorization", "") + headers.get("x-api-key", ""))
    assert headers["anthropic-beta"] == "computer-use"
    assert (answer.model, answer.usage.prompt_tokens, answer.usage.completion_tokens) == ("m-1", 7, 2)
    assert (answer.usage.requests, answer.usage.cost_usd, answer.request_id) == (1, 9.0, "req-1")
    assert "set-cookie" not in answer.headers


@each_interface
async def test_later_requests_are_sent_as_the_first(interface: str) -> None:
    """Only the first is made by the provider's package."""
    said = json.dumps(WHOLE[interface]).encode()
    server, bodies = Server(*[(200, said)] * 4), [ODD, ODD + b" ", ODD, ODD]
    betas = [{"anthropic-beta": "a"}, {"anthropic-beta": "a"}, {"anthropic-beta": "b"}, {}]
    async with passing(server) as passthrough:
        for body, headers in zip(bodies, betas, strict=True):
            await passthrough.send(ForeignRequest(interface=interface, body=body, headers=headers))
    paths, sent, got = zip(*server.seen, strict=True)
    assert set(paths) == {PATHS[interface]} and list(got) == bodies
    assert [headers.get("anthropic-beta") for headers in sent] == ["a", "a", "b", None]
    assert [int(headers["content-length"]) for headers in sent] == [len(body) for body in bodies]
    different = {"content-length", "anthropic-beta", "cookie"}
    plain = [{name: value for name, value in headers.items() if name not in different} for headers in sent]
    assert plain == [plain[0]] * 4
    assert "cookie" not in sent[1], "it would be that of the first request for good"


@each_interface
async def test_errors_are_the_same_whether_the_package_made_the_request_or_not(interface: str) -> None:
    whole = json.dumps(WHOLE[interface]).encode()
    refused = json.dumps({"error": {"message": f"no tool x for {KEY}"}}).encode()
    request = ForeignRequest(interface=interface, body=ODD)
    server = Server((400, refused), (200, whole), (400, refused), (500, b"<p>busy"), (200, whole), (401, b"{}"))
    async with passing(server) as passthrough:
        first, _, third, fourth = [await passthrough.send(request) for _ in range(4)]
        assert first == third and first.status == 400 and fourth.usage.requests == 2
        assert (await passthrough.send(request)).status == 401


async def test_a_server_that_goes_away_is_asked_again_and_then_given_up() -> None:
    request = ForeignRequest(interface="chat", body=ODD)
    async with serving(Server((200, json.dumps(WHOLE["chat"]).encode()))) as port:
        passthrough = passthrough_at(port)
        await passthrough.send(request)
    with pytest.raises(ModelUnavailable, match="after 3 requests; last error: connection failed"):
        await passthrough.send(request)
    await passthrough.close()


@each_interface
async def test_a_stream_that_is_cut_off_is_asked_for_again(interface: str) -> None:
    whole = STREAMED[interface]
    server = Server((200, whole[: len(whole) // 2]), (503, b"{}"), (200, whole))
    async with passing(server) as passthrough:
        answer = await passthrough.send(ForeignRequest(interface=interface, body=ODD))
    assert answer.body == whole and answer.usage.requests == 3


@pytest.mark.parametrize(
    ("version", "addresses"),
    [
        (None, ["v1/chat/completions"] * 4),
        (
            "2024-10-21",
            [f"deployments/{name}/chat/completions?api-version=2024-10-21" for name in ("m", "small", "m", "a%2Fb")],
        ),
    ],
)
async def test_azure_is_asked_for_the_deployment_that_the_body_names(version: str | None, addresses: list[str]) -> None:
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json=WHOLE["chat"])

    resource = "https://me.openai.azure.com"
    endpoint = mocked(handler, base_url=resource, api_key=KEY, kind="azure", api_version=version)
    exchanger = Exchanger(endpoint, ChatSettings(model="m"), retrier=Waits().retrier(), prices={})
    passthrough = Passthrough(exchanger, OutageWaiter(Unlimited(), max_outage_s=0.0))
    bodies = [ODD, b'{"model": "small"}', ODD, b'{"model": "a/b"}']
    for body in bodies:
        assert (await passthrough.send(ForeignRequest(interface="chat", body=body))).status == 200
    assert [str(request.url) for request in seen] == [f"{resource}/openai/{one}" for one in addresses]
    assert [request.content for request in seen] == bodies
    assert all(KEY in str(dict(request.headers)) for request in seen)


async def test_a_null_in_a_streamed_message_takes_no_count_back() -> None:
    begun = {"input_tokens": 1000, "cache_read_input_tokens": 5000, "cache_creation_input_tokens": 100}
    said = events(
        {"type": "message_start", "message": {"model": "m-1", "content": [], "usage": begun | {"output_tokens": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": dict.fromkeys(begun)},
        {"type": "message_delta", "delta": {}, "usage": dict.fromkeys(begun) | {"output_tokens": 50}},
        {"type": "message_stop"},
    )
    async with passing(Server((200, said))) as passthrough:
        usage = (await passthrough.send(ForeignRequest(interface="messages", body=ODD))).usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.cache_write_tokens) == (6100, 5000, 100)
    assert usage.completion_tokens == 50 and usage.priced and usage.cost_usd == 6150


async def test_a_configured_model_takes_the_place_of_any_other() -> None:
    server = Server((200, json.dumps(WHOLE["chat"]).encode()))
    async with passing(server, model="small") as passthrough:
        await passthrough.send(ForeignRequest(interface="chat", body=ODD))
    assert json.loads(server.seen[0][2]) == json.loads(ODD) | {"model": "small"}


async def test_a_refused_request_is_answered_as_the_endpoint_did() -> None:
    said = json.dumps({"error": {"message": f"no tool x for {KEY}"}}).encode()
    server = Server((400, said))
    async with passing(server) as passthrough:
        answer = await passthrough.send(ForeignRequest(interface="chat", body=ODD))
    assert answer.status == 400 and b"no tool x" in answer.body and KEY.encode() not in answer.body


async def test_an_error_with_status_200_is_the_answer_to_the_process() -> None:
    said = b'{"error": {"code": 400, "message": "prompt is too long"}}'
    async with passing(Server((200, said))) as passthrough:
        answer = await passthrough.send(ForeignRequest(interface="chat", body=ODD))
    assert (answer.status, answer.body, answer.usage.requests) == (200, said, 1)


@pytest.mark.parametrize("status", ["queued", "in_progress"])
async def test_a_response_that_is_made_in_the_background_is_asked_for_once(status: str) -> None:
    said = json.dumps({"id": "resp_1", "model": "m-1", "status": status, "output": []}).encode()
    async with passing(Server((200, said))) as passthrough:
        answer = await passthrough.send(ForeignRequest(interface="responses", body=b'{"background": true}'))
    assert (answer.status, answer.body, answer.usage.requests) == (200, said, 1)
    assert answer.usage.tokens == 0 and not answer.usage.priced


@pytest.mark.sample(5)
@each_interface
@pytest.mark.parametrize("status", [301, 401, 402, 403, 404, 405])
async def test_what_the_endpoint_refuses_is_the_answer_to_the_process_however_often(
    interface: str, status: int
) -> None:
    said = b'{"error": {"message": "not for you"}}'
    answers = [(status, said)] * 24  # a redirect is seen three times before it is believed
    async with passing(Server(*answers)) as passthrough:
        for _ in range(8):
            answer = await passthrough.send(ForeignRequest(interface=interface, body=ODD))
            assert (answer.status, answer.body) == (status, said)


async def test_one_redirect_costs_a_repetition_and_three_in_a_row_are_an_answer() -> None:
    whole = (200, json.dumps(WHOLE["chat"]).encode())
    stray, request = (301, b"{}"), ForeignRequest(interface="chat", body=ODD)
    async with passing(Server(stray, whole, stray, stray, whole, stray, stray, stray)) as passthrough:
        found = [await passthrough.send(request) for _ in range(3)]
    assert [one.status for one in found] == [200, 200, 301] and [one.usage.requests for one in found] == [2, 3, 3]


class Queue(Unlimited):
    """Each permit was waited for."""

    async def acquire(self, want: PermitRequest) -> Permit:
        return replace(await super().acquire(want), waited_s=2.0)


@pytest.mark.parametrize("status", [400, 401])
async def test_a_refused_request_counts_all_that_were_sent_for_it(status: int) -> None:
    async with serving(Server((503, b"{}"), (503, b"{}"), (status, b"{}"))) as port:
        passthrough = passthrough_at(port, limiter=Queue())
        answer = await passthrough.send(ForeignRequest(interface="chat", body=ODD))
        await passthrough.close()
    assert (answer.status, answer.usage.requests, answer.waited_s) == (status, 3, 6.0)


async def test_requests_whose_question_for_tokens_was_refused_count_too() -> None:
    whole = (200, json.dumps(WHOLE["chat"]).encode())
    async with serving(Server((503, b"{}"), (400, b"{}"), (503, b"{}"), whole, (400, b"{}"), (400, b"{}"))) as port:
        answers = []
        for _ in range(2):
            passthrough = passthrough_at(port, limiter=Queue(), token_ids=TokenIds(wanted=True))
            answers.append(await passthrough.send(ForeignRequest(interface="chat", body=ODD)))
            await passthrough.close()
    assert [(one.status, one.usage.requests, one.waited_s) for one in answers] == [(200, 4, 8.0), (400, 2, 4.0)]


@pytest.mark.parametrize("status", [400, 501])
async def test_requests_that_are_all_refused_are_no_reason_to_stop_the_run(status: int) -> None:
    request = ForeignRequest(interface="chat", body=ODD)
    async with serving(Server(*[(status, b"{}")] * (REJECTED + 2))) as port:
        passthrough = passthrough_at(port, limiter=Limiter())
        found = [await passthrough.send(request) for _ in range(REJECTED + 2)]
        await passthrough.close()
    assert {one.status for one in found} == {status}


async def test_a_package_that_is_not_installed_is_the_answer_to_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ConfigError("llm.api=messages needs the package anthropic")

    monkeypatch.setattr("harness.llm.providers.messages.Messages.connect", missing)
    async with passing(Server()) as passthrough:
        answer = await passthrough.send(ForeignRequest(interface="messages", body=ODD))
    assert answer.status == 501 and b"needs the package anthropic" in answer.body and answer.usage.requests == 0


async def test_retries_end() -> None:
    async with passing(Server(*[(503, b"{}")] * 3)) as passthrough:
        with pytest.raises(ModelUnavailable):
            await passthrough.send(ForeignRequest(interface="chat", body=ODD))


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff"])
async def test_what_is_no_request_is_not_sent(body: bytes) -> None:
    server = Server()
    async with passing(server) as passthrough:
        with pytest.raises(NotARequest):
            await passthrough.send(ForeignRequest(interface="chat", body=body))
    assert server.seen == []
