"""Embedded servers are started again when they die, and know what they knew."""

import asyncio
import signal
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from harness.embedded_server import RESTARTS, start_servers
from harness.errors import UsageError
from tests.plugins.demo.conftest import sign_in
from tests.waiting import until

HOST = "http://t1.shop.localhost"


def server() -> psutil.Process | None:
    """The child of this process that serves the sites."""
    for child in psutil.Process().children():
        with suppress(psutil.Error):
            if "harness.plugins.demo" in child.cmdline():
                return child
    return None


def kill_server() -> None:
    found = server()
    assert found is not None
    found.kill()


async def answer(client: httpx.AsyncClient, path: str) -> httpx.Response:
    """As soon as there is one."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await client.get(path)
            except httpx.TransportError:
                await asyncio.sleep(0.02)


async def test_sites_that_are_killed_come_back_on_their_port_with_what_was_done_on_them(tmp_path: Path) -> None:
    told: list[str] = []
    state = tmp_path / "state"
    log = tmp_path / "log"
    starting = start_servers(
        "harness.plugins.demo", "--state", str(state), log=log, name="the embedded sites", tell=told.append
    )
    async with starting as port:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers={"host": "t1.shop.localhost"}) as one:
            await sign_in(one)
            before, writes = await one.get("/account"), (await one.get("/__writes__")).json()
            assert before.status_code == 200 and len(writes) == 1
            kill_server()
            await until(lambda: told)
            after = await answer(one, "/account")
            assert (after.status_code, after.text) == (200, before.text), "still signed in"
            assert (await one.get("/__writes__")).json() == writes
            assert (await one.post("/__reset__")).status_code == 204
            assert (await one.get("/__writes__")).json()[0] == writes[0]
    assert told == [f"the embedded sites ended with code -{signal.SIGKILL:d} and are restarted on port {port}"]
    assert not state.exists()


@pytest.mark.slow
async def test_a_server_that_keeps_dying_is_given_up_with_a_sentence(tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(ExceptionGroup) as failed:
        async with start_servers(
            "harness.plugins.demo", log=tmp_path / "log", name="the embedded sites", tell=told.append
        ):
            for _ in range(RESTARTS + 1):
                known = len(told)
                kill_server()
                await until(lambda known=known: len(told) > known and server())  # type: ignore[misc]
            await asyncio.Event().wait()
    (error,) = failed.value.exceptions
    assert isinstance(error, UsageError)
    assert str(error).startswith(f"the embedded sites ended {RESTARTS + 1} times within ")
    assert len(told) == RESTARTS
