"""Makes the rate limiter of a run from its settings, without importing the libraries of the model client."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from harness.config.model_settings import JudgeConfig, LlmConfig, ModelConfig
from harness.errors import ConfigError
from harness.journal.index import EpisodeResult
from harness.llm.limiter import Limiter, RateLimits
from harness.llm.limiters import Limiters

NO_OUTCOMES: Mapping[tuple[str, int], EpisodeResult] = MappingProxyType({})


def build_rate_limiter(
    llm: LlmConfig,
    judge: JudgeConfig,
    tell: Callable[[str], None] = lambda text: None,
    outcomes: Mapping[tuple[str, int], EpisodeResult] = NO_OUTCOMES,
) -> Limiters:
    """Those of the run, see `Limiter`; `outcomes` say whether the endpoint ever answered. Raises as `limits_of`."""
    answered = any(outcome.steps for outcome in outcomes.values())
    return Limiters(
        Limiter(limits_of(llm, max_outage_s=llm.max_outage_s), tell=tell, answered=answered),
        Limiter(limits_of(judge, "judge"), tell=lambda text: tell(f"judge: {text}"), answered=True),
    )


def limits_of(settings: ModelConfig, name: str = "llm", *, max_outage_s: float = math.inf) -> RateLimits:
    """What the person allows; `name`: of the group of settings.

    Raises:
        ConfigError: A limit is not above 0.
    """
    limits = {key: getattr(settings, key) for key in ("max_concurrency", "requests_per_minute", "tokens_per_minute")}
    for key, limit in limits.items():
        if limit is not None and limit <= 0:
            raise ConfigError(f"{name}.{key}={limit:g} must be more than 0, or null for no limit")
    if not settings.max_answer_mb > 0:
        raise ConfigError(f"{name}.max_answer_mb={settings.max_answer_mb:g} must be more than 0")
    return RateLimits(**limits, max_outage_s=max_outage_s, longest_wait_s=settings.max_retry_s)
