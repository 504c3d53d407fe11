"""Requests outside the browser, against servers that behave badly."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from harness.browser.network.http import fetch, is_up
from harness.errors import SiteUnavailable
from tests.browser.conftest import Web, html

HEAD = b"HTTP/1.1 200 X\r\ncontent-type: text/html\r\n"


@asynccontextmanager
async def serving(begin: bytes) -> AsyncIterator[str]:
    """Address of a server that sends this, and then one byte after the other without end."""
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(begin)
            while not over.is_set():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.05)  # the server is slow; nobody waits by this
        except ConnectionError:
            pass
        finally:
            writer.close()

    async with asyncio.TaskGroup() as group:

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            group.create_task(serve(reader, writer))

        listening = await asyncio.start_server(accept, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        finally:
            over.set()
            listening.close()


@pytest.mark.parametrize("begin", [HEAD + b"\r\n", HEAD + b"slow: ", b"HTTP/1.1 20"], ids=["body", "header", "status"])
async def test_an_answer_that_never_ends_is_given_up_in_time(begin: bytes) -> None:
    async with serving(begin) as url, asyncio.timeout(15):
        with pytest.raises(SiteUnavailable, match="does not answer"):
            await fetch(url, timeout_s=0.5)
        assert await is_up(url, timeout_s=0.5) is begin.endswith(b"\r\n\r\n"), "it has answered with its status"


async def test_a_site_that_thinks_before_its_first_chunk_is_up() -> None:
    async with serving(HEAD + b"transfer-encoding: chunked\r\n\r\n") as url, asyncio.timeout(15):
        assert await is_up(url, timeout_s=0.5)


@asynccontextmanager
async def a_web() -> AsyncIterator[Web]:
    web = Web()
    async with await asyncio.start_server(web.serve, "127.0.0.1", 0) as listening:
        web.port = listening.sockets[0].getsockname()[1]
        yield web


def moved(status: int, place: str) -> tuple[int, dict[str, str], str]:
    return status, {"location": place}, ""


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
async def test_a_redirect_says_whether_the_request_is_made_there(status: int, method: str) -> None:
    async with a_web() as web:
        web.pages["/reset"], web.pages["/reset/"] = moved(status, "/reset/"), html("done")
        headers = {"authorization": "Bearer key"}
        answer = await fetch(f"http://127.0.0.1:{web.port}/reset", method="POST", headers=headers, body=b"all")
        assert answer.status == 200
        assert [(one.method, one.body) for one in web.asked] == [("POST", "all"), (method, "all" * (method == "POST"))]
        assert web.asked[1].headers["authorization"] == "Bearer key"


async def test_what_was_sent_goes_to_no_other_server_with_a_redirect() -> None:
    async with a_web() as web, a_web() as other:
        other.pages["/reset"] = html("done")
        web.pages["/reset"] = moved(308, f"http://127.0.0.1:{other.port}/reset")
        url, headers = f"http://127.0.0.1:{web.port}/reset", {"authorization": "Bearer key"}
        with pytest.raises(SiteUnavailable, match="another server"):
            await fetch(url, method="POST", headers=headers, body=b"password=x")
        assert not other.asked
        assert (await fetch(url, method="POST", headers=headers, body=b"")).status == 200
        (asked,) = other.asked
        assert asked.method == "POST" and "authorization" not in asked.headers
