"""Floods of an agent's process: its worker, which other episodes share, stays within the bounds of docs/pages/limits.md."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.driven import RAW
from tests.gateway.processes import HEAD

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
    push(one, head(63 * MB) + b"x" * (62 * MB))
    one.settimeout(1)
    said.append(status(one))
together(flood, 24)
for one in connections: one.close()
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
        [sys.executable, "-m", "tests.gateway.flooded", str(path), str(folder), *kind],
        capture_output=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert b"Traceback" not in done.stderr, done.stderr.decode()[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_unfinished_requests_are_bounded_together(tmp_path: Path) -> None:
    found = flooded(TOOLS + UNFINISHED, tmp_path)
    refused, served = found["said"].split(" refused, ")
    assert int(refused) >= 20 and served.startswith("r") and found["mb"] < WORKER_MB
    assert found["tries"] >= 20 and "more than 128 MB together" in " ".join(found["violations"])


def test_json_of_many_values_is_not_read(tmp_path: Path) -> None:
    found = flooded(TOOLS + BOMBS, tmp_path)
    assert found["said"].endswith("r1") and "413" in found["said"] and "200" not in found["said"]
    assert found["mb"] < WORKER_MB and found["asked"] == 1


def test_connections_are_bounded_and_the_others_are_told(tmp_path: Path) -> None:
    found = flooded(TOOLS + CONNECTIONS, tmp_path)
    assert found["said"] == "['503'], r1" and found["violations"] == ["more than 256 connections at the same time"]
    assert found["tries"] == 44


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
codes = []
def flood(number):
    one = Cdp()
    session = one.attach()
    one.socket.send(json.dumps({"id": 900, "sessionId": session, "method": "Runtime.evaluate",
        "params": {"expression": "new Promise(() => 0)", "awaitPromise": True}}))
    try:
        if number % 2:  # as one message, which does not end
            for _ in range(30):
                one.socket.send((b"x" * (2 << 20) for _ in range(40)), text=True)
        for count in range(1000, 200_000):
            one.socket.send(json.dumps({"id": count, "sessionId": session, "method": "DOM.focus", "params": {"nodeId": 1}}))
    except ConnectionClosed as error:
        codes.append(error.rcvd.code if error.rcvd else 0)
    except OSError:
        codes.append(0)
threads = [threading.Thread(target=flood, args=(number,), daemon=True) for number in range(24)]
for one in threads: one.start()
for one in threads: one.join(20)
cdp = Cdp()
print(json.dumps([codes, bool(cdp.pages())]))
print(json.dumps({"answer": "done"}))
"""
UNREAD = """
held = [Cdp() for _ in range(10)]
for one in held:
    one.socket.send(json.dumps({"id": 900, "sessionId": one.attach(), "method": "Runtime.evaluate",
        "params": {"expression": "'x'.repeat(90e6)", "returnByValue": True}}))
cdp = Cdp()
session = cdp.attach()
for _ in range(300):  # each of them was answered, or hung up
    if len(cdp.value(session, "'y'.repeat(1e6)")) != 1_000_000: break
    time.sleep(0.02)
print(json.dumps([bool(cdp.pages())]))
print(json.dumps({"answer": "done"}))
"""


@pytest.mark.browser
def test_answers_that_no_client_reads_are_bounded(tmp_path: Path) -> None:
    found = flooded(RAW + UNREAD, tmp_path, "cdp")
    assert found["said"] == [True] and found["mb"] < WORKER_MB


@pytest.mark.browser
def test_clients_of_the_relay_are_bounded_and_the_others_are_told(tmp_path: Path) -> None:
    found = flooded(RAW + CLIENTS, tmp_path, "cdp")
    assert found["said"] == [32, 68] and found["tries"] == 68
    assert found["violations"] == ["more than 32 clients at the same time"]


@pytest.mark.browser
def test_commands_of_all_clients_together_are_bounded(tmp_path: Path) -> None:
    found = flooded(RAW + COMMANDS, tmp_path, "cdp")
    codes, served = found["said"]
    assert served and codes.count(1013) > 12 and found["mb"] < WORKER_MB, found
    assert "more than 128 MB together" in " ".join(found["violations"])
