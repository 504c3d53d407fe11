"""What endpoints answer beside the textbook, over real HTTP: nothing half is taken for whole, and nothing is lost."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.actions import Action, InvalidAction, Scroll, Stop
from harness.agents.conversation import Conversation
from harness.agents.tools_agent import ToolBox, ToolsAgent
from harness.api import Message, Reply, Tool
from harness.errors import ModelRejected, ModelUnavailable, RequestRefused
from harness.llm.endpoint import Endpoint
from harness.llm.endpoint_model import EndpointModel
from harness.llm.prices import Price
from harness.records import Refused
from harness.runs.format import cost
from harness.settings.agents import ToolsSettings
from harness.settings.models import EndpointSettings
from harness.testing import a_task
from tests.agents.test_tools_agent import SET, Play, check_answered
from tests.llm.test_endpoint_model import Waits, chat
from tests.stub_endpoint import Said, Sent, calls, said, stub_endpoint

ASKED = (Message(role="user", content="What now?"),)
TOOLS = (Tool(name="scroll", description="", parameters={"type": "object", "properties": {}}),)
DOWN = ("scroll", {"direction": "down"})
STOP = said(calls(("stop", {"answer": ""})))
EVENTS = "text/event-stream"


def model_at(url: str, **settings: Any) -> EndpointModel:
    prices = {"m": Price(prompt_per_mtok=1e6, completion_per_mtok=1e6)}
    return chat(Endpoint(EndpointSettings(base_url=url)), Waits(), prices=prices, **({"model": "m"} | settings))


async def answered(body: Any, *, content_type: str = "application/json", **settings: Any) -> Reply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with stub_endpoint(lambda _: Said(raw, content_type=content_type)) as endpoint:
        async with model_at(endpoint.url, **settings) as model:
            return await model.ask(ASKED, TOOLS)


async def played(*answers: Said, **settings: Any) -> tuple[list[Action], list[Sent]]:
    """The decisions of `agent=tools` on these answers."""
    waiting = list(answers)
    with stub_endpoint(lambda _: waiting.pop(0)) as endpoint:
        async with model_at(endpoint.url, **settings) as model:
            talk = Conversation(settings=ToolsSettings(system="S", history=30, history_tokens=10**6), action_set=SET)
            play = Play(ToolsAgent(model=model, conversation=talk, box=ToolBox(SET.actions), action_set=SET))
            made = []
            while waiting:
                made.append(await play.step())
            if settings.get("api", "chat") == "chat":
                check_answered(talk.messages(a_task("Fill in"), play.episode, play.view.observation))
            return made, endpoint.sent


def response(*output: dict[str, Any], **further: Any) -> dict[str, Any]:
    return {"status": "completed", "model": "m", "output": list(output), **further}


def function_call(arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": "c1", "name": "scroll", "arguments": arguments}


CUT_CALL = {
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "scroll", "arguments": '{"direction": "do'}}]
}
NO_DECISIONS: dict[str, Callable[[], Said]] = {
    "an empty reply": lambda: said({"content": ""}),
    "only reasoning": lambda: said({"reasoning": "I scroll. ```scroll [down]```"}),
    "cut off in a call": lambda: said(CUT_CALL, "length"),
    "cut off, as others call it": lambda: said(calls(DOWN), "model_length"),
    "filtered": lambda: said(calls(DOWN), "content_filter"),
    "withheld whole": lambda: Said(
        b'{"choices": [{"index": 0, "finish_reason": "content_filter: PROHIBITED_CONTENT"}]}'
    ),
    "broken JSON": lambda: said(CUT_CALL),
}


@pytest.mark.parametrize("name", NO_DECISIONS)
async def test_what_is_no_decision_is_none_and_the_conversation_goes_on(name: str) -> None:
    made, sent = await played(NO_DECISIONS[name](), STOP)
    assert isinstance(made[0], InvalidAction) and made[1] == Stop(answer="")
    assert "RESULT: error: " in str(sent[1].json["messages"])


@pytest.mark.parametrize("reason", [{"reason": "max_output_tokens"}, {"reason": "something new"}, None])
async def test_an_incomplete_response_is_unfinished_whatever_its_reason(reason: Any) -> None:
    body = response(function_call('{"direction": "down"}'), status="incomplete", incomplete_details=reason)
    reply = await answered(body, api="responses")
    assert reply.unfinished == "length"
    done = Said(json.dumps(response(function_call('{"direction": "up"}'))).encode())
    made, _ = await played(Said(json.dumps(body).encode()), done, api="responses")
    assert isinstance(made[0], InvalidAction) and made[1] == Scroll(direction="up")


@pytest.mark.parametrize("status", ["failed", "cancelled", "queued", "in_progress"])
async def test_a_response_that_did_not_end_is_asked_for_again(status: str) -> None:
    with pytest.raises(ModelUnavailable, match=f"the response is {status}"):
        await answered(response(status=status), api="responses")


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
async def test_an_error_with_status_200_is_no_answer_and_is_quoted(api: str) -> None:
    body = {"type": "error", "error": {"message": "provider overloaded", "code": 502}}
    with pytest.raises(ModelUnavailable, match="provider overloaded"):
        await answered(body, api=api)


async def refused_in(body: Any, **settings: Any) -> tuple[Exception, int]:
    """What is raised for an endpoint that always answers so with status 200, and after how many requests."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with stub_endpoint(lambda _: Said(raw)) as endpoint:
        async with model_at(endpoint.url, **settings) as model:
            with pytest.raises((ModelRejected, ModelUnavailable, RequestRefused)) as caught:
                await model.ask(ASKED)
        return caught.value, len(endpoint.sent)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("code", "kind", "requests"),
    [
        (400, RequestRefused, 1),
        ("400", RequestRefused, 1),
        (403, RequestRefused, 1),
        (413, RequestRefused, 1),
        (422, RequestRefused, 1),
        (402, ModelRejected, 1),
        ("insufficient_quota", ModelRejected, 1),
        (429, ModelUnavailable, 8),
        (401, ModelUnavailable, 8),
        (502, ModelUnavailable, 8),
        ({"a": 1}, ModelUnavailable, 8),
        (None, ModelUnavailable, 8),
    ],
)
async def test_an_error_with_status_200_is_what_its_code_says(
    code: Any, kind: type[Exception], requests: int, streamed: bool
) -> None:
    body: Any = {"error": {"code": code, "message": "prompt is too long"}}
    if streamed:
        body = b"data: " + json.dumps(body).encode() + b"\n\n"
    raised, sent = await refused_in(body)
    assert type(raised) is kind and sent == requests
    assert "prompt is too long" in str(raised)


