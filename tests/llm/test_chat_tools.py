"""Chat completions with tools: what is sent, and what is read of every answer."""

import json
from typing import Any

import httpx2
import pytest

from harness.errors import ConfigError
from harness.llm.prices import Price
from harness.records import ComputerTool, Message, Reply, Tool, ToolCall
from tests.llm.test_endpoint_model import ASKED, Waits, chat, mocked

CLICK = Tool(
    name="click", description="Clicks.", parameters={"type": "object", "properties": {"id": {"type": "string"}}}
)
CALL = {"id": "call_1", "type": "function", "function": {"name": "click", "arguments": '{"id": 7'}}


async def asked(answer: Any, *messages: Message, tools: Any = (), **further: Any) -> tuple[Reply, dict[str, Any]]:
    """The reply to an answer of the endpoint, and the body that was sent."""
    sent: list[bytes] = []
    content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.content)
        return httpx2.Response(200, content=content)

    async with chat(mocked(handler), Waits(), **further) as model:
        reply = await model.ask(messages or ASKED, tools)
    return reply, json.loads(sent[-1])


def answer(finish: str | None = "tool_calls", usage: Any = None, **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "model": "m-2026", "service_tier": "default", "choices": [choice], "usage": usage}


async def test_calls_come_back_as_the_model_wrote_them_and_the_answer_byte_for_byte() -> None:
    content = json.dumps(answer(tool_calls=[CALL, {**CALL, "id": "call_2"}]), indent=1).encode() + b"\n"
    reply, body = await asked(content, tools=[CLICK])
    assert reply.tool_calls == tuple(
        ToolCall(id=name, name="click", arguments='{"id": 7') for name in ("call_1", "call_2")
    )
    assert (reply.text, reply.finish_reason, reply.raw) == ("", "tool_calls", content)
    function = {"name": "click", "description": "Clicks.", "parameters": CLICK.parameters}
    assert body["tools"] == [{"type": "function", "function": function}]


async def test_a_turn_with_calls_and_its_results_go_back_in_openais_shape() -> None:
    call = ToolCall(id="c", name="click", arguments="{}")
    result = (
        {"type": "text", "text": "done"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    )
    turns = (
        Message(role="assistant", content="", tool_calls=(call,)),
        Message(role="tool", content=result, tool_call_id="c"),
    )
    _, body = await asked(answer("stop", content="hi"), *turns)
    plain = {"id": "c", "type": "function", "function": {"name": "click", "arguments": "{}"}}
    assert body["messages"] == [
        {"role": "assistant", "content": "", "tool_calls": [plain]},
        {"role": "tool", "content": list(result), "tool_call_id": "c"},
    ]
    assert "tools" not in body


async def test_strict_is_sent_only_where_it_is_asked_for() -> None:
    strict = Tool(name="stop", description="", parameters={"type": "object"}, strict=True)
    _, body = await asked(answer(content="hi"), tools=[CLICK, strict])
    assert [one["function"].get("strict") for one in body["tools"]] == [None, True]


async def test_there_is_no_computer_tool_here() -> None:
    with pytest.raises(ConfigError, match=r"choose llm\.api"):
        await asked(answer(), tools=[ComputerTool(width=10, height=10)])


@pytest.mark.parametrize("extra", [{"extra_content": {"google": {"thought_signature": "abc"}}}])
async def test_signatures_on_calls_go_back_as_they_came(extra: dict[str, Any]) -> None:
    signed = {**CALL, **extra}
    reply, _ = await asked(answer(tool_calls=[signed], reasoning_content="hm"))
    assert reply.reasoning == "hm" and reply.items
    _, body = await asked(answer(), reply.turn())
    assert body["messages"] == [{"role": "assistant", "content": None, "tool_calls": [signed]}]


async def test_tokens_of_the_cache_and_of_reasoning_are_counted_and_priced_apart() -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 800, "cache_write_tokens": 100},
        "completion_tokens_details": {"reasoning_tokens": 64},
    }
    price = Price(prompt_per_mtok=10.0, completion_per_mtok=20.0, cached_per_mtok=1.0, cache_write_per_mtok=12.5)
    reply, _ = await asked(answer("stop", usage, content="hi"), prices={"scripted": price})
    assert (reply.usage.cached_tokens, reply.usage.reasoning_tokens, reply.usage.prompt_tokens) == (800, 64, 1000)
    assert reply.usage.cache_write_tokens == 100
    assert reply.usage.cost_usd == pytest.approx((100 * 10 + 800 * 1 + 100 * 12.5 + 100 * 20) / 1e6)
    assert reply.usage.saved_usd == pytest.approx((800 * 9 - 100 * 2.5) / 1e6)


@pytest.mark.parametrize(
    ("counts", "reasoning", "completion"),
    [
        ((10120, 1499, 14428), 2809, 4308),  # xAI
        ((20, 151, 553), 0, 533),  # Gemini
        ((20, 151, 171), 100, 151),  # OpenAI
        ((20, 151, 3), 0, 151),
        ((20, 151, None), 0, 151),
        ((20, 151, 1 << 60), 0, 151),
        ((0, 151, 553), 0, 151),
    ],
)
async def test_reasoning_that_is_in_the_total_only_is_counted(
    counts: tuple[Any, ...], reasoning: int, completion: int
) -> None:
    usage = dict(zip(("prompt_tokens", "completion_tokens", "total_tokens"), counts, strict=True))
    usage |= {"completion_tokens_details": {"reasoning_tokens": reasoning}}
    reply, _ = await asked(answer("stop", usage, content="hi"))
    assert (reply.usage.completion_tokens, reply.usage.reasoning_tokens) == (completion, reasoning)


@pytest.mark.parametrize(
    ("finish", "message", "unfinished"),
    [
        ("stop", {"content": "hi"}, ""),
        ("length", {"content": "```sto"}, "length"),
        ("content_filter", {"content": ""}, "content_filter"),
        ("stop", {"refusal": "No."}, "refusal"),
        ("eos_token", {"content": "hi"}, ""),
        (None, {"content": "hi"}, ""),
        ({"a": 1}, {"content": "hi"}, ""),
    ],
)
async def test_how_an_answer_ended(finish: Any, message: dict[str, Any], unfinished: str) -> None:
    reply, _ = await asked(answer(finish, **message))
    assert reply.unfinished == unfinished and bool(reply.why_unfinished) == bool(unfinished)


@pytest.mark.parametrize(
    "calls",
    [3, "x", [None, 3, "x"], [{"function": 3}], [{"id": 3, "function": {"name": 4, "arguments": {"a": 1}}}], {"a": 1}],
)
async def test_calls_that_are_none_do_no_harm(calls: Any) -> None:
    reply, _ = await asked(answer(tool_calls=calls))
    assert all(isinstance(one.arguments, str) and isinstance(one.name, str) for one in reply.tool_calls)
