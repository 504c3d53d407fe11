"""When a process that holds too much memory is ended: Chromium ends with a page whose picture is being taken."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psutil
import pytest

from harness.browser.driver import memory_watch
from harness.browser.driver.memory_watch import MemoryWatch
from tests.waiting import alive, until

pytestmark = pytest.mark.asyncio

MOST_MB = 128
_PAGE = "import sys; input(); held = bytearray(200_000_000); print('held', flush=True); input()"
_BROWSER = f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', {_PAGE!r}, '--type=renderer']).returncode)"  # fmt: skip


@dataclass
class Browser:
    """A process with one "page", which takes too much memory when it is told to."""

    process: asyncio.subprocess.Process
    page: int
    """Process id."""
    watch: MemoryWatch

    async def take_memory(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(b"\n")
        assert await self.process.stdout.readline() == b"held\n"

    @property
    def has_page(self) -> bool:
        return bool(alive([self.page]))

    async def loses_page(self) -> None:
        await until(lambda: not self.has_page)


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _BROWSER, stdin=pipe, stdout=pipe)
    await until(lambda: psutil.Process(process.pid).children())
    (page,) = psutil.Process(process.pid).children()
    watch = MemoryWatch(process.pid, most_mb=MOST_MB, episodes=lambda: 1)
    try:
        yield Browser(process, page.pid, watch)
    finally:
        watch.end()
        for left in alive([page.pid]):
            left.kill()
        await process.wait()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_watch, "_PICTURES_END_WITHIN_S", 60.0)


@pytest.mark.usefixtures("patient")
async def test_a_page_is_not_ended_while_a_picture_is_taken() -> None:
    async with browser() as one:
        async with one.watch.picture():
            await one.take_memory()
            await until(lambda: one.watch._is_ending or not one.has_page)
            assert one.has_page and not one.watch.recent_reason()
        await one.loses_page()
        assert f"browser.max_memory_mb={MOST_MB}" in one.watch.recent_reason()


@pytest.mark.usefixtures("patient")
async def test_no_picture_begins_before_the_page_has_ended() -> None:
    async with browser() as one:

        async def reason_at_picture() -> str:
            async with one.watch.picture():
                return one.watch.recent_reason()

        async with one.watch.picture():
            await one.take_memory()
            await until(lambda: one.watch._is_ending or not one.has_page)
            further = asyncio.create_task(reason_at_picture())
        assert "it used" in await further


async def test_a_picture_that_does_not_come_keeps_no_page() -> None:
    async with browser() as one, one.watch.picture():
        await one.take_memory()
        await one.loses_page()
