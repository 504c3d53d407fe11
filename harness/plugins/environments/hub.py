"""What the agents of the workers ask: the run passes it on, from whichever machine."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.api import PluginFailed
from harness.plugins.environments.wire import Order, Question, leaving


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Waiting:
    """An agent that waits for an answer."""

    question: Question
    _answer: "asyncio.Future[bytes]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def decide(self, order: Order) -> None:
        """Tell it what to do."""
        self._say(order.encoded())

    def leave(self, why: str) -> None:
        """Tell it to give the episode back."""
        self._say(leaving(why))

    async def answered(self) -> bytes:
        """Wait for what it is told."""
        return await self._answer

    def _say(self, answer: bytes) -> None:
        if not self._answer.done():
            self._answer.set_result(answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """Passes on what agents ask."""

    asks: Callable[[Waiting], None]
    """An agent asks."""
    hangs_up: Callable[[Waiting], None]
    """An agent that asked is gone: its worker died, or gave up."""

    async def answer(self, question: bytes) -> bytes:
        """See `HostingRequest.answer`.

        Raises:
            PluginFailed: It is not a question of our agent.
        """
        try:
            waiting = Waiting(question=Question.of(question))
        except (ValueError, TypeError, KeyError) as error:
            raise PluginFailed(f"an agent asked what the server cannot read: {str(error)[:200]}") from error
        self.asks(waiting)
        is_told = False
        try:
            answer = await waiting.answered()
            is_told = True
            return answer
        finally:
            if not is_told:
                self.hangs_up(waiting)
