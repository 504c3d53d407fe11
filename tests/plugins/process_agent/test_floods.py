"""Floods of an agent's process: its worker, which other episodes share, stays within the bounds of docs/pages/limits.md."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from harness.plugins.process_agent.cdp.client import Client, bounded
from harness.plugins.process_agent.intake import Intake, Overload
from tests.plugins.process_agent.driven import RAW
from tests.plugins.process_agent.processes import HEAD

pytestmark = pytest.mark.integration
WORKER_MB = 1024
"""What the documentation says that a worker with one such process takes at most."""
TOOLS = (
    HEAD
    + """
import socket, threading
from urllib.parse import urlsplit
where = urlsplit(os.environ["CAIRN_URL"])
def opened():
    return socket.create_connection((where.hostname, where.port), timeout=60)
def head(size, path="/v1/chat/completions"):
    return ("POST %s HTTP/1.1\\r\\nhost: x\\r\\nauthorization: Bearer %s\\r\\ncontent-length: %d\\r\\n\\r\\n"
            % (path, os.environ["CAIRN_TOKEN"], size)).encode()
def status(one):
    try:
        return one.recv(1 << 16)[9:12].decode()
    except OSError:
        return "cut"
def push(one, data):
    try:
        one.sendall(data)
    except OSError:
        pass
def hang_up(one):
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
def together(work, count):
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for one in threads: one.start()
    for one in threads: one.join()
def ends(found):
    print(json.dumps(found))
    print(json.dumps({"answer": "done"}))
def still_served():
    for _ in range(300):
        if (said := ask("still there?")) not in (429, 503): return said
        time.sleep(0.1)
"""
)
UNFINISHED = """
MB = 1 << 20
connections = [opened() for _ in range(24)]
said = []
def flood(number):
    one = connections[number]
    one.settimeout(300)
    push(one, head(63 * MB) + b"x" * (62 * MB))
    said.append(status(one))
threads = [threading.Thread(target=flood, args=(number,), daemon=True) for number in range(24)]
for one in threads: one.start()
for _ in range(3000):  # two have room; they get no answer, because they never end
    if len(said) >= 22: break
    time.sleep(0.1)
for one in connections: hang_up(one)
ends("%d refused, %s" % (said.count("429"), still_served()))
"""
BOMBS = """
body = b'{"model": "m", "messages": [' + b"[]," * 15_000_000 + b"[]]}"
def flood(number):
    one = opened()
    push(one, head(len(body)) + body)
    found.append(status(one))
found = []
together(flood, 4)
together(lambda number: found.append(str(post("/actions/goto", body)[0])), 2)
ends("%s, %s" % (sorted(set(found)), still_served()))
"""
CONNECTIONS = """
held, said = [], []
for number in range(300):
    one = opened()
    held.append(one)
for one in held[256:]: said.append(status(one))
for one in held: one.close()
ends("%s, %s" % (sorted(set(said)), still_served()))
"""
HANG_UPS = """
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * 1_000_000}]}).encode()
for number in range(400):
    one = opened()
    push(one, head(len(body)) + body)
    one.close()
ends(still_served())
"""


def flooded(script: str, folder: Path, *kind: str) -> dict[str, Any]:
    (path := folder / "flood.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "-m", "tests.plugins.process_agent.flooded", str(path), str(folder), *kind],
        capture_output=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert b"Traceback" not in done.stderr, done.stderr.decode()[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_unfinished_requests_are_bounded_together(tmp_path: Path) -> None:
    found = flooded(TOOLS + UNFINISHED, tmp_path)
    refused, served = found["said"].split(" refused, ")
    assert int(refused) >= 20 and served.startswith("r") and found["mb"] < WORKER_MB
    assert found["tries"] >= 20 and "more than 128 MB together" in " ".join(found["violations"])


@pytest.mark.slow
def test_json_of_many_values_is_not_read(tmp_path: Path) -> None:
    found = flooded(TOOLS + BOMBS, tmp_path)
    assert found["said"].endswith("r1") and "413" in found["said"] and "200" not in found["said"]
    assert found["mb"] < WORKER_MB and found["asked"] == 1


@pytest.mark.slow
def test_connections_are_bounded_and_the_others_are_told(tmp_path: Path) -> None:
    found = flooded(TOOLS + CONNECTIONS, tmp_path)
    assert found["said"] == "['503'], r1" and found["violations"] == ["more than 256 connections at the same time"]
    assert found["tries"] == 44


@pytest.mark.slow
def test_requests_whose_clients_hang_up_are_bounded(tmp_path: Path) -> None:
    found = flooded(TOOLS + HANG_UPS, tmp_path)
    assert found["said"].startswith("r") and found["mb"] < WORKER_MB


CLIENTS = """
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
held, refused = [], 0
for number in range(100):
    try:
        held.append(Cdp())
    except InvalidStatus as error:
        refused += error.response.status_code == 503
for one in held: one.socket.close()
print(json.dumps([len(held), refused]))
print(json.dumps({"answer": "done"}))
"""
COMMANDS = """
import threading
from websockets.exceptions import ConnectionClosed
held, never = [Cdp(max_queue=None) for _ in range(24)], threading.Event()
sessions = [one.attach() for one in held]
def unfinished():
    for _ in range(10): yield b"x" * (2 << 20)
    never.wait()
