"""One port for several servers: who is connected to which."""

import asyncio

import pytest

from harness.runner.site_router import Router


async def _answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    await writer.drain()
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize(
    ("host", "status"),
    [("shop.localhost", b"204"), ("t1.SHOP.localhost:80", b"204"), ("office.localhost", b"404")],
)
async def test_the_case_of_a_sites_name_does_not_matter(host: str, status: bytes) -> None:
    async with await asyncio.start_server(_answered, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with await asyncio.start_server(Router({"Shop": port}).connect, "127.0.0.1", 0) as router:
            reader, writer = await asyncio.open_connection(*router.sockets[0].getsockname())
            writer.write(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert (await reader.read()).split()[1] == status, "to its end: the router has closed all connections"
            writer.close()
            await writer.wait_closed()
