"""The MCP server of an episode, message by message; `make test-agents` has the official client speak to it."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.actions import AskUser, Goto, InvalidAction
from harness.loopback_server import Clients, serving
from harness.plugins.process_agent.call_result import CallResult
from harness.plugins.process_agent.events import Inbox
from harness.plugins.process_agent.http_app import gateway_app
from harness.plugins.process_agent.intake import Intake
from harness.records import ScriptedUser
from harness.testing import a_task
from tests.plugins.process_agent.processes import HEAD, spoken
from tests.waiting import until

pytestmark = pytest.mark.integration

SPEAK = (
    HEAD
    + """
def speak(method, params=None, id=1, accept="application/json"):
    message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    headers = {"Authorization": "Bearer " + os.environ["CAIRN_TOKEN"], "Accept": accept}
    data = json.dumps(message if id is None else {**message, "id": id}).encode()
    with urllib.request.urlopen(urllib.request.Request(os.environ["CAIRN_MCP_URL"], data, headers)) as answer:
        return answer.status, answer.headers["content-type"], answer.read().decode()
"""
)


async def test_a_client_is_welcomed_in_its_own_version(tmp_path: Path) -> None:
    said, _ = await spoken(
        tmp_path,
        SPEAK + "for version in ('2025-06-18', 'of-tomorrow'):\n"
        "    print(speak('initialize', {'protocolVersion': version})[2])\n"
        "print(json.dumps(speak('notifications/initialized', id=None)[0]))\n"
        "print(speak('ping')[2]); print(speak('resources/list')[2])\n"
        "speak('tools/call', {'name': 'stop', 'arguments': {'answer': 'x'}})",
    )
    versions = [one["result"]["protocolVersion"] for one in said[:2]]
    assert versions == ["2025-06-18", "2025-11-25"] and said[0]["result"]["capabilities"] == {
        "tools": {"listChanged": False}
    }
    assert said[2] == 202 and said[3]["result"] == {} and said[4]["error"]["code"] == -32601


async def test_tools_are_the_actions_and_a_call_is_a_step(tmp_path: Path) -> None:
    said, journal = await spoken(
        tmp_path,
        SPEAK + "print(speak('tools/list')[2])\n"
        "print(speak('tools/call', {'name': 'observe'})[2])\n"
        "print(speak('tools/call', {'name': 'goto', 'arguments': {'url': 'http://site.test/'}})[2])\n"
        "print(speak('tools/call', {'name': 'fly'})[2])\n"
        "print(speak('tools/call', {'name': 7})[2])\n"
        "speak('tools/call', {'name': 'stop', 'arguments': {'answer': 'x'}})",
    )
    tools = {one["name"]: one for one in said[0]["result"]["tools"]}
    assert {"observe", "click", "goto", "stop"} <= tools.keys()
    assert tools["goto"]["inputSchema"]["required"] == ["url"]
    assert "link 'one'" in said[1]["result"]["content"][0]["text"] and not said[1]["result"]["isError"]
    assert said[2]["result"]["content"][0]["text"].startswith("RESULT: done\nOBSERVATION:")
    assert "link 'two'" in said[2]["result"]["content"][0]["text"]
    assert said[3]["result"]["isError"] and said[4]["error"]["code"] == -32602
    actions = [type(step.decided.action) for step in journal.episode.steps]
    assert actions == [Goto, InvalidAction]


async def test_the_user_of_a_task_is_a_tool_more(tmp_path: Path) -> None:
    script = (
        SPEAK + "print(speak('tools/list')[2])\n"
        "print(speak('tools/call', {'name': 'ask_user', 'arguments': {'question': 'May I?'}})[2])\n"
        "speak('tools/call', {'name': 'stop', 'arguments': {'answer': 'x'}})"
    )
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    said, journal = await spoken(tmp_path / "with", script, replace(a_task(), user=ScriptedUser()))
    plain, other = await spoken(tmp_path / "without", script)
    tools, fewer = ([one["name"] for one in answer["result"]["tools"]] for answer in (said[0], plain[0]))
    assert tools == [*fewer, "ask_user"]
    assert journal.episode.steps[0].decided.action == AskUser(question="May I?")
    assert isinstance(other.episode.steps[0].decided.action, InvalidAction)


async def test_a_call_is_answered_as_a_stream_where_the_client_takes_one(tmp_path: Path) -> None:
    said, _ = await spoken(
        tmp_path,
        SPEAK + "both = 'application/json, text/event-stream'\n"
        "print(json.dumps(speak('tools/call', {'name': 'observe'}, accept=both)))\n"
        "speak('tools/call', {'name': 'stop', 'arguments': {'answer': 'x'}})",
    )
    status, kind, body = said[0]
    assert (status, kind.partition(";")[0]) == (200, "text/event-stream")
    assert json.loads(body.partition("data: ")[2])["id"] == 1


async def test_messages_that_cannot_be_answered_in_kind_are_errors(tmp_path: Path) -> None:
    """Nested deeper than JSON is written, with an id that is sent back or arguments that are recorded."""
    said, _ = await spoken(
        tmp_path,
        SPEAK + "deep = json.loads('[' * 900 + ']' * 900)\n"
        "for how in ('application/json', 'text/event-stream'):\n"
        "    said = speak('tools/call', {'name': 'goto', 'arguments': {'url': deep}}, accept=how)\n"
        "    print(json.dumps([said[0], '-32602' in said[2]]))\n"
        "body = {'jsonrpc': '2.0', 'id': deep, 'method': 'ping'}\n"
        "print(json.dumps(post('/mcp', body)[0]))\n"
        "speak('tools/call', {'name': 'stop', 'arguments': {'answer': 'x'}})",
    )
    assert said == [[200, True], [200, True], 400]


async def test_a_call_whose_client_has_hung_up_counts_until_it_is_over() -> None:
    begun, may_end = list[str](), asyncio.Event()

    async def call(name: str, arguments: object) -> CallResult:
        begun.append(name)
        await may_end.wait()
        return CallResult(text="done")

    inbox, intake = Inbox(), Intake(300_000)
    tries = list[str]()
    violations = SimpleNamespace(found=lambda guarded, what: tries.append(what))
    deps: Any = SimpleNamespace(inbox=inbox, intake=intake, violations=violations)
    boundary: Any = SimpleNamespace(call=call)
    params = {"name": "goto", "arguments": {"url": "x" * 100_000}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    head = f"POST /mcp HTTP/1.1\r\nhost: x\r\nx-api-key: t\r\naccept: text/event-stream\r\ncontent-length: {len(body)}"

    async def status(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{head}\r\n\r\n".encode() + body)
        said = await reader.readuntil(b"\r\n")
        writer.close()
        await writer.wait_closed()
        return said.split()[1]

    app = gateway_app(deps, boundary, boundary, token="t", task=b"{}")
    async with serving(app, clients=Clients(most=10)) as port:
        assert [await status(port) for _ in range(4)] == [b"200", b"200", b"429", b"429"]
        await until(lambda: len(begun) == 2)
        assert len(tries) == 2
        may_end.set()
        await until(lambda: intake._held == 0)
        assert await status(port) == b"200"
