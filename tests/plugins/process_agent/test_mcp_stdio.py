"""The MCP server over standard input and output, as an agent's process finds it in its configuration."""

import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.actions import Goto, Stop
from harness.plugins.process_agent import mcp_stdio
from tests.plugins.process_agent.processes import HEAD, spoken

pytestmark = pytest.mark.integration

SPEAK = (
    HEAD
    + """
import subprocess
server = json.load(open(os.environ["CAIRN_MCP_CONFIG"]))["mcpServers"]["cairn"]
bridge = subprocess.Popen(
    [server["command"], *server["args"]], env=server["env"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)
def say(line):
    bridge.stdin.write(line + "\\n"); bridge.stdin.flush()
def speak(method, params=None, id=1):
    say(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}, "id": id}))
    return bridge.stdout.readline()
"""
)


async def test_a_client_calls_tools_as_over_http(tmp_path: Path) -> None:
    said, journal = await spoken(
        tmp_path,
        SPEAK + "print(speak('initialize', {'protocolVersion': '2025-06-18'}), end='')\n"
        "say(json.dumps({'jsonrpc': '2.0', 'method': 'notifications/initialized'}))\n"
        "print(speak('tools/call', {'name': 'goto', 'arguments': {'url': 'http://site.test/'}}, id='a'), end='')\n"
        "speak('tools/call', {'name': 'stop', 'arguments': {'answer': 'x'}})\n"
        "bridge.stdin.close(); print(bridge.wait())",
    )
    assert said[0]["result"]["protocolVersion"] == "2025-06-18"
    assert said[1]["id"] == "a" and "link 'two'" in said[1]["result"]["content"][0]["text"]
    assert said[2] == 0
    assert journal.episode.pending is None or isinstance(journal.episode.pending.action, Stop)
    assert [type(step.decided.action) for step in journal.episode.steps] == [Goto]


async def test_what_cannot_be_passed_on_is_answered_with_an_error(tmp_path: Path) -> None:
    said, _ = await spoken(
        tmp_path,
        SPEAK + "say('{'); print(bridge.stdout.readline(), end='')\n"
        "server['env']['CAIRN_TOKEN'] = 'of-another-lane'\n"
        "bridge = subprocess.Popen([server['command'], *server['args']], env=server['env'], stdin=subprocess.PIPE,"
        " stdout=subprocess.PIPE, text=True)\n"
        "print(speak('tools/list', id=7), end='')\n"
        "post('/actions/stop', {'answer': 'x'})",
    )
    assert (said[0]["id"], said[0]["error"]["code"]) == (None, -32700)
    assert said[1]["id"] == 7 and "HTTP 401" in said[1]["error"]["message"]


def test_outside_a_run_it_says_what_is_missing() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", mcp_stdio.__file__],
        env={},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2 and "CAIRN_MCP_URL" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("sent", [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}", b"nothing of HTTP\r\n\r\n"])
def test_an_answer_that_breaks_off_is_an_error_and_the_next_message_is_read(sent: bytes) -> None:
    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(sent)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve)
        serving.start()
        answer = mcp_stdio.answer_to(b'{"id": 3}', f"http://127.0.0.1:{listener.getsockname()[1]}", "token")
        serving.join()
    told = json.loads(answer or b"null")
    assert told["id"] == 3 and "cannot be reached" in told["error"]["message"]
    assert b"-32700" in (mcp_stdio.answer_to(b"[" * 100_000, "http://127.0.0.1:1", "token") or b"")
