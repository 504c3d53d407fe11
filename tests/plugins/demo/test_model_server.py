"""The scripted endpoint over real HTTP: protocol, faults, log, and its life as a process."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.errors import ConfigError
from harness.loopback_server import serving
from harness.plugins.demo.model.fault_injection import read_faults
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripts import Script, Scripts, ScriptStep

PLANS = Scripts(
    by_intent={
        "Buy tea.": Script(
            task_id="7", steps=(ScriptStep(do="click", name="Tea"), ScriptStep(do="stop", answer="done"))
        ),
        "Go back.": Script(task_id="8", steps=(ScriptStep(do="go_back"),)),
    }
)


def body(*previous: str, objective: str = "Buy tea.", **further: Any) -> dict[str, Any]:
    history = "\n".join(f"{n}. {line}" for n, line in enumerate(previous, start=1)) or "None"
    user = f"OBSERVATION:\n[2] link 'Tea'\nURL:\nu\nOBJECTIVE:\n{objective}\nPREVIOUS ACTIONS:\n{history}"
    messages = [{"role": "system", "content": "click [id]"}, {"role": "user", "content": user}]
    return {"model": "scripted", "messages": messages, **further}


@asynccontextmanager
async def endpoint(*faults: dict[str, Any], **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    app = endpoint_app(PLANS, read_faults(list(faults)), **options)
    async with serving(app) as port:
        base = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=base, verify=False) as client:  # reading certificates takes 25 ms
            yield client


async def ask(client: httpx.AsyncClient, *previous: str, **further: Any) -> httpx.Response:
    return await client.post("/v1/chat/completions", json=body(*previous, **further))


async def test_a_completion_has_openais_shape_and_follows_from_the_request_alone() -> None:
    async with endpoint() as client:
        first, between, again = await ask(client), await ask(client, "click [2]"), await ask(client)
        assert first.content == again.content != between.content
        data = first.json()
        assert data["object"] == "chat.completion"
        assert data["model"] == "scripted"
        assert data["choices"][0]["message"]["role"] == "assistant"
        assert data["choices"][0]["message"]["content"].endswith("```click [2]```")
        assert data["usage"]["total_tokens"] == data["usage"]["prompt_tokens"] + data["usage"]["completion_tokens"] > 10
        assert "```stop [done]```" in between.json()["choices"][0]["message"]["content"]
        assert (await client.get("/v1/models")).json()["data"][0]["id"] == "scripted"


async def test_a_stream_carries_the_same_text_and_usage_when_asked() -> None:
    async with endpoint() as client:
        whole = (await ask(client)).json()
        for options, has_usage in (({"include_usage": True}, True), ({}, False)):
            streamed = await ask(client, stream=True, stream_options=options)
            assert streamed.headers["content-type"].startswith("text/event-stream")
            events = [line.removeprefix("data: ") for line in streamed.text.split("\n\n") if line]
            assert events[-1] == "[DONE]"
            chunks = [json.loads(event) for event in events[:-1]]
            text = "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])
            assert text == whole["choices"][0]["message"]["content"]
            assert [c["usage"] for c in chunks if "usage" in c] == ([whole["usage"]] if has_usage else [])


@pytest.mark.parametrize("status", [400, 401, 404, 408, 429, 500, 503])
async def test_a_status_fault_has_openais_error_shape(status: int) -> None:
    async with endpoint({"do": str(status), "retry_after": 3}) as client:
        answer = await ask(client)
        assert answer.status_code == status
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
        assert answer.headers["retry-after"] == "3"


async def test_broken_answers_are_broken_in_the_way_they_are_named() -> None:
    rules = [
        {"do": do, "on": {"step": n}} for n, do in enumerate(("malformed", "empty", "unparseable", "cut"), start=1)
    ]
    async with endpoint(*rules) as client:
        malformed = await ask(client)
        assert malformed.status_code == 200
        with pytest.raises(json.JSONDecodeError):
            malformed.json()
        assert (await ask(client, "click [2]")).json()["choices"] == []
        unparseable = await ask(client, "click [2]", "go_back")
        assert "```" not in unparseable.json()["choices"][0]["message"]["content"]
        with pytest.raises(httpx.RemoteProtocolError):
            await ask(client, "click [2]", "go_back", "go_back")


async def test_a_hung_request_ends_only_when_the_client_goes() -> None:
    async with endpoint({"do": "hang", "on": {"task_id": 7}}) as client:
        with pytest.raises(httpx.ReadTimeout):
            await client.post("/v1/chat/completions", json=body(), timeout=0.2)
        assert (await ask(client, objective="Go back.")).status_code == 200


async def test_slow_and_latency_delay_the_answer_and_change_nothing_in_it() -> None:
    async with endpoint({"do": "slow", "delay_ms": 150, "on": {"step": 1}}, latency_ms=50) as client:
        loop = asyncio.get_running_loop()
        began = loop.time()
        slow = await ask(client)
        took = loop.time() - began
        assert took >= 0.2
        assert "```click [2]```" in slow.json()["choices"][0]["message"]["content"]


async def test_first_hits_each_request_anew_and_every_hits_the_nth() -> None:
    async with endpoint({"do": "503", "on": {"first": 2}}) as client:
        assert [(await ask(client)).status_code for _ in range(3)] == [503, 503, 200]
        assert [(await ask(client, "click [2]")).status_code for _ in range(3)] == [503, 503, 200]
    async with endpoint({"do": "429", "on": {"every": 3, "task_id": "7"}}) as client:
        codes = [(await ask(client)).status_code for _ in range(3)]
        codes += [(await ask(client, objective="Go back.")).status_code for _ in range(3)]
        codes += [(await ask(client)).status_code for _ in range(3)]
        assert codes == [200, 200, 429, 200, 200, 200, 200, 200, 429]


async def test_the_log_tells_every_request_and_the_stats_count_them() -> None:
    async with endpoint({"do": "cut", "on": {"step": 2, "first": 1}}) as client:
        await ask(client)
        with pytest.raises(httpx.RemoteProtocolError):
            await ask(client, "click [2]")
        await ask(client, "click [2]")
        await client.post("/v1/chat/completions", content=b"[]")
        log = (await client.get("/__requests__")).json()
        assert [(one["sequence"], one["task_id"], one["step"], one["status"], one["fault"]) for one in log] == [
            (1, "7", 1, 200, None),
            (2, "7", 2, None, "cut"),
            (3, "7", 2, 200, None),
            (4, None, 0, 400, None),
        ]
        assert log[1]["body"] == log[2]["body"] != log[0]["body"]
        stats = (await client.get("/__stats__")).json()
        assert stats["requests"] == 4 and stats["by_status"] == {"200": 2, "400": 1, "none": 1}
        assert stats["most_at_once"] >= 1


async def test_only_the_right_key_is_let_in_when_one_is_required() -> None:
    async with endpoint(api_key="sesame") as client:
        for headers in ({}, {"authorization": "Bearer other"}):
            answer = await client.post("/v1/chat/completions", json=body(), headers=headers)
            assert answer.status_code == 401
            assert answer.json()["error"]["code"] == "invalid_api_key"
            assert (await client.get("/v1/models", headers=headers)).status_code == 401
        key = {"authorization": "Bearer sesame"}
        assert (await client.post("/v1/chat/completions", json=body(), headers=key)).status_code == 200
    async with endpoint() as client:
        assert (await client.post("/v1/chat/completions", json=body(), headers=key)).status_code == 200


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b'{"messages": 1}', b'{"messages": [1]}'])
async def test_a_body_that_is_no_chat_request_is_refused(content: bytes) -> None:
    async with endpoint() as client:
        assert (await client.post("/v1/chat/completions", content=content)).status_code == 400


@pytest.mark.parametrize(
    "rule",
    [
        1,
        {},
        {"do": "explode"},
        {"do": "200"},
        {"do": "429", "on": {"step": 0}},
        {"do": "429", "on": {"first": True}},
        {"do": "429", "retry_after": -1},
        {"do": "429", "on": []},
        {"do": "429", "when": 1},
        {"do": "429", "on": {"do": "500"}},
        {"do": "slow", "delay_ms": "1"},
    ],
)
def test_a_wrong_fault_rule_is_one_sentence(rule: Any) -> None:
    with pytest.raises(ConfigError, match="rule 1"):
        read_faults([rule])


async def start(folder: Path, *options: str) -> asyncio.subprocess.Process:
    (folder / "intents.json").write_text(json.dumps({"7": "Buy tea at __SHOP__."}))
    (folder / "plans.json").write_text(json.dumps([{"task_id": 7, "steps": [{"do": "goto", "url": "__SHOP__/tea"}]}]))
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "harness.plugins.demo.model.model_server", "--intents", str(folder / "intents.json")),
        *options,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_the_process_says_its_port_serves_and_ends_with_its_standard_input(tmp_path: Path) -> None:
    shop = '{"__SHOP__": "http://shop.localhost"}'
    process = await start(tmp_path, "--plans", str(tmp_path / "plans.json"), "--placeholders", shop)
    assert process.stdout and process.stdin
    line = (await process.stdout.readline()).decode()
    assert line.startswith("endpoint ready on port ")
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{int(line.split()[-1])}") as client:
        answer = await ask(client, objective="Buy tea at __SHOP__.")
        assert "goto [http://shop.localhost/tea]" in answer.json()["choices"][0]["message"]["content"]
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 60) == 0


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "options",
    [
        ("--plans", "nope.json"),
        ("--plans", "plans.json", "--faults", "{"),
        ("--plans", "plans.json", "--placeholders", "1"),
    ],
)
async def test_a_wrong_option_is_one_sentence_and_exit_code_2(tmp_path: Path, options: tuple[str, ...]) -> None:
    process = await start(tmp_path, *(str(tmp_path / one) if one.endswith("json") else one for one in options))
    _, errors = await process.communicate()
    assert process.returncode == 2
    assert errors.count(b"\n") == 1
