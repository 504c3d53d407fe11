"""A model provider of a made-up wire format, written as a stranger would write it, at a real HTTP endpoint."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from harness.api import Answer, ChatSettings, Message, ModelProvider, RetryableError, Tool, text_of
from harness.codec import JsonObject, loads
from harness.errors import ConfigError, ModelRejected
from harness.evaluation.endpoint_settings import endpoint_of_settings, provider_name
from harness.llm import providers
from harness.llm.answer import given, mappings, parsed
from harness.llm.circuit_breaker import OutageWaiter
from harness.llm.endpoint import Endpoint
from harness.llm.endpoint_model import EndpointModel
from harness.llm.exchange import Exchanger
from harness.llm.passthrough import ForeignRequest, Passthrough
from harness.llm.permits import Unlimited
from harness.llm.recorded_answer import calls_of, tools_of
from harness.llm.request_frame import body_of
from harness.loopback_server import serving
from harness.settings.models import EndpointSettings, LlmSettings
from tests.llm.test_endpoint_model import ASKED, KEY, Waits


class Telegraph(ModelProvider):
    """Asks `{"telegram": [line, …], "station": model}`, is answered `{"words": […], "spent": [in, out]}`."""

    name = "telegraph"
    path = "/wire"
    conversation_keys = ("telegram",)

    def conversation(self, messages: Sequence[Message]) -> JsonObject:
        return {"telegram": [f"{message.role} STOP {text_of(message.content)}" for message in messages]}

    def parameters(self, settings: ChatSettings) -> JsonObject:
        if settings.seed is not None:
            raise ConfigError("the telegraph has no seed; unset llm.seed")
        return {"station": settings.model, **given(heat=settings.temperature), **settings.extra_body}

    def read(self, content: bytes) -> Answer:
        match parsed(content):
            case {"words": [*words], "spent": [int(asked), int(said)]}:
                return Answer(
                    text=" ".join(map(str, words)), model="wire-1", prompt_tokens=asked, completion_tokens=said
                )
        raise RetryableError("malformed answer, no words")

    def joined(self, events: Sequence[JsonObject]) -> bytes:
        words = [one["word"] for one in mappings(list(events))]
        return json.dumps({"words": words, "spent": [3, len(words)]}).encode()


class Station:
    """Answers with statuses and bodies in turn, the last one again and again."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self.answers, self.asked, self.headers, self.paths = list(answers), [], {}, set()

    asked: list[bytes]
    headers: dict[str, str]
    paths: set[str]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append((await receive())["body"])
        self.paths.add(scope["path"])
        self.headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        status, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": body})


GOOD = b'{"words": ["go", "back"], "spent": [7, 2]}'


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "_added", {})
    providers.add(Telegraph(), "llm._target_")


@asynccontextmanager
async def asking(station: Station, waits: Waits, **settings: Any) -> AsyncIterator[EndpointModel]:
    async with serving(station) as port:
        endpoint = Endpoint(EndpointSettings(base_url=f"http://127.0.0.1:{port}/v2", api_key=KEY))
        asked = ChatSettings(model="m", api="telegraph", timeout_s=5.0, **settings)
        async with EndpointModel(Exchanger(endpoint, asked, retrier=waits.retrier(), prices={})) as model:
            yield model


async def test_it_is_asked_over_plain_http_with_our_retries_key_and_counting() -> None:
    station, waits = Station((503, b"busy"), (200, b"{}"), (200, GOOD)), Waits()
    async with asking(station, waits, temperature=0.5) as model:
        reply = await model.ask(ASKED)
    assert (reply.text, reply.model) == ("go back", "wire-1")
    assert (reply.usage.requests, reply.usage.prompt_tokens, reply.usage.completion_tokens) == (3, 7, 2)
    assert station.paths == {"/v2/wire"} and station.headers["authorization"] == f"Bearer {KEY}"
    sent = loads(station.asked[-1])
    assert sent["telegram"][0] == "system STOP click [id]" and sent["station"] == "m" and sent["heat"] == 0.5


async def test_the_whole_request_is_kept_and_can_be_made_again() -> None:
    station = Station((200, GOOD))
    async with asking(station, Waits()) as model:
        reply = await model.ask(ASKED)
    assert loads(reply.request) == {"api": "telegraph", "body": {"telegram": None, "station": "m"}}
    assert loads(body_of(reply.request, ASKED)) == loads(station.asked[0])
    assert calls_of(reply.request, reply.raw) == [] and tools_of(reply.request) == []


