"""Waiting for what other processes do: they set no event, so a condition is looked at until it holds."""

import asyncio
import time
from collections.abc import Callable, Iterable

import psutil

_PAUSE_S = 0.02


async def until(condition: Callable[[], object], within_s: float = 300) -> None:
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE_S)


def wait_until(condition: Callable[[], object], *, within_s: float = 300) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "the condition never came"
        time.sleep(_PAUSE_S)


def alive(pids: Iterable[int]) -> list[psutil.Process]:
    """Those of the processes that still run.

    A process ends some time after it was killed, and in some containers nothing ever reads its exit code: wait until
    none is left, and do not count those of which only the exit code is left.
    """
    return [process for pid in pids if (process := _running(pid)) is not None]


def _running(pid: int) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.NoSuchProcess:
        return None
