"""Runs as OpenTelemetry traces: their shape, a receiver, and OpenTelemetry's own classes."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from harness.errors import TrackingError
from harness.main import main
from harness.plugins.tracking.exports.otel_spans import export_otel
from harness.plugins.tracking.exports.otlp_http import TRIES, send_otel

Answer = tuple[int, dict[str, str], bytes]
ACCEPTED: Answer = (200, {}, b"{}")


class Receiver(ThreadingHTTPServer):
    """Notes each request; answers what `answers` says, then accepts."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.seen: list[tuple[str, str | None, str | None]] = []
        self.asked: list[str] = []
        """Methods of all requests."""
        self.answers: list[Answer] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_GET(self) -> None:
        self.server.asked.append(f"GET {self.headers['x-key']}")
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        self.server.asked.append("POST")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, self.headers["Content-Type"], self.headers["x-key"]))
        code, headers, answer = self.server.answers.pop(0) if self.server.answers else ACCEPTED
        if code == 200:
            self.server.bodies.append(body)
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(answer))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    thread = Thread(target=receiver.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.shutdown()
        thread.join()
        receiver.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def traces(data: bytes) -> dict[str, list[dict[str, Any]]]:
    """Task and trial to spans, attributes as a plain object."""
    found = {}
    for line in data.splitlines():
        spans = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
        for span in spans:
            span["attributes"] = plain(span["attributes"])
        root = spans[0]["attributes"]
        found[f"{root['cairn.task.id']}/{root['cairn.trial']}"] = spans
    return found


def plain(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    kinds: dict[str, Callable[[Any], Any]] = {"intValue": int}
    values = {one["key"]: next(iter(one["value"].items())) for one in attributes}
    return {key: kinds.get(kind, lambda same: same)(value) for key, (kind, value) in values.items()}


def test_an_episode_is_a_trace_of_chats_and_actions(run: Path, tmp_path: Path) -> None:
    found = traces(export_otel(run, tmp_path).read_bytes())
    assert set(found) == {"9/0", "9/1", "10/0", "11/0", "12/0"}
    root, *children = found["9/0"]
    assert [span["name"] for span in children] == [
        "chat gpt/4",
        "execute_tool click",
        "execute_tool click",
        "chat gpt/4",
        "execute_tool stop",
    ]
    assert all(span["parentSpanId"] == root["spanId"] and span["traceId"] == root["traceId"] for span in children)
    assert all(
        int(root["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        and int(span["endTimeUnixNano"]) <= int(root["endTimeUnixNano"])
        for span in children
    )
    chat = children[0]["attributes"]
    assert (chat["gen_ai.request.model"], chat["gen_ai.response.model"]) == ("gpt/4", "gpt/4-2026")
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (10, 2)
    (answer,) = json.loads(chat["gen_ai.output.messages"])
    assert [part["type"] for part in answer["parts"]] == ["text", "tool_call", "tool_call"]
    assert children[2]["status"] == {"code": 2, "message": "no such element"}
    results = [plain(event["attributes"]) for event in root["events"]]
    assert {one["gen_ai.evaluation.name"]: one["gen_ai.evaluation.score.value"] for one in results} == {
        "corrected": 1.0,
        "webarena": 0.0,
    }
    assert found["10/0"][0]["attributes"]["error.type"] == "BrowserCrashed"


def test_a_repeat_is_the_same(run: Path, tmp_path: Path) -> None:
    one, two = (export_otel(run, tmp_path / name).read_bytes() for name in ("one", "two"))
    assert one == two and b"cookie-canary" not in one
    ids = [span["spanId"] for spans in traces(one).values() for span in spans]
    assert len(ids) == len(set(ids))


def test_a_receiver_gets_what_the_file_contains(
    run: Path, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b")
    assert main(["export", "otel", str(run), "--to", receiver.url]) == 0
    assert b"".join(body + b"\n" for body in receiver.bodies) == export_otel(run, tmp_path).read_bytes()
    assert set(receiver.seen) == {("/v1/traces", "application/json", "a b")}


def test_what_shall_be_repeated_is_sent_again(run: Path, receiver: Receiver) -> None:
    receiver.answers = [(503, {"Retry-After": "0"}, b""), (429, {}, b"")]
    assert send_otel(run, f"{receiver.url}/v1/traces", first_wait_s=0.01) == len(receiver.bodies) == 5
    assert len(receiver.seen) == 7


def test_a_receiver_that_refuses_or_is_not_there_is_named(
    run: Path, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.answers = [(401, {}, b"")]
    assert main(["export", "otel", str(run), "--to", receiver.url]) == 2
    assert "/v1/traces answered 401; the traces were not stored" in capsys.readouterr().err
    receiver.answers = [(503, {}, b"")] * TRIES
    with pytest.raises(TrackingError, match="answered 503"):
        send_otel(run, receiver.url, first_wait_s=0.001)
    receiver.answers = [(200, {}, b'{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too old"}}')]
    with pytest.raises(TrackingError, match="refused 2 spans: too old"):
        send_otel(run, receiver.url)
    with receiving() as gone:
        pass
    with pytest.raises(TrackingError, match="cannot be reached"):
        send_otel(run, gone.url, first_wait_s=0.001)


@pytest.mark.parametrize("to", ["ftp://host", "http://", "http://me:secret@host:4318", "http://[", "http://h:99999"])
def test_wrong_addresses_are_one_sentence(run: Path, to: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "otel", str(run), "--to", to]) == 2
    said = capsys.readouterr().err
    assert "--to" in said and "secret" not in said and "Traceback" not in said


def check_parsed(bodies: list[bytes]) -> set[str]:
    """Parse with OpenTelemetry's classes; the attributes' names that there are."""
    parser = pytest.importorskip("google.protobuf.json_format")
    module = "opentelemetry.proto.collector.trace.v1.trace_service_pb2"
    service = pytest.importorskip(module, reason="opentelemetry-proto is not installed here: run `make test-exports`")
    names = set()
    for body in bodies:
        # OTLP/JSON has ids in hex, where protobuf's own JSON has base64; both are texts of whole bytes.
        request = parser.Parse(body, service.ExportTraceServiceRequest())
        for span in request.resource_spans[0].scope_spans[0].spans:
            assert span.end_time_unix_nano >= span.start_time_unix_nano > 0
            names |= {one.key for one in span.attributes} | {one.key for e in span.events for one in e.attributes}
    return names


@pytest.mark.filterwarnings("default")
def test_opentelemetrys_classes_parse_it_and_its_conventions_know_the_names(run: Path, receiver: Receiver) -> None:
    send_otel(run, receiver.url)
    names = check_parsed(receiver.bodies)
    known = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    conventions = {value for name, value in vars(known).items() if name.startswith("GEN_AI_")}
    assert {name for name in names if name.startswith("gen_ai.")} <= conventions


@pytest.mark.slow  # and in make test-exports
@pytest.mark.browser
@pytest.mark.filterwarnings("default")
def test_a_played_run_is_parsed(receiver: Receiver, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("opentelemetry.proto", reason="opentelemetry-proto is not installed: run `make test-exports`")
    send_otel(request.getfixturevalue("played")["tools"], receiver.url)
    assert len(receiver.bodies) == 2
    assert {"gen_ai.tool.call.id", "gen_ai.usage.input_tokens"} <= check_parsed(receiver.bodies)


def test_a_receiver_that_redirects_is_refused_and_no_other_host_gets_the_key(
    run: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret")
    for code in (301, 302, 303, 307, 308):
        with receiving() as other:
            receiver.answers = [(code, {"Location": f"{other.url}/v1/traces"}, b"")]
            with pytest.raises(TrackingError, match=f"answered {code}; the traces were not stored"):
                send_otel(run, receiver.url)
            assert other.asked == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("headers", ["x-key=a%0Ab", "=value", "x-key=secret, ", "x key=secret", "x-key=%E2%82%AC"])
def test_headers_that_cannot_be_sent_are_one_sentence_without_them(
    run: Path, receiver: Receiver, headers: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", headers)
    assert main(["export", "otel", str(run), "--to", receiver.url]) == (0 if headers.endswith(", ") else 2)
    said = capsys.readouterr().err
    assert "secret" not in said and ("OTEL_EXPORTER_OTLP_HEADERS" in said) is not headers.endswith(", ")


def test_a_strange_count_of_refused_spans_is_one_sentence(run: Path, receiver: Receiver) -> None:
    receiver.answers = [(200, {}, b'{"partialSuccess": {"rejectedSpans": "many"}}')]
    with pytest.raises(TrackingError, match="refused 'many' spans"):
        send_otel(run, receiver.url)
