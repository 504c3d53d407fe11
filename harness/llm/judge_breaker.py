"""Keeps a judge that is down from holding up a run: one question finds it out, the next ones fail at once.

Unlike the model under test, whose outage pauses the run (`circuit_breaker`), a judge is not needed for episodes to go
on: what it did not say can be scored later from the evidence. Each process has a circuit of its own, for all its lanes.
Why: docs/decisions/models.md#a-judge-that-is-down-fails-fast
"""

import logging
import math
import time
from collections.abc import Callable, Sequence

from harness.api import ChatModel, ComputerTool, Message, Reply, Tool
from harness.errors import ModelUnavailable, RequestRefused
from harness.llm.circuit_breaker import FIRST_PAUSE_S, LONGEST_PAUSE_S

logger = logging.getLogger(__name__)


# Not in the limiter that all processes share, as that can only delay a request; each process costs one question more.
class JudgeBreaker:
    """A `ChatModel` that is not asked while its endpoint is down, but for one question after each pause."""

    def __init__(self, model: ChatModel, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            model: It retries; what it raises is final.
            monotonic: The clock.
        """
        self._model = model
        self._monotonic = monotonic
        self._heard = 0
        """Questions that the endpoint answered or refused."""
        self._down_since: float | None = None
        self._why = ""
        self._pause_s = FIRST_PAUSE_S
        self._ready_at = -math.inf
        """While it is down: when the next question goes out; inf = one is on its way."""

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        """See `ChatModel.ask`.

        Raises:
            ModelUnavailable: The endpoint is down; perhaps it was not asked.
        """
        self._check()
        heard, ready_at = self._heard, self._ready_at
        is_probe = self._down_since is not None
        if is_probe:
            self._ready_at = math.inf
        try:
            reply = await self._model.ask(messages, tools)
        except ModelUnavailable as error:
            self._failed(error, heard, is_probe=is_probe)
            raise
        except RequestRefused:
            self._answered()
            raise
        finally:
            if is_probe and self._ready_at == math.inf:  # it was cancelled: another question may find out
                self._ready_at = ready_at
        self._answered()
        return reply

    def _check(self) -> None:
        now = self._monotonic()
        if self._down_since is not None and now < self._ready_at:
            since_s = now - self._down_since
            # At once, and not after a pause as for the model under test: a judge can be asked later, and a pause
            # would hold browsers and locks of sites for up to an hour.
            raise ModelUnavailable(f"not asked, as its endpoint has been down for {since_s:.0f} s: {self._why}")

    def _failed(self, error: ModelUnavailable, heard: int, *, is_probe: bool) -> None:
        if self._heard != heard or (self._down_since is not None and not is_probe):
            return  # others were answered meanwhile; or it is known, as this was asked before
        now = self._monotonic()
        if self._down_since is None:
            self._down_since, self._why, self._pause_s = now, str(error), FIRST_PAUSE_S
            logger.warning("the judge does not answer; what it should judge is unscored meanwhile: %s", error)
        else:
            self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
        self._ready_at = now + self._pause_s

    def _answered(self) -> None:
        self._heard += 1
        if self._down_since is not None:
            logger.warning("the judge answers again after %.0f s", self._monotonic() - self._down_since)
            self._down_since = None
