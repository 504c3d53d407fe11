"""The rate limiters of a run: one for the model under test, one for its judge, which is often another endpoint."""

from collections.abc import Callable

from harness.llm.limiter import Limiter, LimiterStats
from harness.llm.permits import Permit, PermitRequest


class Limiters:
    """Fits `RateLimiter` and `SyncRateLimiter`; outages and figures are those of the model under test."""

    def __init__(self, model: Limiter, judge: Limiter) -> None:
        self._model, self._judge = model, judge

    async def acquire(self, want: PermitRequest) -> Permit:
        """See `RateLimiter.acquire`."""
        return await self._of(want).acquire(want)

    def ask(self, want: PermitRequest, grant: Callable[[Permit], None]) -> Callable[[], None]:
        """See `SyncRateLimiter.ask`."""
        return self._of(want).ask(want, grant)

    async def outage(self, why: str, requests: int) -> float | None:
        return await self._model.outage(why, requests)

    def down(self, why: str, requests: int) -> float | None:
        return self._model.down(why, requests)

    async def rejection(self) -> bool:
        return await self._model.rejection()

    def rejects_all(self) -> bool:
        return self._model.rejects_all()

    def flow(self) -> LimiterStats:
        return self._model.flow()

    def _of(self, want: PermitRequest) -> Limiter:
        return self._judge if want.judge else self._model
