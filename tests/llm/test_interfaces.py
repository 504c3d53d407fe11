"""The three interfaces against the scripted endpoint: whatever goes wrong, and a conversation with calls and results."""

import json
from typing import Any

import httpx
import httpx2
import pytest

from harness.errors import ConfigError, ModelRejected, ModelUnavailable, RequestRefused
from harness.llm.circuit_breaker import CircuitBreakerModel, OutageWaiter
from harness.llm.endpoint import Endpoint
from harness.llm.http_client import bounded_client
from harness.llm.limiter import Clock, Limiter
from harness.llm.permits import RateLimiter
from harness.llm.prices import Price, read_prices
from harness.records import ComputerTool, Message, Reply, Tool
from harness.settings.models import EndpointSettings
from tests.llm.test_endpoint_model import ASKED, KEY, Waits, chat, mocked, requests_at, scripted

APIS = ["chat", "responses", "messages"]
SCREEN = ComputerTool(width=1280, height=720)
GO_BACK = Tool(name="go_back", description="Goes back.", parameters={"type": "object", "properties": {}})
PNG = (
    {"type": "text", "text": "seen"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
)

each_api = pytest.mark.parametrize("api", APIS)


@pytest.mark.sample(1)
@each_api
async def test_an_answer_tells_text_model_tokens_and_every_byte(api: str) -> None:
    waits = Waits()
    async with scripted(waits=waits, api=api) as (model, url):
        reply = await model.ask(ASKED)
        assert reply.text.endswith("```go_back```") and reply.model == "scripted" and reply.finish_reason == "stop"
        assert reply.usage.prompt_tokens > 0 and reply.usage.completion_tokens > 0 and reply.usage.requests == 1
        assert reply.text in json.dumps(json.loads(reply.raw), ensure_ascii=False).replace("\\n", "\n")
        assert reply.items == () and waits.slept == [] and await requests_at(url) == 1


@each_api
@pytest.mark.parametrize("do", ["408", "409", "429", "500", "503", "529", "cut", "malformed", "empty"])
async def test_what_may_pass_is_tried_again_and_counted(api: str, do: str) -> None:
    waits = Waits()
    async with scripted({"do": do, "on": {"first": 2}}, waits=waits, api=api) as (model, _):
        reply = await model.ask(ASKED)
        assert reply.text.endswith("```go_back```") and reply.usage.requests == 3
        assert waits.slept == [0.75, 1.5]


@each_api
async def test_a_429_is_waited_for_as_long_as_it_asks(api: str) -> None:
    waits = Waits()
    async with scripted({"do": "429", "retry_after": 7, "on": {"first": 1}}, waits=waits, api=api) as (model, _):
        assert (await model.ask(ASKED)).usage.requests == 2
        assert 7.0 <= waits.slept[0] <= 8.0


@each_api
async def test_retries_end(api: str) -> None:
    async with scripted({"do": "503"}, waits=Waits(), api=api) as (model, _):
        with pytest.raises(ModelUnavailable, match="injected fault 503") as given_up:
            await model.ask(ASKED)
        assert given_up.value.requests == 8


@each_api
@pytest.mark.parametrize(
    ("do", "error", "said"), [("400", RequestRefused, "400"), ("401", ModelRejected, "llm.api_key")]
)
async def test_what_no_retry_mends_is_asked_once(api: str, do: str, error: type[Exception], said: str) -> None:
    async with scripted({"do": do}, waits=Waits(), api=api) as (model, url):
        with pytest.raises(error, match=f"injected fault {do}.*" if do == "400" else said):
            await model.ask(ASKED)
        assert await requests_at(url) == 1


@each_api
@pytest.mark.parametrize(("do", "unfinished"), [("length", "length"), ("refusal", "refusal")])
async def test_an_answer_that_was_not_finished_says_so(api: str, do: str, unfinished: str) -> None:
    async with scripted({"do": do}, waits=Waits(), api=api) as (model, _):
        reply = await model.ask(ASKED)
        assert reply.unfinished == unfinished and reply.raw
        assert (reply.refusal == "I cannot help with that.") == (do == "refusal")


@each_api
@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b'{"output": 3, "content": 3, "choices": 3}', b"<html>", b"[" * 300_000]
)
async def test_malformed_answers_are_sentences(api: str, body: bytes) -> None:
    endpoint = mocked(lambda _: httpx2.Response(200, content=body))
    async with chat(endpoint, Waits(), api=api) as model:
        with pytest.raises(ModelUnavailable, match="malformed answer"):
            await model.ask(ASKED)