async def test_a_parameter_that_is_not_taken_is_named_whatever_the_status() -> None:
    message = "Unsupported parameter: 'max_tokens'"
    raised, requests = await refused_in({"error": {"code": 400, "message": message, "param": "max_tokens"}})
    assert isinstance(raised, ModelRejected) and requests == 1 and "max_tokens_field" in str(raised)


async def test_an_error_in_the_middle_of_a_stream_is_not_the_requests_fault() -> None:
    error = {"code": 400, "message": "upstream reset"}
    event = {"choices": [{"delta": {}, "finish_reason": "error"}], "error": error}
    raised, requests = await refused_in(b"data: " + json.dumps(event).encode() + b"\n\n")
    assert isinstance(raised, ModelUnavailable) and requests == 8


@pytest.mark.parametrize(
    ("code", "kind", "requests"),
    [
        ("invalid_prompt", RequestRefused, 1),
        ("image_too_large", RequestRefused, 1),
        ("server_error", ModelUnavailable, 8),
        ("failed_to_download_image", ModelUnavailable, 8),
    ],
)
async def test_a_response_that_failed_is_what_its_code_says(code: str, kind: type[Exception], requests: int) -> None:
    failed = response(status="failed", error={"code": code, "message": "your prompt was flagged"})
    event = {"type": "response.failed", "response": failed}
    plain = {"type": "error", "code": code, "message": "your prompt was flagged", "param": None}
    for body in (failed, *(b"data: " + json.dumps(one).encode() + b"\n\n" for one in (event, plain))):
        raised, sent = await refused_in(body, api="responses")
        assert type(raised) is kind and sent == requests


@pytest.mark.parametrize("choices", [None, []])
async def test_a_blocked_prompt_is_an_answer_that_was_paid_for(choices: Any) -> None:
    usage = {"prompt_tokens": 1396, "completion_tokens": 0, "total_tokens": 1396}
    reply = await answered({"model": "m", "choices": choices, "usage": usage})
    assert (reply.unfinished, reply.text, reply.usage.prompt_tokens) == ("content_filter", "", 1396)
    assert reply.usage.requests == 1 and reply.usage.cost_usd == 1396
    chunk = b"data: " + json.dumps({"model": "m", "choices": choices, "usage": usage}).encode() + b"\n\n"
    reply = await answered(chunk + b"data: [DONE]\n\n", content_type=EVENTS)
    assert (reply.unfinished, reply.usage.prompt_tokens) == ("content_filter", 1396)
    raised, requests = await refused_in({"choices": choices, "usage": {"prompt_tokens": 0}})
    assert isinstance(raised, ModelUnavailable) and requests == 8


async def test_an_answer_that_ends_with_an_error_of_the_gateway_is_no_answer() -> None:
    body = json.loads(said({"content": "I click ```click [1]```"}, "error").body)
    body["choices"][0]["error"] = {"message": "upstream reset"}
    with pytest.raises(ModelUnavailable, match="upstream reset"):
        await answered(body)


