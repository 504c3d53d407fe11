"""Which settings a run is measured by, which are secrets, and what of them is written down."""

import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from enum import Enum
from typing import Any

from omegaconf import OmegaConf

from harness.config import Config
from harness.config.config_secrets import config_secrets, redacted_settings
from harness.journal.redaction import Redactor
from harness.journal.secret_detection import secrets_in

MEASURED = ("agent", "llm", "browser", "limits", "observation", "action_set", "judge")
"""Settings that change what is measured; a run folder holds one set of them."""

EXECUTION_ONLY = frozenset(
    {
        *(
            "llm.base_url",
            "llm.api_key",
            "llm.headers",
            "llm.timeout_s",
            "llm.max_attempts",
            "llm.max_retry_s",
            "llm.max_outage_s",
            "llm.max_answer_mb",
            "llm.max_concurrency",
            "llm.requests_per_minute",
            "llm.tokens_per_minute",
            "llm.prices",
        ),
        *(
            "llm.plans",
            "llm.faults",
            "llm.latency_ms",
            "judge.base_url",
            "judge.api_key",
            "judge.headers",
            "judge.timeout_s",
        ),
        *("browser.executable", "browser.headless", "browser.slow_mo_ms", "browser.screenshots", "browser.har"),
        "browser.max_memory_mb",
    }
)
"""Settings inside those groups that only change how, not what."""

_SENT = ("llm.headers.", "judge.headers.")


def measured_settings(config: Config) -> dict[str, Any]:
    """The measuring settings as one flat mapping of dotted keys to plain values."""
    tree = {name: as_plain(getattr(config, name)) for name in MEASURED}
    return {key: value for key, value in _flat(tree) if key not in EXECUTION_ONLY and not key.startswith(_SENT)}


def saved(config: Config) -> str:
    """The whole configuration as YAML, keys and passwords left out."""
    return str(OmegaConf.to_yaml(OmegaConf.create(shown(config))))


def shown(config: Config) -> dict[str, Any]:
    """The whole configuration as plain values, keys and passwords left out."""
    return redacted_settings(as_tree(config))


def build_redactor(config: Config, more: Mapping[str, str] | None = None) -> Redactor:
    """Takes the secrets of settings and environment out of what is written, and `more`, by name."""
    return Redactor({**secrets_in(os.environ), **(more or {}), **secrets(config)})


def secrets(config: Config) -> dict[str, str]:
    """Values that must never be written, by the name they are replaced with."""
    return config_secrets(as_tree(config))


def as_tree(config: Config) -> dict[str, Any]:
    """The whole configuration as plain values, as `ConfigSchema` reads it."""
    return {one.name: as_plain(getattr(config, one.name)) for one in fields(config)} | {
        "sites": as_plain(config.sites.given)
    }


def as_plain(value: Any) -> Any:
    """Dataclasses and enums as what YAML and JSON know."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(item) for item in value]
    return as_plain(asdict(value)) if hasattr(value, "__dataclass_fields__") else value


def _flat(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            pairs += _flat(value, f"{prefix}{key}.")
        else:
            pairs.append((f"{prefix}{key}", value))
    return pairs