@each_api
async def test_a_huge_answer_is_refused(api: str) -> None:
    async with scripted(waits=Waits()) as (_, url):
        endpoint = Endpoint(EndpointSettings(base_url=f"{url}/v1"), http_client=bounded_client(100))
        async with chat(endpoint, Waits(), api=api) as model:
            with pytest.raises(RequestRefused, match=r"llm\.max_answer_mb"):
                await model.ask(ASKED)


@each_api
async def test_parts_that_nobody_expects_do_no_harm(api: str) -> None:
    odd: list[Any] = [
        None,
        3,
        "x",
        {},
        {"type": 3},
        {"type": "message", "content": [3, {"type": "output_text", "text": 4}]},
    ]
    odd += [{"type": "tool_use", "id": 3, "name": None, "input": "x"}, {"type": "function_call", "arguments": {"a": 1}}]
    odd += [{"type": "computer_call", "actions": [3, {}], "pending_safety_checks": "x"}, {"type": "text", "text": None}]
    usage = {"input_tokens": -1, "output_tokens": "9", "output_tokens_details": 3, "input_tokens_details": [1]}
    message = {"content": odd, "tool_calls": odd, "refusal": 3, "reasoning": [1]}
    body = {
        "output": odd,
        "content": odd,
        "choices": [{"message": message}],
        "usage": usage,
        "stop_reason": ["x"],
        "model": 3,
    }
    async with chat(mocked(lambda _: httpx2.Response(200, json=body)), Waits(), api=api) as model:
        reply = await model.ask(ASKED)
        assert isinstance(reply.text, str) and reply.usage.tokens == 0
        assert all(isinstance(part, str) for call in reply.tool_calls for part in (call.id, call.name, call.arguments))


class Breaker:
    """A model behind the circuit breaker, over an endpoint that is down for its first requests."""

    def __init__(self, waits: Waits) -> None:
        self.said: list[str] = []
        self.limiter: RateLimiter = Limiter(
            None, Clock(monotonic=waits.monotonic), self.said.append, max_outage_s=3600.0
        )


@each_api
async def test_an_outage_opens_the_circuit_and_an_answer_closes_it(api: str) -> None:
    waits = Waits()
    breaker = Breaker(waits)
    async with scripted({"do": "503", "on": {"first": 8}}, waits=waits, api=api) as (model, _):
        model._exchanger.rate_limiter = breaker.limiter
        guarded = CircuitBreakerModel(
            model, OutageWaiter(breaker.limiter, max_outage_s=3600.0, monotonic=waits.monotonic)
        )
        with pytest.raises(ModelUnavailable):
            await model.ask(ASKED)
        assert await breaker.limiter.outage("no answer", 8) is not None and "paused" in breaker.said[0]
        waits.slept.append(60.0)
        assert (await guarded.ask(ASKED)).text.endswith("```go_back```")
        assert "answers again" in breaker.said[-1]


@each_api
async def test_the_key_is_in_the_providers_header_and_in_no_message(api: str) -> None:
    sent: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(401, json={"error": {"message": f"bad key {KEY}"}})

    async with chat(mocked(handler, api_key=KEY, headers={"x-team": "blue-secret"}), Waits(), api=api) as model:
        with pytest.raises(ModelRejected) as rejected:
            await model.ask(ASKED)
    assert KEY not in str(rejected.value) and "[key]" in str(rejected.value)
    headers = sent[0].headers
    assert headers["authorization"] == f"Bearer {KEY}" and headers["x-team"] == "blue-secret"