async def test_an_answer_that_was_streamed_is_put_together() -> None:
    events = b'data: {"word": "go"}\n\ndata: {"word": "on"}\n\ndata: [DONE]\n\n'
    async with asking(Station((200, events)), Waits()) as model:
        assert (await model.ask(ASKED)).text == "go on"


async def test_what_the_endpoint_refuses_stops_the_run_without_the_key() -> None:
    async with asking(Station((401, f'{{"error": {{"message": "bad {KEY}"}}}}'.encode())), Waits()) as model:
        with pytest.raises(ModelRejected, match=r"HTTP 401 \(bad \[key\]\); check llm\.api_key"):
            await model.ask(ASKED)


@pytest.mark.parametrize("interface", ["messages", "telegraph"])
async def test_a_process_that_speaks_anothers_format_sends_no_key_there(
    interface: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Telegraph, "default_url", "https://wire.test")
    hosts: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        hosts.append(request.url.host)
        return httpx2.Response(404, json={"error": {"message": "no such path"}})

    llm = LlmSettings(model="gpt-4o", name="openai", base_url=None, api_key=KEY)
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    exchanger = Exchanger(endpoint_of_settings(llm, "llm", None, client), llm, retrier=Waits().retrier(), prices={})
    passthrough = Passthrough(exchanger, OutageWaiter(Unlimited(), max_outage_s=0.0))
    answer = await passthrough.send(ForeignRequest(interface=interface, body=b'{"model": "m"}'))
    assert (answer.status, hosts) == (404, ["api.openai.com"]) and "https://api.openai.com/v1 rejected" in caplog.text


async def test_what_the_format_does_not_have_is_one_sentence() -> None:
    async with asking(Station((200, GOOD)), Waits(), seed=1) as model:
        with pytest.raises(ConfigError, match="the telegraph has no seed"):
            await model.ask(ASKED)
    async with asking(Station((200, GOOD)), Waits()) as model:
        with pytest.raises(ConfigError, match=r"llm\.api=telegraph has no tools; choose an agent that answers in text"):
            await model.ask(ASKED, (Tool(name="click", description="", parameters={}),))


def test_a_provider_of_the_settings_is_known_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "_added", {})
    assert provider_name(LlmSettings(_target_=f"{__name__}.Telegraph")) == "telegraph"
    assert provider_name(LlmSettings(_target_=f"{__name__}.Telegraph")) == "telegraph"
    assert providers.names()[:3] == ("chat", "responses", "messages") and "telegraph" in providers.names()


class Impostor(Telegraph):
    name = "chat"


class Nameless(Telegraph):
    name = None  # type: ignore[assignment]


class Relative(Telegraph):
    path = "wire"


class Pathless(ModelProvider):
    name = "pathless"
    conversation, parameters, read = Telegraph.conversation, Telegraph.parameters, Telegraph.read


class Commaless(Telegraph):
    conversation_keys = "telegram"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (f"{__name__}.Nameless", "Nameless.name is None; give a text"),
        (f"{__name__}.Relative", "Relative.path is 'wire'; give a text that begins with /"),
        (f"{__name__}.Pathless", "Pathless.path is None; give a text that begins with /"),
        (f"{__name__}.Commaless", "Commaless.conversation_keys is 'telegram'; give a tuple of texts, with a comma"),
        (f"{__name__}.Impostor", "Impostor.name is 'chat', which another provider has; rename it"),
        (f"{__name__}.Station", "has no method conversation, which harness.api.ModelProvider needs"),
        ("no_such.Provider", "cannot be imported"),
    ],
)
def test_what_is_no_provider_is_refused(target: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why.replace("(", r"\(")):
        provider_name(LlmSettings(_target_=target))


def test_a_name_that_no_provider_has_imports_nothing() -> None:
    with pytest.raises(ConfigError, match=r"llm\.api=os\.system is unknown; choose one of chat, responses, messages"):
        providers.provider_of("os.system")
    frame = json.dumps({"api": "os.system", "body": {"tools": [{"type": "function", "function": {}}]}}).encode()
    assert calls_of(frame, GOOD) == [] and tools_of(frame) == []
