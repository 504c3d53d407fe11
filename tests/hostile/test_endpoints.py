"""Endpoints that lie, stall, flood or send one elsewhere: real HTTP, each row with what becomes of the question.

Only waiting is not real: how long the model would have waited is recorded instead.
"""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from harness.codec import dumps
from harness.errors import ModelRejected, ModelUnavailable, RequestRefused
from harness.llm.endpoint import Endpoint
from harness.llm.http_client import bounded_client
from harness.llm.rate_limit_headers import read_headers
from harness.llm.retry_after import duration_s, retry_after_s
from harness.settings.models import EndpointSettings
from tests.llm.test_endpoint_model import KEY, Waits, chat
from tests.llm.test_http_client import ASKED, MB, Server, completion, http, serving
from tests.waiting import until

HALF_PAIR = rb"a\ud800b"
SAID = {"choices": [{"message": {"role": "assistant", "content": "hi"}}], "model": "m"}


def said(**further: Any) -> bytes:
    return json.dumps(SAID | further).encode()


def answering(server: Server, waits: Waits, **settings: Any) -> Any:
    endpoint = Endpoint(
        EndpointSettings(base_url=f"http://127.0.0.1:{server.port}/v1", api_key=KEY), http_client=bounded_client(MB)
    )
    return chat(endpoint, waits, **({"timeout_s": 30.0} | settings))


USAGES: dict[str, tuple[Any, int]] = {
    "a plain count": (7, 7),
    "beyond 63 bits": (2**63, 0),
    "beyond 64 bits": (2**64, 0),
    "of 400 digits": (10**400, 0),
    "beyond what is counted": ((1 << 40) + 1, 0),
    "negative": (-5, 0),
    "a float": (7.5, 0),
    "huge as a float": (1e308, 0),
    "a text": ("7", 0),
    "a list": ([7], 0),
    "an object": ({"n": 7}, 0),
    "null": (None, 0),
}


@pytest.mark.parametrize(("count", "read"), USAGES.values(), ids=USAGES)
async def test_usage_of_garbage_counts_as_none_and_can_be_recorded(count: Any, read: int) -> None:
    body = said(usage={"prompt_tokens": count, "completion_tokens": 3})
    async with serving(lambda _: http(body)) as server, answering(server, Waits()) as model:
        reply = await model.ask(ASKED)
    assert (reply.text, reply.usage.prompt_tokens, reply.usage.completion_tokens) == ("hi", read, 3)
    assert dumps(reply.usage)


@pytest.mark.parametrize("usage", [None, 3, "much", [1], {}, {"prompt_tokens": {}}], ids=str)
async def test_usage_that_is_no_usage_is_none(usage: Any) -> None:
    async with serving(lambda _: http(said(usage=usage))) as server, answering(server, Waits()) as model:
        assert (await model.ask(ASKED)).usage.prompt_tokens == 0


READ: dict[str, tuple[bytes, str]] = {
    "fields that are missing": (b'{"choices":[{"message":{"content":"hi"}}]}', "hi"),
    "no content": (b'{"choices":[{"message":{}}]}', ""),
    "null content": (b'{"choices":[{"message":{"content":null}}]}', ""),
    "a number as content": (b'{"choices":[{"message":{"content":3}}]}', ""),
    "content in parts": (b'{"choices":[{"message":{"content":[{"text":"h"},{"text":"i"},{"url":"a"},3]}}]}', "hi"),
    "half a surrogate pair": (b'{"choices":[{"message":{"content":"%s"}}]}' % HALF_PAIR, "a\ufffdb"),
    "a null character": (b'{"choices":[{"message":{"content":"a\\u0000b"}}]}', "a\0b"),
    "escapes": (b'{"choices":[{"message":{"content":"\\u001b[31m\\u009b"}}]}', "\x1b[31m\x9b"),
    "a model that is a list": (b'{"choices":[{"message":{"content":"hi"}}],"model":[1]}', "hi"),
    "a model of 100,000 characters": (said(model="m" * 100_000), "hi"),
    "a second choice": (b'{"choices":[{"message":{"content":"hi"}},{"message":{"content":"no"}}]}', "hi"),
    "an error beside it": (said(error={"message": "no"}), "hi"),
    "keys twice": (b'{"choices":[],"choices":[{"message":{"content":"hi"}}]}', "hi"),
    "UTF-16": (said().decode().encode("utf-16"), "hi"),
    "half a megabyte": (completion("x" * 500_000), "x" * 500_000),
}


