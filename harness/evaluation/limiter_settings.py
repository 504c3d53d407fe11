"""Makes the rate limiter of a run from its settings, without importing the libraries of the model client."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from harness.config import LlmConfig
from harness.errors import ConfigError
from harness.journal.index import EpisodeResult
from harness.llm.limiter import Limiter, RateLimits

NO_OUTCOMES: Mapping[tuple[str, int], EpisodeResult] = MappingProxyType({})


def build_rate_limiter(
    llm: LlmConfig,
    tell: Callable[[str], None] = lambda text: None,
    outcomes: Mapping[tuple[str, int], EpisodeResult] = NO_OUTCOMES,
) -> Limiter:
    """The one of the run, see `Limiter`; `outcomes` say whether the endpoint ever answered. Raises as `limits_of`."""
    return Limiter(limits_of(llm), tell=tell, answered=any(outcome.steps for outcome in outcomes.values()))


def limits_of(llm: LlmConfig) -> RateLimits:
    """What the person allows.

    Raises:
        ConfigError: A limit is not above 0.
    """
    limits = {name: getattr(llm, name) for name in ("max_concurrency", "requests_per_minute", "tokens_per_minute")}
    for name, limit in limits.items():
        if limit is not None and limit <= 0:
            raise ConfigError(f"llm.{name}={limit:g} must be more than 0, or null for no limit")
    if not llm.max_answer_mb > 0:
        raise ConfigError(f"llm.max_answer_mb={llm.max_answer_mb:g} must be more than 0")
    return RateLimits(**limits, max_outage_s=llm.max_outage_s, longest_wait_s=llm.max_retry_s)
