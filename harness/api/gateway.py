"""Requests to endpoints, with retries, permits and outages: one's own, and those of a process that are passed on.

For agents whose process talks to the model itself, and for clients of further interfaces of an endpoint.
"""

from harness.llm.circuit_breaker import OutageWaiter
from harness.llm.connection import openai_errors
from harness.llm.endpoint_errors import translate_errors
from harness.llm.exchange import Exchanger
from harness.llm.passthrough import ForeignAnswer, ForeignRequest, NotARequest, Passthrough, kept_headers
from harness.llm.permits import Unlimited
from harness.llm.retry import Retrier, Timing

__all__ = [
    "Exchanger",
    "ForeignAnswer",
    "ForeignRequest",
    "NotARequest",
    "OutageWaiter",
    "Passthrough",
    "Retrier",
    "Timing",
    "Unlimited",
    "kept_headers",
    "openai_errors",
    "translate_errors",
]
