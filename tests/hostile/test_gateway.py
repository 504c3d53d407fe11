"""Hostile requests to gateway and relay, by a process that has the token: none ends the run, takes memory or shows a secret."""

from pathlib import Path

import pytest

from tests.llm.test_endpoint_model import KEY
from tests.plugins.process_agent.driven import RAW
from tests.plugins.process_agent.test_floods import TOOLS, WORKER_MB, flooded

pytestmark = pytest.mark.integration
HTTP = (
    TOOLS
    + """
import random
random.seed(SEED)
token = os.environ["CAIRN_TOKEN"]
paths = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/models", "/mcp", "/actions/goto", "/actions/stop%00",
    "/actions/" + "x" * 5000, "/observation", "/task", "/task/", "/", "//", "/../../etc/passwd", "/%2e%2e/task", "/\\xff", "*",
    "http://[/task", "http://127.0.0.1/task", "/actions/%ed%a0%80", "/?" + "q" * 20000, "/v1/chat/completions?x=1"]
methods = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "CONNECT", "TRACE", "PATCH", "post", "X" * 300, "", "GE T", "PRI"]
deep = lambda open, close, count: (open * count + close * count).encode()
bodies = [b"", b"null", b"[]", b"7", b'"x"', b"{", b"{}", b"\\xff\\xfe{\\x00}\\x00", b"\\xef\\xbb\\xbf{}", b'{"a": NaN}', b'{"a": 1e999}',
    b'{"model": "m", "messages": ' + deep("[", "]", 300) + b"}", b'{"model": "m", "messages": ' + deep("[", "]", 1000) + b"}",
    b'{"model": "m", "messages": ' + deep("[", "]", 200_000) + b"}", deep('{"a":', "}", 900)[:-900] + b"1" + b"}" * 900,
    b'{"model": ' + deep("[", "]", 900) + b"}", b'{"model": "m", "stream": true, "messages": 7}', b'{"model": "' + b"m" * 100_000 + b'"}',
    b'{"model": "m", "messages": [{"role": "user", "content": "\\\\ud800"}]}', b'{"x": ' + b"9" * 5000 + b"}",
    b'{"jsonrpc": "2.0", "id": ' + deep("[", "]", 900) + b', "method": "ping"}', b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}',
    b'{"id": {"a": 1}, "method": "initialize", "params": 7}', b'{"id": 1, "method": "' + b"x" * 10_000 + b'"}',
    b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "observe", "arguments": ' + deep("[", "]", 900) + b"}}",
    b'{"id": 3, "method": "tools/call", "params": {"name": "observe", "arguments": {"a": ' + deep("[", "]", 900) + b"}}}",
    b'{"id": 4, "method": "tools/call", "params": {"name": "zz", "arguments": {"a": ' + deep("[", "]", 900) + b"}}}",
    b"[" + b"1," * 100_000 + b"1]", bytes(range(256)) * 40]
tokens = ["Bearer " + token] * 6 + ["Bearer " + token[:-1], "Bearer", "", "Basic " + token, token, "Bearer " + token * 100, "Bearer \\xff\\xfe"]
odd = ["anthropic-beta: \\xff\\xe4", "anthropic-version: a\\tb", "openai-beta: " + "b" * 9000, "host: [", "host: a b", "accept: text/event-stream",
    "expect: 100-continue", "upgrade: websocket\\r\\nconnection: upgrade", "transfer-encoding: gzip", "content-encoding: gzip",
    "x-api-key: " + token, "x-api-key: \\x80", "content-type: " + "a/" * 3000, "cookie: " + "c=d; " * 1500, "x" * 70_000 + ": y",
    " folded: x", "no colon", "connection: close", "range: bytes=0-1", "origin: null", "X-A: 1\\r\\n" * 150 + "x: y"]
def length(body):
    return random.choice([str(len(body))] * 5 + ["0", "-1", "+3", str(len(body) + 5), str(1 << 70), "1e3", "", "0x10", "7, 8"])
def chunked(body):
    sizes = [b"%x" % len(body), b"%X;ext=" % len(body) + b"e" * 30_000, b"-1", b"zz", b"f" * 30, b"", b"0" * 20_000 + b"1"]
    return random.choice(sizes) + b"\\r\\n" + body + random.choice([b"\\r\\n0\\r\\n\\r\\n", b"", b"0\\r\\n" + b"t: " + b"x" * 70_000])
def request():
    body = random.choice(bodies)
    if random.random() < 0.5:  # well made, but for what it says
        lines = [random.choice(["accept: text/event-stream", "anthropic-beta: \\xe4", "host: ["])] * (random.random() < 0.3)
        lines = ["POST " + random.choice(paths[:7]) + " HTTP/1.1", "x: y"] + lines
        if "host: [" not in lines: lines.append("host: x")
        lines += ["authorization: Bearer " + token, "content-length: %d" % len(body)]
        return "\\r\\n".join(lines).encode("latin-1") + b"\\r\\n\\r\\n" + body
    method = random.choice(methods) if random.random() < 0.3 else "POST"
    lines = ["%s %s %s" % (method, random.choice(paths), random.choice(["HTTP/1.1"] * 9 + ["HTTP/1.0", "HTTP/9.9", "SPDY", ""]))]
    lines += ["authorization: " + random.choice(tokens)] + random.sample(odd, random.choice([0, 0, 1, 2]))
    if "host" not in str(lines).lower(): lines.append("host: x")
    if random.random() < 0.2:
        lines.append("transfer-encoding: chunked")
        body = chunked(body)
    else:
        lines.append("content-length: " + length(body))
    raw = "\\r\\n".join(lines).encode("latin-1") + b"\\r\\n\\r\\n" + body
    kind = random.random()
    return raw[:random.randrange(1, len(raw))] if kind < 0.1 else raw * 3 if kind < 0.15 and len(raw) < 9999 else raw
said, held, seen = {}, [], b""
for number in range(COUNT):
    one = opened()
    push(one, request())
    one.settimeout(0.3)
    try:
        answer = one.recv(1 << 20)
    except OSError:
        answer = b""
    seen += answer
    key = answer[9:12].decode("latin-1") or "none"
    said[key] = said.get(key, 0) + 1
    if key == "none" and len(held) < 60: held.append(one)
    else: one.close()
ends([said, SECRET in seen, still_served()])
"""
)
CDP = (
    RAW
    + """
import random, socket
from urllib.parse import urlsplit
from websockets.exceptions import WebSocketException
random.seed(SEED)
where = urlsplit(os.environ["CAIRN_CDP_URL"])
token = where.path
methods = METHODS
deep = "[" * 900 + "]" * 900
values = [[], {}, 5, -1, None, True, "", "x", "file:///etc/passwd", "http://[", "\\x00", [[]], {"a": []}, 1e300, "x" * 50_000, "\\ud800", [5], [{}]]
names = ["handle", "files", "sessionId", "targetId", "url", "filter", "autoAttach", "discover", "data", "requestId", "type", "x", "y", "key",
    "expression", "nodeId", "frameId", "browserContextId", "flatten", "waitForDebuggerOnStart", "cookies", "headers", "html", "text", "button"]
raws = ["", "null", "[]", "7", "{", '{"id": 1}', '{"id": "1", "method": "x"}', '{"id": -1, "method": "x"}', '{"id": 99999999999999, "method": "x"}',
    '{"id": 1, "method": 5}', '{"id": 1, "method": "Browser.close", "params": 5}', '{"id": 1, "method": "Browser.getVersion", "sessionId": 7}',
    '{"id": 5, "method": "Page.navigate", "params": {"url": ' + deep + '}}', '{"id": 6, "method": "Target.createTarget", "params": ' + deep + '}',
    '{"id": 7, "method": "' + "M" * 100_000 + '"}', "[" + "1," * 50_000 + "1]", '{"id": NaN, "method": "x"}', '{"id": true, "method": "x"}']
closed = 0
cdp = Cdp()
session = cdp.attach()
answered = {"error": 0, "result": 0}
numbers = iter(range(1000, 10 ** 6))
def shape(value):
    return json.dumps(value, ensure_ascii=True)
for number in range(COUNT):
    mine = next(numbers)
    if random.random() < 0.2:
        sent = random.choice(raws)
    else:
        params = {random.choice(names): random.choice(values) for _ in range(random.randrange(4))}
        message = {"id": mine, "method": random.choice(methods), "params": params}
        if random.random() < 0.6: message["sessionId"] = random.choice([session, session, session, "nope", ""])
        sent = shape(message)
    try:
        cdp.socket.send(sent.encode() if random.random() < 0.1 else sent)
        if number % 10 == 9:
            last = next(numbers)
            cdp.socket.send(json.dumps({"id": last, "method": "Browser.getVersion"}))
            while True:
                said = json.loads(cdp.socket.recv(timeout=60))
                for kind in answered: answered[kind] += kind in said
                if said.get("id") == last: break
    except WebSocketException:
        closed += 1
        cdp = Cdp()
        pages = cdp.pages()
        session = cdp.attach(pages[0]["targetId"]) if pages else ""
broken = 0
heads = ["GET %s/devtools/browser HTTP/1.1", "GET %s HTTP/1.1", "POST %s/json/version HTTP/1.1", "GET /x%s/json HTTP/1.1", "GET %s/devtools/page/../browser HTTP/1.1",
    "GET %s/json/list HTTP/9", "%s", "GET %s/devtools/page/nope HTTP/1.1", "GET %s/json/new?file:///etc/passwd HTTP/1.1", "PUT %s/json/new HTTP/1.1"]
lines = ["host: x", "origin: http://evil.example", "upgrade: websocket", "connection: upgrade", "sec-websocket-version: 13", "sec-websocket-version: 99",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-key: x", "sec-websocket-extensions: permessage-deflate", "x: " + "y" * 9000, "\\xff: \\xff", "no colon"]
upgrade = ["host: x", "upgrade: websocket", "connection: upgrade", "sec-websocket-version: 13", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="]
frames = [b"\\x81\\x05hello", b"\\x81\\xff" + b"\\xff" * 8, b"\\x81\\xfe\\x00\\x05" + b"abcd" * 9, b"\\xf1\\x80abcd", b"\\x09\\xfe\\x01\\x00" + b"a" * 300, b"\\x80" * 1000,
    b"\\x01\\x85abcd" + b"x" * 5, b"\\x88\\x80abcd", b"\\x81\\x84abcd\\x9e\\x9c\\x9d\\x9b", bytes(range(256)) * 4]
held = []
for number in range(COUNT // 4):
    one = socket.create_connection((where.hostname, where.port), timeout=10)
    good = number % 3 == 0
    head = [heads[0] % token] + upgrade if good else [random.choice(heads).replace("%s", random.choice([token, token, "/nope"]))] + random.sample(lines, 4)
    raw = ("\\r\\n".join(head) + "\\r\\n\\r\\n").encode("latin-1")
    try:
        one.sendall(raw[:random.randrange(1, len(raw))] if random.random() < 0.1 else raw)
        if good:
            one.recv(1 << 16)
            one.sendall(b"".join(random.choices(frames, k=3)))
        one.settimeout(0.1)
        one.recv(1 << 16)
        one.close()
    except OSError:
        broken += 1
        held = (held + [one])[-20:]
last = Cdp()
print(json.dumps([closed, answered, bool(last.call("Browser.getVersion").get("result"))]))
print(json.dumps({"answer": "done"}))
"""
)
METHODS = """
IO.read IO.close Target.detachFromTarget Target.attachToTarget Target.createTarget Target.closeTarget Target.activateTarget Target.getTargets
Target.setAutoAttach Target.setDiscoverTargets Target.getTargetInfo Target.createBrowserContext Target.exposeDevToolsProtocol Browser.close
Browser.getVersion Browser.crash DOM.setFileInputFiles DOM.getDocument DOM.querySelector Page.navigate Page.printToPDF Input.dispatchKeyEvent
Input.dispatchMouseEvent Input.dispatchDragEvent Runtime.evaluate Runtime.callFunctionOn Storage.setCookies Storage.getCookies Network.setCookies
Network.getCookies Fetch.enable Fetch.fulfillRequest Fetch.continueRequest Fetch.disable Emulation.setDeviceMetricsOverride Tracing.start
SystemInfo.getInfo Page.setDownloadBehavior Page.captureScreenshot Page.setDocumentContent Page.handleJavaScriptDialog Memory.getDOMCounters
Debugger.enable HeapProfiler.takeHeapSnapshot Nope.nope
""".split()


