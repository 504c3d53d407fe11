"""The limiter of a run, from the settings; without the model's libraries, which a supervisor does without."""

from harness.config import Config, LlmConfig
from harness.errors import ConfigError
from harness.llm.limiter import Limiter, Limits


def limiter(config: Config) -> Limiter:
    """The one of the run; raises as `limits`."""
    return Limiter(limits_of(config.llm))


def limits_of(llm: LlmConfig) -> Limits:
    """What the person allows.

    Raises:
        ConfigError: A limit that nothing fits into.
    """
    limits = {name: getattr(llm, name) for name in ("max_concurrency", "requests_per_minute", "tokens_per_minute")}
    for name, limit in limits.items():
        if limit is not None and limit <= 0:
            raise ConfigError(f"llm.{name}={limit:g} lets nothing through; give more than 0, or null for no limit")
    return Limits(**limits)
