"""Pauses a run while the endpoint stays down, instead of burning one task after the other.

When a request has failed all its retries, the circuit opens: the lane that noticed keeps asking, ever more slowly, and
all others wait. The first answer closes it. After `max_outage_s` the outage is given up and told as what it is.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from harness.errors import ModelUnavailable
from harness.protocols import ChatModel, Message, Reply

FIRST_PAUSE_S = 15.0
LONGEST_PAUSE_S = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """Told to whoever watches the run."""

    why: str
    since_s: float
    wait_s: float


class Breaker:
    """Shared by all models of one endpoint in this process."""

    def __init__(
        self,
        *,
        max_outage_s: float,
        first_pause_s: float = FIRST_PAUSE_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_outage_s = max_outage_s
        self._first_pause_s = first_pause_s
        self._sleep = sleep
        self._monotonic = monotonic
        self._probing = asyncio.Lock()
        self._down_since: float | None = None

    async def ask(self, model: ChatModel, messages: Sequence[Message], on_outage: Callable[[Outage], None]) -> Reply:
        """Ask through the circuit.

        Raises:
            ModelUnavailable: The endpoint stayed down for `max_outage_s`.
        """
        if self._down_since is None:
            try:
                return await model.ask(messages)
            except ModelUnavailable as error:
                noticed = error
                if self._down_since is None:
                    self._down_since = self._monotonic()
            on_outage(self._outage(str(noticed), 0.0))
        async with self._probing:
            return await self._probe(model, messages, on_outage)

    async def _probe(self, model: ChatModel, messages: Sequence[Message], on_outage: Callable[[Outage], None]) -> Reply:
        pause = self._first_pause_s
        while True:
            try:
                reply = await self._wait_and_ask(model, messages, pause, on_outage)
            except ModelUnavailable as error:
                if self._down_since is None:  # it had come back, and is gone again before our turn came
                    self._down_since = self._monotonic()
                if self._lasted() >= self._max_outage_s:
                    raise ModelUnavailable(f"{error}; the endpoint was down for {self._lasted():.0f} s") from error
                pause = min(pause * 2, LONGEST_PAUSE_S)
            else:
                self._down_since = None
                return reply

    async def _wait_and_ask(
        self, model: ChatModel, messages: Sequence[Message], pause: float, on_outage: Callable[[Outage], None]
    ) -> Reply:
        if self._down_since is not None:
            on_outage(self._outage("the endpoint is down, the run is paused", pause))
            await self._sleep(pause)
        return await model.ask(messages)

    def _lasted(self) -> float:
        return 0.0 if self._down_since is None else self._monotonic() - self._down_since

    def _outage(self, why: str, wait_s: float) -> Outage:
        return Outage(why=why, since_s=self._lasted(), wait_s=wait_s)


class GuardedModel:
    """A `ChatModel` behind a breaker."""

    def __init__(self, model: ChatModel, breaker: Breaker, on_outage: Callable[[Outage], None]) -> None:
        self._model = model
        self._breaker = breaker
        self._on_outage = on_outage

    async def ask(self, messages: Sequence[Message]) -> Reply:
        return await self._breaker.ask(self._model, messages, self._on_outage)
