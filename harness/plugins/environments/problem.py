"""What a client is told when it gets no observation: OpenEnv's error codes, and whether the sample is to be masked."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

INVALID_JSON = "INVALID_JSON"
UNKNOWN_TYPE = "UNKNOWN_TYPE"
VALIDATION_ERROR = "VALIDATION_ERROR"
EXECUTION_ERROR = "EXECUTION_ERROR"
CAPACITY_REACHED = "CAPACITY_REACHED"
SESSION_ERROR = "SESSION_ERROR"
LATE = "timeout"
"""The failure class of an answer that did not come within the time that its client gave."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Problem(Exception):
    """A request gets an error in the place of an observation. It never carries a reward."""

    def __init__(self, code: str, message: str, more: Mapping[str, Any] = _NOTHING) -> None:
        super().__init__(message)
        self.code = code
        self.more = more

    @classmethod
    def infrastructure(cls, failure_class: str, reason: str, *, code: str = EXECUTION_ERROR, **more: Any) -> "Problem":
        """The fault of browser, site, worker or server: the episode says nothing about the policy.

        Args:
            failure_class: One of few words, as reports have them.
            reason: The sentence of the error.
            code: Of OpenEnv.
            more: Further members of the frame.
        """
        told = {"failure_class": failure_class, "failure_reason": reason, "mask_sample": True}
        return cls(code, f"{failure_class}: {reason}", {**told, **more})

    def data(self) -> dict[str, Any]:
        """The `data` of an error frame."""
        return {"message": str(self)[:2000], "code": self.code, **self.more}


@asynccontextmanager
async def within(seconds: float | None) -> AsyncIterator[None]:
    """A limit for what a client waits for; what it has ordered goes on."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        why = f"no answer within {seconds:g} s; the step goes on: ask again with its request_id"
        raise Problem.infrastructure(LATE, why) from None