@each_api
@pytest.mark.parametrize(
    ("status", "error", "fix"),
    [
        (
            400,
            {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
                " 'max_completion_tokens' instead.",
                "param": "max_tokens",
                "code": "unsupported_parameter",
            },
            "set llm.max_tokens_field=max_completion_tokens",
        ),
        (
            400,
            {
                "message": "Only the default (1) value is supported.",
                "param": "temperature",
                "code": "unsupported_value",
            },
            "set llm.temperature=null",
        ),
        (400, {"message": "`temperature` is deprecated for this model."}, "set llm.temperature=null"),
        (400, {"message": "Unrecognized request argument supplied: seed"}, "set llm.seed=null"),
        (422, {"message": "body.top_p: Extra inputs are not permitted"}, "set llm.top_p=null"),
        (400, {"message": "max_tokens is too large: 4096. Your request has 5000 input tokens."}, ""),
        (400, {"message": "image_url is not supported by this model"}, ""),
        (400, {"message": "the prompt about temperature was filtered"}, ""),
    ],
)
async def test_a_parameter_that_is_not_taken_stops_all_requests_and_names_its_setting(
    api: str, status: int, error: dict[str, str], fix: str
) -> None:
    waits = Waits()
    answer = lambda request: httpx2.Response(status, json={"error": error})  # noqa: E731
    async with chat(mocked(answer, api_key=KEY), waits, api=api) as model:
        with pytest.raises(ModelRejected if fix else RequestRefused) as rejected:
            await model.ask(ASKED)
    said = str(rejected.value)
    assert fix in said and error["message"][:20] in said and "\n" not in said
    assert waits.slept == []


@each_api
async def test_a_call_and_its_result_go_round(api: str) -> None:
    async with scripted(waits=Waits(), api=api) as (model, _):
        first = await model.ask(ASKED, [GO_BACK])
        assert [(call.name, json.loads(call.arguments)) for call in first.tool_calls] == [("go_back", {})]
        assert first.finish_reason == "tool_calls" and first.text == ""
        result = Message(role="tool", content=PNG, tool_call_id=first.tool_calls[0].id)
        second = await model.ask((*ASKED, first.turn(), result, ASKED[-1]), [GO_BACK])
        assert second.tool_calls


@each_api
async def test_a_call_without_its_result_is_refused_as_the_provider_does(api: str) -> None:
    async with scripted(waits=Waits(), api=api) as (model, _):
        first = await model.ask(ASKED, [GO_BACK])
        with pytest.raises(RequestRefused, match="has no result"):
            await model.ask((*ASKED, first.turn(), ASKED[-1]), [GO_BACK])


async def test_encrypted_reasoning_goes_back_unchanged() -> None:
    async with scripted(waits=Waits(), api="responses", model="gpt-5", temperature=0.0) as (model, _):
        first = await model.ask(ASKED, [GO_BACK])
        assert first.items[0]["type"] == "reasoning" and first.usage.reasoning_tokens == 64
        result = Message(role="tool", content="done", tool_call_id=first.tool_calls[0].id)
        assert (await model.ask((*ASKED, first.turn(), result), [GO_BACK])).raw
        forgotten = Message(role="assistant", content="", tool_calls=first.tool_calls)
        with pytest.raises(RequestRefused, match="without its required 'reasoning' item"):
            await model.ask((*ASKED, forgotten, result), [GO_BACK])


async def test_signed_thoughts_go_back_unchanged() -> None:
    async with scripted(waits=Waits(), api="messages", reasoning_effort="low") as (model, _):
        first = await model.ask(ASKED, [GO_BACK])
        assert first.reasoning == "I follow the plan." and first.items[0]["signature"]
        result = Message(role="tool", content="done", tool_call_id=first.tool_calls[0].id)
        assert (await model.ask((*ASKED, first.turn(), result), [GO_BACK])).raw
        forgotten = Message(role="assistant", content="", tool_calls=first.tool_calls)
        with pytest.raises(RequestRefused, match="expected `thinking`"):
            await model.ask((*ASKED, forgotten, result), [GO_BACK])


@each_api
@pytest.mark.parametrize("model_name", ["gpt-5", "o3-mini"])
async def test_reasoning_models_are_sent_what_they_take(api: str, model_name: str) -> None:
    settings: dict[str, Any] = {"temperature": None} if api == "messages" else {"temperature": 0.0, "top_p": 0.5}
    async with scripted(waits=Waits(), api=api, model=model_name, max_tokens=100, **settings) as (model, _):
        assert (await model.ask(ASKED)).text


