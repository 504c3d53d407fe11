"""What a lane writes is written in order, off the loop."""

import asyncio
import threading

import pytest

from harness.episode.background import SerialWriter

pytestmark = pytest.mark.asyncio


async def test_the_loop_goes_on_while_a_disk_takes_its_time() -> None:
    write, free = SerialWriter(), threading.Event()
    slow = asyncio.ensure_future(write(lambda: free.wait(10)))
    await asyncio.sleep(0)
    assert not slow.done()
    free.set()  # nobody could, were the loop held up
    assert await slow is True


async def test_what_follows_a_cancelled_write_comes_after_it() -> None:
    write, begun, free = SerialWriter(), threading.Event(), threading.Event()
    done: list[str] = []

    def slowly() -> None:
        begun.set()
        free.wait(10)
        done.append("first")

    first = asyncio.ensure_future(write(slowly))
    await asyncio.to_thread(begun.wait, 10)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    second = asyncio.ensure_future(write(lambda: done.append("second")))
    free.set()
    await second
    assert done == ["first", "second"]


async def test_what_a_write_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await SerialWriter()(lambda: 1 // 0)
