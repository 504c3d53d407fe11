"""Writes `sites.json`, which a run reads with `sites=from:FILE`: addresses, reset hooks and versions of what is up.

It holds settings as a file in `configs/sites` does, so what a run was given is in its recorded settings. The version of
a site is made of the program and the verified state of all services that it consists of.
"""

import hashlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.api.processes import module_arguments
from harness.plugins.site_sets.backend import Instance
from harness.plugins.site_sets.lifecycle import Lifecycle
from harness.plugins.site_sets.services import Group
from harness.plugins.site_sets.set_file import ENGINES, Service
from harness.plugins.site_sets.state import SEED, SERVED, STOPPED, write_json


def write_served(of: Lifecycle, python: str) -> Path:
    """Write the file; its path."""
    path = of.state.path.absolute() / SERVED
    tree: dict[str, Any] = {"defaults": [of.set.base, "_self_"]} if of.set.base else {}
    tree |= {"embedded": False}
    together = shared_groups(of)
    if together:
        # Only these: tasks may be on sites with a hook of their own meanwhile.
        tree["reset"] = {"command": _command(of, python, *(group[0] for group in together)), "scope": "all"}
        tree["reset"]["when"] = "dirty"
    elif of.set.base:
        tree["reset"] = {"when": "dirty"}
    for site, urls in addresses(of).items():
        group = of.set.group_of(site)
        service = next(of.set.services[name] for name in group if site in of.set.services[name].sites)
        settings = {key: value for key, value in service.sites[site].items() if key not in ("url", "path")}
        tree[site] = {**settings, "url": urls[0], "instances": urls[1:], "version": version(of, group)}
        if not settings.get("read_only") and group not in together and can_be_reset(of, group):
            tree[site]["reset_command"] = f"{_command(of, python)} --url '{{url}}'"
    write_json(path, tree)
    return path


def addresses(of: Lifecycle) -> dict[str, list[str]]:
    """Site to the addresses of its instances that were brought up, also while they are reset."""
    found: dict[str, list[str]] = {}
    for site, group, url in _places(of):
        if all(one.unit.state().phase != STOPPED for one in of.members(group)):
            found.setdefault(site, []).append(url)
    return found


def group_at(of: Lifecycle, url: str) -> str | None:
    """The instance behind an address, as `SITE@N`; None = it is none of ours."""
    return next((f"{site}@{group.number}" for site, group, at in _places(of) if at == url.rstrip("/")), None)


def shared_groups(of: Lifecycle) -> list[tuple[str, ...]]:
    """Groups with several sites that change: these can only be reset together, while no task uses any."""
    found = []
    for group in of.set.groups():
        services = [of.set.services[name] for name in group]
        changing = [name for one in services for name, settings in one.sites.items() if not settings.get("read_only")]
        whole = any(one.control is not None and one.control.whole for one in services)
        if len(changing) > 1 or whole:
            found.append(group)
    return found


def can_be_reset(of: Lifecycle, group: tuple[str, ...]) -> bool:
    """Whether there is a way: a remote service needs a control plane."""
    return all(one.backend != "remote" or one.control for one in (of.set.services[name] for name in group))


def version(of: Lifecycle, group: tuple[str, ...]) -> str:
    """Of what a site serves: programs, declared settings and state."""
    whole = hashlib.sha256()
    for name in group:
        service, one = of.set.services[name], of.instance(name, 0)
        image = of.backend(service).image(one) if service.backend in ENGINES else ""
        state = of.snapshots.digest(SEED, name) or one.unit.state().verified or service.digest
        whole.update("\0".join((name, _program(service), image, state)).encode() + b"\n")
    return f"sha256:{whole.hexdigest()[:32]}"


def _program(service: Service) -> str:
    """What it runs, without what may differ between two machines."""
    return "\0".join((service.backend, service.command, service.image.partition("@")[0], service.url))


def _places(of: Lifecycle) -> Iterator[tuple[str, Group, str]]:
    for group in of.groups(of.scale()):
        for one in of.members(group):
            for site, settings in one.service.sites.items():
                yield site, group, _address(of, one, settings)


def _address(of: Lifecycle, one: Instance, settings: Any) -> str:
    given = settings.get("url")
    path = str(settings.get("path") or "")
    return (one.said(str(given)) if given else of.url(one) + path).rstrip("/")


def _command(of: Lifecycle, python: str, *services: str) -> str:
    words = [python, *module_arguments("harness.main"), "sites", "reset", str(of.state.path.absolute()), *services]
    return shlex.join(words).replace("${", "\\${")  # settings put variables in for it