async def test_a_server_that_streams_unasked_is_understood_calls_included() -> None:
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": "I "},
        {"content": "scroll."},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "scroll", "arguments": '{"direction"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ': "down"}'}}]},
        {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "stop", "arguments": '{"answer": ""}'}}]},
    ]
    chunks: list[dict[str, Any]] = [{"model": "m", "choices": [{"delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})
    raw = b": PROCESSING\n\n" + b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks)
    reply = await answered(raw + b"data: [DONE]\n\n", content_type=EVENTS)
    assert (reply.text, reply.finish_reason, reply.usage.tokens) == ("I scroll.", "tool_calls", 9)
    assert [(call.id, call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [
        ("a", "scroll", {"direction": "down"}),
        ("b", "stop", {"answer": ""}),
    ]
    with pytest.raises(ModelUnavailable, match="was cut off"):
        await answered(raw.partition(b'"finish_reason"')[0].rpartition(b"data: ")[0], content_type=EVENTS)


async def test_a_response_that_is_streamed_unasked_is_understood() -> None:
    whole = response(function_call('{"direction": "down"}'))
    event = {"type": "response.completed", "response": whole}
    raw = b"event: response.completed\ndata: " + json.dumps(event).encode() + b"\n\n"
    reply = await answered(raw, content_type=EVENTS, api="responses")
    assert [call.name for call in reply.tool_calls] == ["scroll"]


@pytest.mark.parametrize(
    ("stop_reason", "finish"), [("pause_turn", ""), ("refusal", "refusal"), ("max_tokens", "length"), ("new", "")]
)
async def test_stop_reasons_of_anthropic(stop_reason: str, finish: str) -> None:
    body = {"model": "m", "content": [{"type": "text", "text": "so"}], "stop_reason": stop_reason}
    reply = await answered(body, api="messages")
    assert (reply.text, reply.unfinished) == ("so", finish)


USAGES: tuple[Any, ...] = (
    None,
    {},
    [],
    {"prompt_tokens": -5, "completion_tokens": 3},
    {"prompt_tokens": 10**30, "completion_tokens": 10**30},
    {"prompt_tokens": "12", "completion_tokens": None},
)


@pytest.mark.parametrize("usage", USAGES)
async def test_tokens_that_were_not_counted_cost_an_unknown_amount_and_never_nothing(usage: Any) -> None:
    reply = await answered(json.loads(said({"content": "x"}, usage=usage).body))
    assert reply.usage.prompt_tokens == 0 and not reply.usage.priced
    assert cost(reply.usage.cost_usd, reply.usage.priced) == "unknown"


async def test_a_whole_number_of_tokens_counts_also_where_json_has_it_with_a_fraction() -> None:
    usage = {"prompt_tokens": 10.0, "completion_tokens": 1e1}
    reply = await answered(json.loads(said({"content": "x"}, usage=usage).body))
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.priced) == (10, 10, True)


async def test_a_model_without_a_price_costs_an_unknown_amount() -> None:
    body = json.loads(said({"content": "x"}, usage={"prompt_tokens": 5, "completion_tokens": 1}).body)
    reply = await answered(body, model="of/nobody")
    assert cost(reply.usage.cost_usd, reply.usage.priced) == "unknown"
    priced = await answered(body)
    assert cost(priced.usage.cost_usd, priced.usage.priced) == "$6.00"
    both = reply.usage + priced.usage
    assert cost(both.cost_usd, both.priced) == "≥ $6.00"


async def test_arguments_that_were_not_encoded_are_read() -> None:
    made, sent = await played(
        said({"tool_calls": [{"id": "a", "function": {"name": "scroll", "arguments": {"direction": "up"}}}]}), STOP
    )
    assert made == [Scroll(direction="up"), Stop(answer="")]
    (call,) = sent[1].json["messages"][2]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"direction": "up"}


async def test_of_parallel_calls_the_second_is_refused_and_the_third_is_not_made() -> None:
    first = said(calls(DOWN, ("click", {"target": "1"}), ("click", {"target": "2"})))
    waiting = [first, STOP]
    with stub_endpoint(lambda _: waiting.pop(0)) as endpoint:
        async with model_at(endpoint.url) as model:
            talk = Conversation(settings=ToolsSettings(system="S", history=30, history_tokens=10**6), action_set=SET)
            play = Play(ToolsAgent(model=model, conversation=talk, box=ToolBox(SET.actions), action_set=SET))
            await play.step()
            await play.step(outcome=Refused(why="covered"))
            assert await play.step() == Stop(answer="")
    results = [one["content"].partition("\n")[0] for one in endpoint.sent[1].json["messages"] if one["role"] == "tool"]
    assert results == [
        "RESULT: done",
        "RESULT: refused: covered",
        "RESULT: not performed: an earlier call of your reply was not performed",
    ]
