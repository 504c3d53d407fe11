"""Where the sites are: from settings to `Site` records, one set per lane."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from harness.config import Config
from harness.config.override_keys import misspelt
from harness.errors import ConfigError
from harness.records import Login, Site, Task
from harness.tasks import load
from harness.tasks.shards import in_shard

_SITE_KEYS = {"url", "instances", "canonical", "read_only", "reset_command", "reset_url", "effects_url", "login"}
_LOGIN_KEYS = {"url", "fields", "submit", "probe_url", "probe_text"}
_RESERVED = {"embedded", "port", "reset", "leases"}


def load_tasks(config: Config) -> tuple[Task, ...]:
    """The tasks this run is about."""
    task = config.task
    tasks = load(task.path, canonical_bases(config), ids=task.ids, wanted_sites=task.sites, limit=task.limit)
    return in_shard(tasks, task.shard)


def canonical_bases(config: Config) -> dict[str, str]:
    """Site name to the address everybody is shown; what a task's placeholders stand for."""
    return {name: canonical(name, tree) for name, tree in site_trees(config).items()}


def canonical(name: str, tree: Mapping[str, Any]) -> str:
    """The address of a site that everybody is shown: `canonical`, else `url`, else the first of its `instances`."""
    if tree.get("canonical") is not None:
        return _text(tree, f"sites.{name}", "canonical")
    if urls := _urls(name, tree):
        return re.sub(r"(?<=://)[^/?#]*@", "", urls[0])  # who may enter is nobody's business but the browser's
    raise ConfigError(f"sites.{name} has no address: set sites.{name}.url, or sites.{name}.canonical if it is embedded")


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where the sites of each lane really are."""

    config: Config
    port: int | None
    """Of the embedded sites; None = the deployment is somebody else's."""

    def sites(self, lane: int) -> tuple[Site, ...]:
        """All configured sites as lane number `lane` reaches them; of several instances, the first."""
        return tuple(
            self._site(name, tree, lane)
            for name, tree in site_trees(self.config).items()
            if self.port is not None or _urls(name, tree)
        )

    def everywhere(self, lane: int) -> tuple[Site, ...]:
        """The same, with one for each instance."""
        there = instances(self.config)
        return tuple(replace(site, url=url) for site in self.sites(lane) for url in there.get(site.name) or (site.url,))

    def _site(self, name: str, tree: Mapping[str, Any], lane: int) -> Site:
        at_home = self.port is None or not is_embedded(self.config, tree)
        url = _urls(name, tree)[0] if at_home else f"{lane_base(name, lane)}:{self.port}"
        return Site(
            name=name,
            url=url,
            canonical=canonical(name, tree),
            read_only=is_read_only(name, tree),
            effects_url=_effects_url(name, tree),
            login=_login(name, tree.get("login")),
        )


def is_embedded(config: Config, tree: Mapping[str, Any]) -> bool:
    """Whether every lane has a site of its own; the embedded ones all have a canonical address."""
    return bool(config.sites.get("embedded")) and tree.get("canonical") is not None


def lane_base(name: str, lane: int) -> str:
    """Where a lane's own embedded site is, but for the port."""
    return f"http://t{lane}.{name}.localhost"


def is_read_only(name: str, tree: Mapping[str, Any]) -> bool:
    """Whether the settings say that no task changes the site."""
    value = tree.get("read_only", False)
    if not isinstance(value, bool):
        raise ConfigError(f"sites.{name}.read_only must be true or false, not {value!r}")
    return value


def _effects_url(name: str, tree: Mapping[str, Any]) -> str | None:
    if (url := tree.get("effects_url")) is None:
        return None
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise ConfigError(f"sites.{name}.effects_url must be an address with http:// or https://, not {url!r}")
    return url


def instances(config: Config) -> dict[str, tuple[str, ...]]:
    """Site to the real base URLs it is served at, of sites that lanes share; {} when every lane has its own.

    Raises:
        ConfigError: They are no addresses, or every lane has its own sites anyway.
    """
    found = {name: _urls(name, tree) for name, tree in site_trees(config).items()}
    if not config.sites.get("embedded"):
        return {name: urls for name, urls in found.items() if urls}
    for name, tree in site_trees(config).items():
        if tree.get("instances"):
            raise ConfigError(
                f"sites.{name}.instances is for sites of your own; of the embedded ones every lane has its own instance"
            )
    return {}


def _urls(name: str, tree: Mapping[str, Any]) -> tuple[str, ...]:
    """`url` and `instances` together, each once."""
    more = tree.get("instances") or []
    if not isinstance(more, Sequence) or isinstance(more, str):
        raise ConfigError(f"sites.{name}.instances must be a list of addresses, not {more!r}")
    first = [_text(tree, f"sites.{name}", "url")] if tree.get("url") is not None else []
    for number, url in enumerate(more):
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise ConfigError(
                f"sites.{name}.instances[{number}] must be an address with http:// or https://, not {url!r}"
            )
    return tuple(dict.fromkeys(url.rstrip("/") for url in (*first, *more)))


def site_trees(config: Config) -> dict[str, Mapping[str, Any]]:
    """Site to its settings.

    Raises:
        ConfigError: One of them is unknown; the sentence names the nearest that there is.
    """
    trees = {name: tree for name, tree in config.sites.items() if name not in _RESERVED}
    for name, tree in trees.items():
        place = f"sites.{name}"
        if not isinstance(tree, Mapping):
            raise ConfigError(
                f"{misspelt(place, map('sites.{}'.format, _RESERVED))}; a site is a mapping, not {tree!r}"
            )
        if not _SITE_KEYS & set(tree) and (near := get_close_matches(name, _RESERVED, 1, 0.75)):
            raise ConfigError(f"{place}: there is no such site; did you mean sites.{near[0]}")
        _check_keys(place, tree, _SITE_KEYS, "a site")
        if (login := tree.get("login")) is not None:
            if not isinstance(login, Mapping):
                raise ConfigError(f"{place}.login must be a mapping, not {login!r}")
            _check_keys(f"{place}.login", login, _LOGIN_KEYS, "a login")
    return trees


def _check_keys(place: str, tree: Mapping[str, Any], known: set[str], what: str) -> None:
    if unknown := sorted(set(tree) - known):
        near = misspelt(f"{place}.{unknown[0]}", (f"{place}.{key}" for key in known))
        raise ConfigError(f"{near}; {what} has {', '.join(sorted(known))}")


def _login(name: str, tree: Mapping[str, Any] | None) -> Login | None:
    if tree is None:
        return None
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
