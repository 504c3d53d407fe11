"""Answers in every form that HTTP/1.1 gives them, and connections that break, over real sockets."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from harness.llm.http_client import bounded_client
from harness.llm.single_use_transport import MOST_HEADERS, SingleUseTransport

BODY = b"x" * 300_000


@asynccontextmanager
async def saying(*parts: bytes, context: ssl.SSLContext | None = None) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that reads a request, says these bytes one after the other, and hangs up."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        asked.append(await reader.readexactly(size))
        for part in parts:
            writer.write(part)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        scheme = "http" if context is None else "https"
        yield f"{scheme}://localhost:{server.sockets[0].getsockname()[1]}/v1", asked


async def ask(url: str) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=SingleUseTransport(), timeout=None) as client:
        return await client.post(url, content=BODY)


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"3\r\nfir", b"\r\n2\r\nst\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst",),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", b"fi", b"rst"),
        CHUNKED,
        (b"HTTP/1.0 200 OK\r\n\r\nfir", b"st"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", *CHUNKED),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfirstHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",),
    ],
    ids=["at once", "in parts", "chunked", "until the end", "after interim answers", "with a stray answer"],
)
async def test_an_answer_is_read_however_it_is_framed(parts: tuple[bytes, ...]) -> None:
    async with saying(*parts) as (url, asked):
        response = await ask(url)
    assert (response.status_code, response.content, asked) == (200, b"first", [BODY])


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ((), "closed the connection without an answer"),
        ((b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfir",), "peer closed connection"),
        ((CHUNKED[0], CHUNKED[1]), "peer closed connection"),
        ((b"SSH-2.0-OpenSSH_9.2\r\n\r\n",), "illegal status line"),
        ((b"HTTP/1.1 200 OK\r\nx: " + b"y" * 2 * MOST_HEADERS,), "too long|too big|buffer"),
        ((b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",), "(?i)protocol|HTTP|upgrade"),
    ],
    ids=["nothing", "half a body", "half a chunk", "another protocol", "endless headers", "an upgrade"],
)
async def test_what_is_no_answer_is_an_error_of_the_client(parts: tuple[bytes, ...], error: str) -> None:
    async with saying(*parts) as (url, _):
        with pytest.raises(httpx2.RemoteProtocolError, match=error):
            await ask(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/v1", "http://no-such-host.invalid/v1", "http://a..b/v1"])
async def test_where_there_is_no_server_there_is_no_connection(url: str) -> None:
    with pytest.raises(httpx2.ConnectError):
        await ask(url)


async def test_a_connection_that_is_reset_is_an_error_of_the_client() -> None:
    def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        with pytest.raises(httpx2.TransportError):
            await ask(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")


async def test_who_gives_up_closes_the_connection() -> None:
    gone = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1 << 16):
            pass
        gone.set()
        writer.close()

    async with await asyncio.start_server(wait, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await ask(url)
        async with asyncio.timeout(10):
            await gone.wait()


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Key and certificate of `localhost`."""
    key, certificate = folder / "key", folder / "certificate"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    named = ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate]
    try:
        subprocess.run([*made, *named], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return key, certificate


async def test_a_server_is_who_it_says_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = self_signed(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with saying(*CHUNKED, context=context) as (url, _):
        with pytest.raises(httpx2.ConnectError, match=r"(?i)certificate"):
            await ask(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert (await ask(url)).content == b"first"
        with pytest.raises(httpx2.ConnectError, match=r"(?i)mismatch|match"):
            await ask(url.replace("localhost", "127.0.0.1"))


@pytest.mark.parametrize("variable", ["http_proxy", "ALL_PROXY"])
async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    async with saying(*CHUNKED) as (url, asked):
        monkeypatch.setenv(variable, url.removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with bounded_client() as client:
            response = await client.post("http://model.invalid/v1", content=BODY)
    assert response.content == b"first" and asked == [BODY]