@pytest.mark.parametrize(("body", "text"), READ.values(), ids=READ)
async def test_an_odd_answer_is_read_for_what_it_says(body: bytes, text: str) -> None:
    async with serving(lambda _: http(body)) as server, answering(server, Waits()) as model:
        reply = await model.ask(ASKED)
    assert (reply.text, server.asked) == (text, 1)
    assert len(reply.model) <= 200 and dumps([reply.text, reply.model])


@pytest.mark.parametrize(
    "kind", ["text/html", "application/octet-stream", "text/event-stream", "", "a" * 5000, "\x9b31m"]
)
async def test_the_type_of_an_answer_is_not_what_it_is_read_by(kind: str) -> None:
    answer = http(said()).replace(b"application/json", kind.encode("latin-1"))
    async with serving(lambda _: answer) as server, answering(server, Waits()) as model:
        assert (await model.ask(ASKED)).text == "hi"


MALFORMED: dict[str, bytes] = {
    "nothing": b"",
    "blanks": b"   ",
    "HTML": b"<html><body>502 Bad Gateway</body></html>",
    "an event stream": b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n',
    "half of it": said()[:-10],
    "two of it": said() + said(),
    "a list": b"[]",
    "null": b"null",
    "a number": b"3",
    "a number of 5,000 digits": b"9" * 5000,
    "no choices": b'{"choices":[]}',
    "choices null": b'{"choices":null}',
    "choices an object": b'{"choices":{"0":{"message":{"content":"hi"}}}}',
    "a choice that is null": b'{"choices":[null]}',
    "a message that is a text": b'{"choices":[{"message":"hi"}]}',
    "500,000 brackets": b"[" * 500_000,
    "100,000 objects": b'{"a":' * 100_000,
    "NaN": b"NaN",
    "random bytes": bytes(range(256)) * 10,
    "escapes": b"\x1b]0;hacked\x07",
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
async def test_what_is_no_answer_is_asked_again_and_then_costs_its_task(body: bytes) -> None:
    waits = Waits()
    async with serving(lambda _: http(body)) as server, answering(server, waits) as model:
        with pytest.raises(ModelUnavailable, match=r"malformed answer|the streamed answer was cut off") as caught:
            await model.ask(ASKED)
    assert server.asked == 8 and len(str(caught.value)) < 1000


BROKEN: dict[str, Callable[[int], bytes]] = {
    "a body that is cut off": lambda _: http(said())[:-5],
    "a head that is cut off": lambda _: b"HTTP/1.1 200 OK\r\ncontent-",
    "nothing at all": lambda _: b"",
    "no HTTP": lambda _: b"220 smtp ready\r\n",
    "a status that is none": lambda _: b"HTTP/1.1 abc OK\r\n\r\n",
    "a length that is none": lambda _: http(said()).replace(b"content-length: ", b"content-length: x"),
    "a negative length": lambda _: http(said()).replace(b"content-length: ", b"content-length: -"),
    "chunks that are none": lambda _: b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    "a head without end": lambda _: b"HTTP/1.1 200 OK\r\nx: " + b"a" * 500_000,
    "100,000 headers": lambda _: b"HTTP/1.1 200 OK\r\n" + b"x: a\r\n" * 100_000 + b"\r\n",
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
async def test_a_connection_that_breaks_is_tried_again_and_then_costs_its_task(answer: Callable[[int], bytes]) -> None:
    waits = Waits()
    async with serving(answer) as server, answering(server, waits) as model:
        with pytest.raises(ModelUnavailable) as caught:
            await model.ask(ASKED)
    assert len(waits.slept) == 7 and len(str(caught.value)) < 1500


@asynccontextmanager
async def dripping(after: bytes) -> AsyncIterator[Server]:
    """Sends `after`, then a byte of a body without end now and then."""
    one = Server(lambda _: b"")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        one.asked += 1  # by connection: under load, one may be given up before its request is read
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(after)
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.01)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    one.port = server.sockets[0].getsockname()[1]
    async with server:
        yield one


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "head",
    [b"", b"HTTP/1.1 200 OK\r\nx:", b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"],
    ids=["before the status", "in a header", "in a body", "in a body without length"],
)
async def test_an_endpoint_that_drips_is_given_up_at_the_limit(head: bytes) -> None:
    async with dripping(head) as server, answering(server, Waits(), timeout_s=0.1) as model:
        with pytest.raises(ModelUnavailable, match=r"no answer within 0\.1 s|connection failed"):
            await model.ask(ASKED)
        await until(lambda: server.asked >= 8)
    assert server.asked == 8


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "content filter": ("400 Bad Request", {"code": "content_filter", "message": "filtered"}),
    "context length": ("400 Bad Request", {"code": "context_length_exceeded", "message": "too long"}),
    "a prompt too large": ("413 Payload Too Large", {"message": "too large"}),
    "unprocessable": ("422 Unprocessable Entity", {"message": "no"}),
    "a refusal of 1 MB": ("400 Bad Request", {"message": "x" * 900_000}),
    "a refusal with escapes": ("400 Bad Request", {"message": "\x1b]0;hacked\x07\nrun.py: all is well"}),
    "a refusal with the key": ("400 Bad Request", {"message": f"bad key {KEY}"}),
    "a refusal that is a list": ("400 Bad Request", {"message": ["no"]}),
}


