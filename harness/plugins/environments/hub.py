"""Where the agents of the workers ask: a Unix socket that only this user can open."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.plugins.environments.wire import MAX_LINE, Order, Question, leave_line


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Waiting:
    """An agent that waits for an answer."""

    question: Question
    _answer: "asyncio.Future[bytes]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def decide(self, order: Order) -> None:
        """Tell it what to do."""
        self._say(order.line())

    def leave(self, why: str) -> None:
        """Tell it to give the episode back."""
        self._say(leave_line(why))

    async def answered(self) -> bytes:
        """Wait for what it is told."""
        return await self._answer

    def _say(self, line: bytes) -> None:
        if not self._answer.done():
            self._answer.set_result(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """Passes on what agents ask."""

    asks: Callable[[Waiting], None]
    """An agent asks."""
    hangs_up: Callable[[Waiting], None]
    """An agent that asked is gone: its worker died, or gave up."""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Path]:
        """Listen, and give the path of the socket."""
        with TemporaryDirectory(prefix="cairn-environments-") as folder:
            path = Path(folder) / "socket"
            server = await asyncio.start_unix_server(self._attend, path, limit=MAX_LINE)
            try:
                yield path
            finally:
                server.close()

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TypeError, KeyError):
            waiting = Waiting(question=Question.of(await reader.readline()))
            self.asks(waiting)
            telling, gone = asyncio.ensure_future(waiting.answered()), asyncio.ensure_future(reader.read(1))
            try:
                await asyncio.wait((telling, gone), return_when=asyncio.FIRST_COMPLETED)
                if telling.done():
                    writer.write(telling.result())
                    await writer.drain()
                else:
                    self.hangs_up(waiting)
            finally:
                telling.cancel()
                gone.cancel()
        writer.close()