def filled(script: str, seed: int, count: int) -> str:
    values = {"SEED": seed, "COUNT": count, "SECRET": KEY.encode(), "METHODS": METHODS}
    for name, value in values.items():
        script = script.replace(name, repr(value))
    return script


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 50), *(pytest.param(seed, 300, marks=pytest.mark.hostile) for seed in (2, 3, 4))]
)
def test_no_request_breaks_the_gateway(tmp_path: Path, seed: int, count: int) -> None:
    found = flooded(filled(HTTP, seed, count), tmp_path)
    statuses, leaks, served = found["said"]
    assert served.startswith("r") and not leaks and sum(statuses.values()) == count
    assert not {"500", "502"} & set(statuses) and {"400", "401"} <= set(statuses), statuses
    assert found["mb"] < WORKER_MB


@pytest.mark.browser
@pytest.mark.parametrize(
    ("seed", "count"), [(1, 10), *(pytest.param(seed, 300, marks=pytest.mark.hostile) for seed in (2, 3, 4))]
)
def test_no_command_breaks_the_relay(tmp_path: Path, seed: int, count: int) -> None:
    found = flooded(filled(CDP, seed, count), tmp_path, "cdp")
    closed, answered, served = found["said"]
    assert served and closed == 0 and answered["error"] > count // 4, found
    assert found["mb"] < WORKER_MB