@pytest.mark.parametrize(("status", "error"), REFUSED.values(), ids=REFUSED)
async def test_a_refused_prompt_costs_its_own_task_and_is_asked_once(status: str, error: dict[str, Any]) -> None:
    body = json.dumps({"error": error}).encode()
    async with serving(lambda _: http(body, status=status)) as server, answering(server, Waits()) as model:
        with pytest.raises(RequestRefused) as caught:
            await model.ask(ASKED)
    assert server.asked == 1
    assert KEY not in str(caught.value) and len(str(caught.value)) < 1000 and "\n" not in str(caught.value)


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
async def test_a_refusal_may_be_any_bytes(body: bytes) -> None:
    async with serving(lambda _: http(body, status="400 Bad Request")) as server, answering(server, Waits()) as model:
        with pytest.raises(RequestRefused) as caught:
            await model.ask(ASKED)
    assert len(str(caught.value)) < 1000


PACKINGS: dict[str, tuple[Callable[[], bytes], tuple[str, ...]]] = {
    "40 MB": (lambda: completion("x" * 40 * MB), ()),
    "40 MB as gzip": (lambda: gzip.compress(completion("x" * 40 * MB), 1), ("content-encoding: gzip",)),
    "gzip in gzip": (lambda: gzip.compress(gzip.compress(said())), ("content-encoding: gzip, gzip",)),
    "gzip that is none": (said, ("content-encoding: gzip",)),
    "brotli": (said, ("content-encoding: br",)),
    "an encoding of 10,000 characters": (said, (f"content-encoding: {'x' * 10_000}",)),
}


@pytest.mark.parametrize(("packed", "headers"), PACKINGS.values(), ids=PACKINGS)
async def test_an_answer_beyond_bounds_costs_its_own_task(
    packed: Callable[[], bytes], headers: tuple[str, ...]
) -> None:
    body = packed()
    async with serving(lambda _: http(body, *headers)) as server, answering(server, Waits()) as model:
        with pytest.raises(RequestRefused, match="the answer of") as caught:
            await model.ask(ASKED)
    assert server.asked == 1 and len(str(caught.value)) < 500


