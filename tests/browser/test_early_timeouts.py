"""What waits by another clock than the loop's is tried again when that clock said too early that the time is over.

The loops here run behind real time, as that of a process that was frozen does.
"""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from playwright.async_api import Error

from harness.browser.driver.playwright_errors import in_working_time
from harness.browser.network.http import fetch, is_up
from harness.errors import SiteUnavailable


class Late(asyncio.SelectorEventLoop):
    """A loop for which real time passes at a twentieth of its speed."""

    def time(self) -> float:
        return time.monotonic() / 20


def run(main: Coroutine[Any, Any, None], loop: type[asyncio.SelectorEventLoop] = Late) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main)


def timed_out(message: str = "Timeout 3000ms exceeded.") -> Error:
    error = Error(message)
    error._name = "TimeoutError"
    return error


def test_a_wait_for_an_element_that_ended_too_early_goes_on() -> None:
    given: list[float] = []

    async def act(ms: float) -> None:
        given.append(ms)
        if len(given) < 3:
            raise timed_out()

    run(in_working_time(act, 3.0))
    assert len(given) == 3 and 1000 < given[-1] <= given[0] <= 3000


@pytest.mark.parametrize("error", [timed_out("Timeout\n  - performing click action"), Error("element is gone")])
def test_what_may_have_acted_or_failed_otherwise_is_not_tried_again(error: Error) -> None:
    given: list[float] = []

    async def act(ms: float) -> None:
        given.append(ms)
        raise error

    with pytest.raises(Error):
        run(in_working_time(act, 3.0))
    assert len(given) == 1


def test_a_wait_whose_time_is_over_is_not_tried_again() -> None:
    given: list[float] = []

    async def act(ms: float) -> None:
        given.append(ms)
        raise timed_out()

    with pytest.raises(Error):
        run(in_working_time(act, 0.5))
    assert len(given) == 1


class Silent:
    """A server that leaves the first request without an answer."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append(await reader.readuntil(b"\r\n\r\n"))
        if len(self.asked) > 1:
            writer.write(b"HTTP/1.1 200 X\r\ncontent-length: 2\r\n\r\nok")
            await writer.drain()
        else:
            await reader.read()
        writer.close()


@pytest.mark.slow
def test_a_request_that_timed_out_too_early_is_sent_again_unless_it_may_change_something() -> None:
    async def ask() -> None:
        server = Silent()
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
            url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
            with pytest.raises(SiteUnavailable):
                await fetch(url, method="POST", body=b"", timeout_s=1.2)
            assert len(server.asked) == 1
            server.asked.clear()
            assert (await fetch(url, timeout_s=1.2)).text == "ok"
            server.asked.clear()
            assert await is_up(url, timeout_s=1.2) and len(server.asked) == 2

    run(ask())


def test_a_server_that_does_not_answer_in_time_is_not_asked_again() -> None:
    async def ask() -> None:
        server = Silent()
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
            url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
            assert not await is_up(url, timeout_s=1.2) and len(server.asked) == 1

    run(ask(), asyncio.SelectorEventLoop)
