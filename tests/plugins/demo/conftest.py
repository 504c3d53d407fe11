"""One server with all sites per test, and clients that speak to one tenant of one site."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import cache

import httpx
import pytest

from harness.loopback_server import serving
from harness.plugins.demo import tenants
from harness.plugins.demo.registry import SITES
from harness.plugins.demo.tenants import SitesApp

Connect = Callable[[str], httpx.AsyncClient]


_seeded = cache(tenants.seeded)


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    # The masters, which are only copied, are made once: that takes 50 ms.
    monkeypatch.setattr(tenants, "seeded", _seeded)
    async with serving(SitesApp(SITES)) as number:
        yield number


@pytest.fixture
async def connect(port: int) -> AsyncIterator[Connect]:
    """`connect("t3.shop")` is a fresh visitor of that tenant, cookies and all."""
    clients: list[httpx.AsyncClient] = []

    def open_client(host: str) -> httpx.AsyncClient:
        headers = {"host": f"{host}.localhost:{port}"}
        # Reading certificates takes 25 ms.
        clients.append(httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, verify=False))
        return clients[-1]

    async with AsyncExitStack() as stack:
        yield open_client
        for client in clients:
            stack.push_async_callback(client.aclose)


async def text(client: httpx.AsyncClient, path: str) -> str:
    """The body of a page that must be there."""
    answer = await client.get(path)
    assert answer.status_code == 200, path
    return answer.text


async def token(client: httpx.AsyncClient, path: str) -> str:
    """The CSRF token of the first form on a page."""
    found = re.search(r'name="csrf" value="([^"]+)"', (await client.get(path)).text)
    assert found, f"no form on {path}"
    return found[1]


async def send(client: httpx.AsyncClient, path: str, page: str, **fields: str) -> httpx.Response:
    """Fill in the form on `page` and send it to `path`."""
    return await client.post(path, data={"csrf": await token(client, page), **fields})


async def sign_in(client: httpx.AsyncClient) -> None:
    """Log in as the demo user of the client's site."""
    name = client.headers["host"].split(".localhost")[0].rpartition(".")[2]
    account = next(site.account for site in SITES if site.name == name)
    assert account
    answer = await send(client, "/login", "/login", login=account[0], password=account[1])
    assert answer.status_code == 303
