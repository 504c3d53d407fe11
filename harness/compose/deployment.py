"""Where the sites are: from settings to `Site` records, one set per lane."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.config import Config
from harness.errors import ConfigError
from harness.records import Login, Site, Task
from harness.tasks import load

_SITE_KEYS = {"url", "canonical", "reset_command", "reset_url", "login"}
_LOGIN_KEYS = {"url", "fields", "submit", "probe_url", "probe_text"}
_RESERVED = {"embedded", "port", "reset"}


def load_tasks(config: Config) -> tuple[Task, ...]:
    """The tasks this run is about."""
    task = config.task
    return load(task.path, canonical_bases(config), ids=task.ids, wanted_sites=task.sites, limit=task.limit)


def canonical_bases(config: Config) -> dict[str, str]:
    """Site name to the address everybody is shown; what a task's placeholders stand for."""
    return {name: _text(tree, f"sites.{name}", "canonical").rstrip("/") for name, tree in site_trees(config).items()}


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where the sites of each lane really are."""

    config: Config
    port: int | None
    """Of the embedded sites; None = the deployment is somebody else's."""

    def sites(self, lane: int) -> tuple[Site, ...]:
        """All configured sites as lane number `lane` reaches them."""
        return tuple(
            self._site(name, tree, lane) for name, tree in site_trees(self.config).items() if self._is_there(tree)
        )

    def _is_there(self, tree: Mapping[str, Any]) -> bool:
        return self.port is not None or tree.get("url") is not None

    def _site(self, name: str, tree: Mapping[str, Any], lane: int) -> Site:
        canonical = _text(tree, f"sites.{name}", "canonical").rstrip("/")
        if self.port is None:
            # Shared by all lanes: put back by `compose.resetting` while nobody else is on it, not by an episode.
            url, reset = _text(tree, f"sites.{name}", "url").rstrip("/"), None
        else:
            url = f"http://t{lane}.{name}.localhost:{self.port}"
            reset = f"{url}/__reset__"
        return Site(name=name, url=url, canonical=canonical, reset_url=reset, login=_login(name, tree.get("login")))


def site_trees(config: Config) -> dict[str, Mapping[str, Any]]:
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
