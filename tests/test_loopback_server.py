"""The sites as a process and as an embedded server, over real HTTP."""

import asyncio
import re
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from harness.embedded_server import DEAF
from harness.loopback_server import serving
from harness.plugins.demo.registry import SITES
from harness.plugins.demo.tenants import SitesApp

pytestmark = pytest.mark.integration


def host(name: str, port: int) -> dict[str, str]:
    return {"host": f"{name}.localhost:{port}"}


async def test_every_site_answers_on_its_own_host_and_unknown_hosts_get_404() -> None:
    async with serving(SitesApp(SITES)) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        for site in SITES:
            answer = await client.get(site.login_path, headers=host(site.name, port))
            assert answer.status_code == 200
            assert site.title in answer.text
        for name in ("nosuch", "a.b.forum", "UPPER_x.forum", "seventeenletters0.forum"):
            assert (await client.get("/", headers=host(name, port))).status_code == 404


async def start(*options: str, by: Sequence[str] = ()) -> tuple[asyncio.subprocess.Process, int]:
    process = await asyncio.create_subprocess_exec(
        *by,
        sys.executable,
        "-m",
        "harness.plugins.demo",
        *options,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    ready = re.fullmatch(r"sites ready on port (\d+)\n", line)
    assert ready, line
    return process, int(ready[1])


async def test_the_server_announces_its_port_and_dies_when_its_standard_input_ends() -> None:
    process, port = await start("--port", "0")
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"http://127.0.0.1:{port}/", headers=host("forum", port))).status_code == 200
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(10):
            assert await process.wait() == 0


async def test_without_stdin_the_server_outlives_its_input_and_stops_at_sigterm() -> None:
    process, port = await start("--port", "0", "--no-stdin")
    assert process.stdin is not None
    process.stdin.close()
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"http://127.0.0.1:{port}/", headers=host("forum", port))).status_code == 200
    process.terminate()
    async with asyncio.timeout(10):
        await process.wait()


@pytest.mark.parametrize("by", [DEAF, ()], ids=["a run", "a person"])
async def test_a_server_of_a_run_leaves_signals_to_the_run(by: Sequence[str]) -> None:
    """Slurm and systemd send SIGTERM to every process at once, while the run still finishes its steps."""
    process, port = await start("--port", "0", by=by)
    process.terminate()
    if by:
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"http://127.0.0.1:{port}/", headers=host("forum", port))).status_code == 200
        assert process.stdin is not None
        process.stdin.close()
    async with asyncio.timeout(10):
        assert await process.wait() == (0 if by else -signal.SIGTERM)


async def test_an_answer_that_is_being_given_is_finished_and_one_that_never_ends_is_cut_off() -> None:
    begun, finish, cut_off = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"7")]})
        await send({"type": "http.response.body", "body": b"begun ", "more_body": True})
        begun.set()
        try:
            await (finish if scope["path"] == "/finished" else asyncio.Event()).wait()
        except asyncio.CancelledError:
            cut_off.set()
            raise
        await send({"type": "http.response.body", "body": b"."})

    async with httpx.AsyncClient(timeout=30) as client:
        async with serving(app) as port:
            finished = asyncio.create_task(client.get(f"http://127.0.0.1:{port}/finished"))
            await begun.wait()
            asyncio.get_running_loop().call_later(0.1, finish.set)
        assert (await finished).text == "begun ." and not cut_off.is_set()
        begun.clear()
        async with serving(app) as port:
            endless = asyncio.create_task(client.get(f"http://127.0.0.1:{port}/endless"))
            await begun.wait()
        async with asyncio.timeout(10):
            await cut_off.wait()
        endless.cancel()


async def test_a_server_that_cannot_begin_is_an_error_and_not_waited_for() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("nobody can ask")

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener, pytest.raises(ValueError, match="Stream Socket"):
        async with asyncio.timeout(30), serving(app, listener=listener):
            raise AssertionError("it does not listen")