@pytest.mark.parametrize("name", ["claude-opus-4-7", "claude-sonnet-5-5", "gpt-5"])
async def test_a_temperature_is_refused_where_the_provider_does(name: str) -> None:
    async with scripted(waits=Waits(), api="messages", model=name, temperature=0.0) as (model, _):
        with pytest.raises(ModelRejected, match=r"does not take temperature .* set llm\.temperature=null"):
            await model.ask(ASKED)


LONG = (Message(role="system", content="click [id] " + "all the rules of the game, " * 300), *ASKED[1:])


@each_api
async def test_what_was_sent_before_is_read_from_the_cache(api: str) -> None:
    price = Price(prompt_per_mtok=10, completion_per_mtok=0, cached_per_mtok=1, cache_write_per_mtok=12.5)
    async with scripted(waits=Waits(), api=api, prices={"scripted": price}) as (model, _):
        first, second, other = [(await model.ask(asked)).usage for asked in (LONG, LONG, ASKED)]
    assert first.cached_tokens == other.cached_tokens == 0
    assert 1024 <= second.cached_tokens <= second.prompt_tokens == first.prompt_tokens
    assert second.saved_usd > 0 and second.cost_usd == pytest.approx(
        first.cost_usd + first.saved_usd - second.saved_usd
    )
    assert (first.cache_write_tokens > 0) == (api == "messages") and second.cache_write_tokens == 0
    assert (first.saved_usd < 0) == (api == "messages"), "writing costs more than reading nothing saves"


@pytest.mark.parametrize(
    ("table", "cost"),
    [
        ({}, 1000 * 10),
        ({"cache_write": 12.5}, 300 * 12.5 + 600 * 20 + 100 * 10),
        ({"cache_write": 12.5, "cache_write_1h": 15}, 300 * 12.5 + 600 * 15 + 100 * 10),
        ({"cache_write_1h": 15}, 400 * 10 + 600 * 15),
    ],
)
async def test_what_is_kept_for_an_hour_has_its_own_price(table: dict[str, float], cost: float) -> None:
    kept = {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 600}
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 900, "cache_creation": kept, "output_tokens": 0}
    prices = read_prices({"scripted": {"prompt": 10, "completion": 1, **table}}, "p.yaml")
    body = {"content": [], "stop_reason": "end_turn", "usage": usage}
    async with chat(mocked(lambda _: httpx2.Response(200, json=body)), Waits(), api="messages", prices=prices) as model:
        found = (await model.ask(ASKED)).usage
    assert (found.prompt_tokens, found.cache_write_tokens) == (1000, 900)
    assert found.cost_usd == pytest.approx(cost / 1e6)
    assert found.saved_usd == pytest.approx((1000 * 10 - cost) / 1e6)


@each_api
async def test_a_part_is_never_more_than_the_whole(api: str) -> None:
    absurd = {
        "cached_tokens": 1 << 39,
        "cache_write_tokens": 1 << 39,
        "reasoning_tokens": 1 << 39,
        "thinking_tokens": 1 << 39,
    }
    counted = {"prompt_tokens": 10, "completion_tokens": 2, "input_tokens": 10, "output_tokens": 2}
    details = {f"{kind}_tokens_details": absurd for kind in ("prompt", "completion", "input", "output")}
    usage = {**counted, **details, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 7}
    usage |= {"cache_creation": {"ephemeral_1h_input_tokens": 1 << 39}}
    body = {"output": [], "content": [], "choices": [{"message": {"content": "x"}}], "usage": usage}
    price = Price(prompt_per_mtok=10, completion_per_mtok=1, cached_per_mtok=0, cache_write_per_mtok=0)
    async with chat(
        mocked(lambda _: httpx2.Response(200, json=body)), Waits(), api=api, prices={"scripted": price}
    ) as model:
        found = (await model.ask(ASKED)).usage
    assert found.cached_tokens + found.cache_write_tokens <= found.prompt_tokens
    assert found.reasoning_tokens <= found.completion_tokens and found.cost_usd >= 0