def flood(number):
    one, session = held[number], sessions[number]
    try:
        for count in range(1000, 3000 if number % 2 else 1000):
            one.socket.send(json.dumps({"id": count, "sessionId": session, "method": "DOM.focus", "params": {"nodeId": 1}}))
        one.socket.send(unfinished(), text=True)
    except (ConnectionClosed, OSError):
        pass
threads = [threading.Thread(target=flood, args=(number,), daemon=True) for number in range(24)]
for one in threads: one.start()
for _ in range(3000):  # six have room for 20 MB
    codes = [one.socket.close_code for one in held if one.socket.close_code is not None]
    if len(codes) >= 18: break
    time.sleep(0.1)
for one in held:
    try:
        one.socket.socket.shutdown(2)
    except OSError:  # it was cut off
        pass
served = False
for _ in range(300):
    try:
        served = bool(Cdp().pages())
        break
    except (ConnectionClosed, OSError):  # the others are not gone yet
        time.sleep(0.1)
print(json.dumps([codes, served]))
print(json.dumps({"answer": "done"}))
"""
UNREAD = """
import base64, socket
from urllib.parse import urlsplit
from websockets.frames import Frame, Opcode
def opened():  # the package would read while nobody asks for a message
    url = urlsplit(os.environ["CAIRN_CDP_URL"])
    one = socket.create_connection((url.hostname, url.port), timeout=300)
    key = base64.b64encode(os.urandom(16)).decode()
    one.sendall(("GET %s/devtools/browser HTTP/1.1\\r\\nhost: x\\r\\nupgrade: websocket\\r\\nconnection: Upgrade\\r\\n"
        "sec-websocket-version: 13\\r\\nsec-websocket-key: %s\\r\\n\\r\\n" % (url.path, key)).encode())
    return one.makefile("rwb")
def send(one, **message):
    one.write(Frame(Opcode.TEXT, json.dumps(message).encode()).serialize(mask=True))
    one.flush()
def heard(one):
    kind, size = one.read(2) or b"\\x88\\x00"
    if kind & 15 == Opcode.CLOSE: raise EOFError
    return one.read(int.from_bytes(one.read({126: 2, 127: 8}[size])) if size > 125 else size)
def until(one, said):
    while said not in (found := heard(one)): pass
    return json.loads(found)
cdp = Cdp()
session, target = cdp.attach(), cdp.pages()[0]["targetId"]
held = [opened() for _ in range(12)]
for one in held:
    while one.readline().strip(): pass
    send(one, id=1, method="Target.attachToTarget", params={"targetId": target, "flatten": True})
    its = until(one, b'"id":1')["result"]["sessionId"]
    send(one, id=900, sessionId=its, method="Runtime.evaluate",
        params={"expression": "window.asked = (window.asked || 0) + 1; 'x'.repeat(40e6)", "returnByValue": True})
cdp.until(session, "window.asked == 12")
served = len(cdp.value(session, "'y'.repeat(1e6)")) == 1_000_000
answered = 0
for one in held:
    try:
        answered += len(heard(one)) > 40_000_000
    except (EOFError, OSError):
        pass
print(json.dumps([served, answered]))
print(json.dumps({"answer": "done"}))
"""


@pytest.mark.slow
@pytest.mark.browser
def test_answers_that_no_client_reads_are_bounded(tmp_path: Path) -> None:
    found = flooded(RAW + UNREAD, tmp_path, "cdp")
    assert found["said"] == [True, 3] and found["mb"] < WORKER_MB  # three answers of 40 MB are less than 128 MB


@pytest.mark.slow
@pytest.mark.browser
def test_clients_of_the_relay_are_bounded_and_the_others_are_told(tmp_path: Path) -> None:
    found = flooded(RAW + CLIENTS, tmp_path, "cdp")
    assert found["said"] == [32, 68] and found["tries"] == 68
    assert found["violations"] == ["more than 32 clients at the same time"]


@pytest.mark.slow
@pytest.mark.browser
def test_commands_of_all_clients_together_are_bounded(tmp_path: Path) -> None:
    found = flooded(RAW + COMMANDS, tmp_path, "cdp")
    codes, served = found["said"]
    assert served and len(codes) >= 18 and set(codes) <= {1013, 1006} and 1013 in codes, found
    assert found["mb"] < WORKER_MB
    assert "more than 128 MB together" in " ".join(found["violations"])


async def test_small_commands_that_wait_count_as_much_as_they_take() -> None:
    received = 0

    async def keep(client: ServerConnection) -> None:
        nonlocal received
        assert isinstance(client, Client)
        with suppress(ConnectionClosed):
            while True:
                try:
                    client.received(await client.recv(decode=False))
                    received += 1
                except Overload as error:
                    client.fail(error)

    intake = Intake(1 << 20)
    async with serve(keep, "127.0.0.1", 0, create_connection=bounded(intake, [].append)) as server:
        where = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with connect(where) as client:
            for _ in range(1100):
                await client.send("{}")
            await client.wait_closed()
    assert client.close_code == 1013 and 900 < received <= 1024
