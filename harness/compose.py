"""The composition root: configuration in, objects out; afterwards it steps aside.

The only place that knows which class stands behind which setting. Nothing here runs an episode.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from harness import tasks
from harness.config import PROJECT, Config
from harness.errors import ConfigError
from harness.records import Limits, Login, Site, Task

MEASURING = ("agent", "llm", "browser", "limits", "observation", "action_set", "judge")
"""Settings that change what is measured; a run folder holds one set of them."""

EXECUTING = frozenset(
    {
        *("llm.base_url", "llm.api_key", "llm.timeout_s", "llm.max_attempts", "llm.max_retry_s", "llm.prices"),
        *("llm.plans", "llm.faults", "llm.latency_ms", "judge.base_url", "judge.api_key", "judge.timeout_s"),
        *("browser.executable", "browser.headless", "browser.slow_mo_ms", "browser.screenshots"),
    }
)
"""Settings inside those groups that only change how, not what."""

_SITE_KEYS = {"url", "canonical", "reset_url", "login"}
_LOGIN_KEYS = {"url", "fields", "submit", "probe_url", "probe_text"}
_RESERVED = {"embedded"}


def measuring(config: Config) -> dict[str, Any]:
    """The measuring settings as one flat mapping of dotted keys to plain values."""
    tree = {name: _plain(getattr(config, name)) for name in MEASURING}
    return {key: value for key, value in _flat(tree) if key not in EXECUTING}


def saved(config: Config) -> str:
    """The whole configuration as YAML, keys and passwords left out."""
    tree = _plain(asdict(config))
    for group in ("llm", "judge"):
        tree[group]["api_key"] = None if tree[group]["api_key"] is None else "[redacted]"
    for site in tree["sites"].values():
        if isinstance(site, dict) and site.get("login"):
            site["login"]["fields"] = dict.fromkeys(site["login"].get("fields", {}), "[redacted]")
    return str(OmegaConf.to_yaml(OmegaConf.create(tree)))


def secrets(config: Config) -> dict[str, str]:
    """Values that must never be written, by the name they are replaced with."""
    found = {"llm.api_key": config.llm.api_key, "judge.api_key": config.judge.api_key}
    for name, site in _site_trees(config).items():
        for label, value in ((site.get("login") or {}).get("fields") or {}).items():
            if "pass" in label.lower():
                found[f"sites.{name}.login"] = value
    return {name: value for name, value in found.items() if value}


def load_tasks(config: Config) -> tuple[Task, ...]:
    """The tasks this run is about."""
    bases = {name: _text(site, f"sites.{name}", "canonical") for name, site in _site_trees(config).items()}
    return tasks.load(
        config.task.path,
        bases,
        ids=config.task.ids,
        wanted_sites=config.task.sites,
        limit=config.task.limit,
    )


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where the sites of each lane really are."""

    config: Config
    port: int | None
    """Of the embedded sites; None = the deployment is somebody else's."""

    def sites(self, lane: int) -> tuple[Site, ...]:
        """All configured sites as lane number `lane` reaches them."""
        return tuple(
            self._site(name, tree, lane) for name, tree in _site_trees(self.config).items() if self._is_there(tree)
        )

    def _is_there(self, tree: Mapping[str, Any]) -> bool:
        return self.port is not None or tree.get("url") is not None

    def _site(self, name: str, tree: Mapping[str, Any], lane: int) -> Site:
        canonical = _text(tree, f"sites.{name}", "canonical")
        if self.port is None:
            url, reset = _text(tree, f"sites.{name}", "url"), tree.get("reset_url")
        else:
            url = f"http://t{lane}.{name}.localhost:{self.port}"
            reset = f"{url}/__reset__"
        return Site(name=name, url=url, canonical=canonical, reset_url=reset, login=_login(name, tree.get("login")))


def limits(config: Config) -> Limits:
    return Limits(**asdict(config.limits))


def _site_trees(config: Config) -> dict[str, Mapping[str, Any]]:
    trees = {name: tree for name, tree in config.sites.items() if name not in _RESERVED}
    for name, tree in trees.items():
        unknown = sorted(set(tree) - _SITE_KEYS) if isinstance(tree, Mapping) else ["(not a mapping)"]
        if unknown:
            raise ConfigError(f"sites.{name}: unknown {', '.join(unknown)}; a site has {', '.join(sorted(_SITE_KEYS))}")
    return trees


def _login(name: str, tree: Mapping[str, Any] | None) -> Login | None:
    if tree is None:
        return None
    unknown = sorted(set(tree) - _LOGIN_KEYS)
    if unknown:
        raise ConfigError(
            f"sites.{name}.login: unknown {', '.join(unknown)}; a login has {', '.join(sorted(_LOGIN_KEYS))}"
        )
    place = f"sites.{name}.login"
    return Login(
        url=_text(tree, place, "url"),
        fields=dict(tree.get("fields") or {}),
        submit=_text(tree, place, "submit"),
        probe_url=_text(tree, place, "probe_url"),
        probe_text=tree.get("probe_text") or "",
    )


def _text(tree: Mapping[str, Any], place: str, key: str) -> str:
    value = tree.get(key)
    if not isinstance(value, str) or not value:
        raise ConfigError(
            f"{place}.{key} must be a text, not {value!r}; set it on the command line or in configs/sites"
        )
    return value.rstrip("/")


def _plain(value: Any) -> Any:
    """Dataclasses and enums as what YAML and JSON know."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return _plain(asdict(value)) if hasattr(value, "__dataclass_fields__") else value


def _flat(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            pairs += _flat(value, f"{prefix}{key}.")
        else:
            pairs.append((f"{prefix}{key}", value))
    return pairs