async def test_anthropics_marks_are_after_the_system_prompt_and_before_the_newest_message() -> None:
    sent: list[Any] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        return httpx2.Response(200, json={"content": [], "stop_reason": "end_turn"})

    turns = [Message(role=role, content=role) for role in ("user", "assistant", "user")]
    async with chat(mocked(handler), Waits(), api="messages") as model:
        await model.ask((*ASKED[:1], *turns), [GO_BACK])
    body = sent[0]
    marked = [*body["system"], *(one for turn in body["messages"] for one in turn["content"])]
    assert [("cache_control" in block) for block in marked] == [True, False, True, False]
    assert "cache_control" not in body["tools"][0] and body["max_tokens"] == 8192


@pytest.mark.parametrize(
    ("api", "model", "tool", "beta"),
    [
        ("responses", "gpt-5.4", {"type": "computer"}, None),
        (
            "responses",
            "computer-use-preview",
            {"type": "computer_use_preview", "display_width": 1280, "display_height": 720, "environment": "browser"},
            None,
        ),
        ("messages", "claude-opus-5-5", {"type": "computer_toolset_20260801"}, None),
        (
            "messages",
            "claude-opus-4-6",
            {"type": "computer_20251124", "name": "computer", "display_width_px": 1280, "display_height_px": 720},
            "computer-use-2025-11-24",
        ),
        (
            "messages",
            "claude-sonnet-4-5-20250929",
            {"type": "computer_20250124", "name": "computer", "display_width_px": 1280, "display_height_px": 720},
            "computer-use-2025-01-24",
        ),
    ],
)
async def test_a_model_is_offered_the_computer_tool_it_knows(api: str, model: str, tool: Any, beta: str | None) -> None:
    sent: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(200, json={"content": [], "output": []})

    async with chat(mocked(handler), Waits(), api=api, model=model) as asked:
        await asked.ask(ASKED[-1:], [SCREEN])
    (offered,) = json.loads(sent[0].content)["tools"]
    offered.pop("cache_control", None)
    assert offered == tool and sent[0].headers.get("anthropic-beta") == beta


async def replied(api: str, answer: Any, *turns: Message, model: str = "m") -> tuple[Reply, Any]:
    """The reply to an answer, and the body that was sent."""
    sent: list[Any] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        return httpx2.Response(200, json=answer)

    async with chat(mocked(handler), Waits(), api=api, model=model) as asked:
        reply = await asked.ask(turns or ASKED[-1:], [SCREEN])
    return reply, sent[0]


CLICK = {"type": "click", "button": "left", "x": 5, "y": 9}
CHECK = {"id": "sc_1", "code": "malicious", "message": "Really?"}


@pytest.mark.parametrize("action", [{"action": CLICK}, {"actions": [{"type": "move", "x": 1, "y": 1}, CLICK]}])
async def test_a_computer_call_and_its_screenshot_at_openai(action: dict[str, Any]) -> None:
    item = {
        "type": "computer_call",
        "id": "cu",
        "call_id": "c1",
        "status": "completed",
        "pending_safety_checks": [CHECK],
    }
    reply, _ = await replied("responses", {"status": "completed", "output": [{**item, **action}]})
    assert [call.name for call in reply.tool_calls] == ["computer"] * len(reply.tool_calls)
    assert json.loads(reply.tool_calls[-1].arguments) == CLICK and reply.tool_calls[0].safety_checks == (CHECK,)
    results = [Message(role="tool", content=PNG, tool_call_id=call.id) for call in reply.tool_calls]
    _, body = await replied("responses", {"output": []}, ASKED[-1], reply.turn(), *results)
    output = {"type": "computer_screenshot", "image_url": PNG[1]["image_url"]["url"]}  # type: ignore[index]
    assert body["input"][1:] == [
        {**item, **action},
        {"type": "computer_call_output", "call_id": "c1", "output": output, "acknowledged_safety_checks": [CHECK]},
        {"role": "user", "content": "seen"},
    ]


async def test_a_computer_result_without_a_screenshot_is_a_sentence() -> None:
    item = {"type": "computer_call", "id": "cu", "call_id": "c1", "action": CLICK}
    reply, _ = await replied("responses", {"status": "completed", "output": [item]})
    with pytest.raises(ConfigError, match="needs a screenshot"):
        await replied("responses", {}, ASKED[-1], reply.turn(), Message(role="tool", content="x", tool_call_id="c1"))


