"""Requests outside the browser, against servers that behave badly."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from harness.browser.network.http import fetch, is_up
from harness.errors import SiteUnavailable

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
        assert not await is_up(url, timeout_s=0.5)