REDIRECTS = ("301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect")


@pytest.mark.parametrize("status", REDIRECTS)
@pytest.mark.parametrize("to", ["http://localhost:{port}/v1", "//localhost:{port}/v1", "http://a\x9b31m.test/{port}"])
async def test_neither_prompt_nor_key_follows_a_redirect(status: str, to: str) -> None:
    async with serving(lambda _: http(said())) as other:
        where = f"location: {to.format(port=other.port)}"
        answer = http(b"", where, status=status)
        async with serving(lambda _: answer) as server, answering(server, Waits()) as model:
            with pytest.raises(ModelRejected, match="redirects are not followed"):
                await model.ask(ASKED)
        assert (server.asked, other.asked) == (3, 0)


WAITS: dict[str, tuple[dict[str, str], float | None]] = {
    "seconds": ({"retry-after": "3"}, 3.0),
    "999999999 seconds": ({"retry-after": "999999999"}, 999_999_999.0),
    "milliseconds": ({"retry-after-ms": "999999999"}, 999_999.999),
    "400 digits": ({"retry-after": "9" * 400}, None),
    "negative": ({"retry-after": "-5"}, None),
    "nan": ({"retry-after": "nan"}, None),
    "inf": ({"retry-after": "inf"}, None),
    "1e9": ({"retry-after": "1e9"}, None),
    "the past": ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
    "the year 10000": ({"retry-after": "Fri, 31 Dec 10000 23:59:59 GMT"}, None),
    "no date": ({"retry-after": "Someday, 99 Foo 2026"}, None),
    "half a date": ({"retry-after": "Mon,"}, None),
    "a date with a strange zone": ({"retry-after": "Thu, 01 Jan 1970 00:00:00 +9999999999"}, None),
    "other digits": ({"retry-after": "１２"}, 12.0),
    "superscripts": ({"retry-after": "²"}, None),
    "empty": ({"retry-after": ""}, None),
    "a reset of 400 digits": ({"x-ratelimit-reset-requests": "9" * 400 + "s"}, None),
    "a reset of 10,000 parts": ({"x-ratelimit-reset-requests": "1s" * 10_000}, 10_000.0),
    "a reset in days": ({"x-ratelimit-reset-tokens": "1d2h"}, 93_600.0),
    "a reset of nothing": ({"x-ratelimit-reset-tokens": "s"}, None),
}


@pytest.mark.parametrize(("headers", "seconds"), WAITS.values(), ids=WAITS)
def test_a_wait_is_read_or_counts_as_not_said(headers: dict[str, str], seconds: float | None) -> None:
    found = retry_after_s(headers, status=429, now=1e9)
    assert found == seconds if seconds is None else found == pytest.approx(seconds)


@pytest.mark.parametrize("value", ["999999999", "9" * 400, "-1", "nan", "²", "１", ""], ids=lambda text: text[:12])
@pytest.mark.parametrize("kind", ["limit", "remaining"])
def test_a_rate_limit_of_garbage_counts_as_not_said(kind: str, value: str) -> None:
    headers = {f"x-ratelimit-{one}-requests": "10" for one in ("limit", "remaining")} | {
        "x-ratelimit-reset-requests": "1s",
        f"x-ratelimit-{kind}-requests": value,
    }
    found = read_headers(headers, 0.0).requests
    assert (found is not None) == (value == "999999999")
    assert duration_s("9" * 400) is None


@pytest.mark.parametrize(
    "header", ["retry-after: 999999999", "retry-after-ms: 999999999999", "x-ratelimit-reset-requests: 9d"]
)
@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
async def test_no_endpoint_makes_a_question_wait_longer_than_the_person_allows(status: str, header: str) -> None:
    waits = Waits()
    answer = http(b"{}", header, status=status)
    async with serving(lambda _: answer) as server, answering(server, waits) as model:
        with pytest.raises(ModelUnavailable):
            await model.ask(ASKED)
    assert sum(waits.slept) <= 600 and server.asked <= 8