@pytest.mark.parametrize("toolset", [True, False])
async def test_a_computer_call_and_its_screenshot_at_anthropic(toolset: bool) -> None:
    head = {"type": "tool_use", "id": "t1"}
    if toolset:
        block: dict[str, Any] = {
            **head,
            "name": "left_click",
            "toolset_name": "computer",
            "input": {"coordinate": [5, 9]},
        }
    else:
        block = {**head, "name": "computer", "input": {"action": "left_click", "coordinate": [5, 9]}}
    reply, _ = await replied("messages", {"content": [block], "stop_reason": "tool_use"})
    (call,) = reply.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("computer", {"action": "left_click", "coordinate": [5, 9]})
    result = Message(role="tool", content=PNG, tool_call_id="t1")
    _, body = await replied("messages", {"content": []}, ASKED[-1], reply.turn(), result)
    assert {key: value for key, value in body["messages"][1]["content"][0].items() if key != "cache_control"} == block
    (answered,) = body["messages"][2]["content"]
    assert answered["type"] == "tool_result" and answered.get("toolset_name") == ("computer" if toolset else None)
    assert answered["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


@pytest.mark.parametrize("api", ["responses", "messages"])
async def test_a_seed_has_no_place_there(api: str) -> None:
    async with chat(mocked(lambda _: httpx2.Response(500)), Waits(), api=api, seed=1) as model:
        with pytest.raises(ConfigError, match=r"unset llm\.seed"):
            await model.ask(ASKED)


def test_an_unknown_interface_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match=r"llm\.api=soap is unknown"):
        chat(mocked(lambda _: httpx2.Response(500)), Waits(), api="soap")


async def test_nothing_of_anthropics_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "AUTH_TOKEN", "BASE_URL", "CUSTOM_HEADERS"):
        monkeypatch.setenv(f"ANTHROPIC_{name}", "http://evil.test")
    sent: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(200, json={"content": []})

    async with chat(mocked(handler), Waits(), api="messages") as model:
        await model.ask(ASKED)
    assert sent[0].url.host == "model.test" and sent[0].headers["authorization"] == "Bearer none"
    assert "evil.test" not in str(sent[0].headers)


async def test_anthropics_limits_are_read_from_its_headers() -> None:
    from harness.llm.rate_limit_headers import read_headers

    told = {"limit": "50", "remaining": "49", "reset": "2026-11-22T10:00:07Z"}
    headers = {f"anthropic-ratelimit-requests-{name}": value for name, value in told.items()}
    read = read_headers(headers, 1795341600.0).requests
    assert read is not None and (read.limit, read.remaining, read.reset_s) == (50.0, 49.0, pytest.approx(7.0))
    assert read_headers(headers | {"anthropic-ratelimit-requests-reset": "soon"}, 0.0).requests is None


async def test_a_wrong_key_is_refused_in_the_shape_of_the_interface() -> None:
    from harness.loopback_server import serving
    from harness.plugins.demo.model.model_server import endpoint_app
    from tests.llm.test_endpoint_model import PLANS

    async with serving(endpoint_app(PLANS, api_key=KEY)) as port, httpx.AsyncClient() as client:
        url = f"http://127.0.0.1:{port}/v1/messages"
        refused = await client.post(url, json={}, headers={"x-api-key": "other"})
        assert refused.status_code == 401 and refused.json()["error"]["type"] == "authentication_error"
        assert (await client.post(url, json={}, headers={"x-api-key": KEY})).status_code == 400


@pytest.mark.parametrize(
    ("header", "kept"),
    [
        (("x-request-id", "req_1"), "req_1"),
        (("request-id", "req_2"), "req_2"),
        (("x-request-id", "r" * 5000), "r" * 200),
        (("x-request-id", "a\u202eb"), "ab"),
        (("server", "x"), ""),
    ],
)
async def test_the_providers_name_of_a_request_is_kept_and_bounded(header: tuple[str, str], kept: str) -> None:
    name, value = header

    def answer(_: httpx2.Request) -> httpx2.Response:
        told = httpx2.Headers([(name.encode(), value.encode())])
        return httpx2.Response(200, headers=told, json={"choices": [{"message": {"content": "hello"}}]})

    async with chat(mocked(answer), Waits()) as model:
        assert (await model.ask(ASKED)).request_id == kept
