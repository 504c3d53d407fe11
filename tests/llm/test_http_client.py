"""Answers that would hurt: too long, packed small, sent elsewhere, or one too many. All over real connections."""

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psutil
import pytest

from harness.api import Message
from harness.errors import ModelRejected, ModelUnavailable, RequestRefused
from harness.llm.endpoint import Endpoint
from harness.llm.http_client import bounded_client
from harness.settings.models import EndpointSettings
from tests.llm.test_endpoint_model import Waits, chat, scripted

ASKED = (Message(role="user", content="What now?"),)
MB = 1 << 20


def completion(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}]}).encode()


def http(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    head = (f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}", *headers)
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


class Server:
    """Says the bytes it is given, whatever it is asked."""

    def __init__(self, answer: Callable[[int], bytes]) -> None:
        self.answer = answer
        self.asked = 0
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b""
        while b"connection: close" not in head:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            sizes = [line for line in head.split(b"\r\n") if line.startswith(b"content-length:")]
            await reader.readexactly(int(sizes[0].split(b":")[1]))
            self.asked += 1
            writer.write(self.answer(self.asked))
            await writer.drain()


@asynccontextmanager
async def serving(answer: Callable[[int], bytes]) -> AsyncIterator[Server]:
    one = Server(answer)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await one.serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    one.port = server.sockets[0].getsockname()[1]
    async with server:
        yield one


def model_at(server: Server, most_bytes: int = MB) -> Any:
    endpoint = Endpoint(
        EndpointSettings(base_url=f"http://127.0.0.1:{server.port}/v1"), http_client=bounded_client(most_bytes)
    )
    return chat(endpoint, Waits(), timeout_s=30.0)


PACKED = {
    "plain": lambda body: (body, ()),
    "gzip": lambda body: (gzip.compress(body), ("content-encoding: gzip",)),
    "deflate": lambda body: (zlib.compress(body), ("content-encoding: deflate",)),
}


@pytest.mark.parametrize("packing", PACKED)
async def test_what_is_within_bounds_is_read_however_it_is_packed(packing: str) -> None:
    body, headers = PACKED[packing](completion("x" * 500_000))
    async with serving(lambda _: http(body, *headers)) as server, model_at(server) as model:
        assert (await model.ask(ASKED)).text == "x" * 500_000


@pytest.mark.sample(2)
@pytest.mark.parametrize("status", ["200 OK", "500 Internal Server Error"])
@pytest.mark.parametrize("packing", PACKED)
async def test_a_longer_answer_is_refused_at_once_and_not_tried_again(packing: str, status: str) -> None:
    body, headers = PACKED[packing](completion("x" * 40 * MB))
    async with serving(lambda _: http(body, *headers, status=status)) as server, model_at(server) as model:
        before = psutil.Process().memory_info().rss
        with pytest.raises(RequestRefused, match=r"is longer than 1 MB \(llm.max_answer_mb\) and was cut off"):
            await model.ask(ASKED)
        grown = psutil.Process().memory_info().rss - before
        assert packing == "plain" or grown < 20 * MB, "plain, the server itself holds it in memory"
        assert server.asked == 1


@pytest.mark.parametrize(
    ("headers", "why"),
    [(("content-encoding: br",), r"not requested \(br\)"), (("content-encoding: gzip",), "cannot be decompressed")],
)
async def test_an_answer_that_cannot_be_unpacked_is_a_sentence(headers: tuple[str, ...], why: str) -> None:
    async with serving(lambda _: http(completion("hi"), *headers)) as server, model_at(server) as model:
        with pytest.raises(RequestRefused, match=why):
            await model.ask(ASKED)


async def test_a_second_answer_on_a_connection_never_answers_the_next_question() -> None:
    def twice(number: int) -> bytes:
        return http(completion(f"answer {number}")) + http(completion(f"stray {number}"))

    async with serving(twice) as server, model_at(server) as model:
        assert [(await model.ask(ASKED)).text for _ in range(3)] == ["answer 1", "answer 2", "answer 3"]


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"])
async def test_no_redirect_is_followed_and_the_person_is_told_where_it_leads(status: str) -> None:
    async with serving(lambda _: http(completion("hi"))) as other:
        to = f"http://localhost:{other.port}/v1/chat/completions"
        async with serving(lambda _: http(b"", f"location: {to}", status=status)) as server, model_at(server) as model:
            with pytest.raises(ModelRejected, match="redirects are not followed: set base_url") as caught:
                await model.ask(ASKED)
            assert to in str(caught.value) and (server.asked, other.asked) == (3, 0)


@pytest.mark.parametrize(
    ("said", "text"),
    [(r"a\ud800b", "a\ufffdb"), (r"\ud83d\ude00 \udc00", "\U0001f600 \ufffd"), (r"\\ud800", r"\ud800")],
)
async def test_half_a_surrogate_pair_is_replaced_and_no_reason_to_ask_again(said: str, text: str) -> None:
    body = b'{"choices":[{"message":{"content":"%s"}}],"usage":{"prompt_tokens":99999999999999999999}}' % said.encode()
    async with serving(lambda _: http(body)) as server, model_at(server) as model:
        reply = await model.ask(ASKED)
        assert (reply.text, reply.usage.prompt_tokens, server.asked) == (text, 0, 1)


async def test_json_as_deep_as_the_stack_is_malformed_and_no_crash() -> None:
    async with serving(lambda _: http(b"[" * 500_000)) as server, model_at(server) as model:
        with pytest.raises(ModelUnavailable, match="malformed answer, not JSON"):
            await model.ask(ASKED)


async def test_a_client_of_its_own_is_bounded_too() -> None:
    async with scripted(waits=Waits()) as (_, url):
        client = Endpoint(EndpointSettings(base_url=f"{url}/v1")).connect()
        assert not client._client.follow_redirects
        await client.close()
