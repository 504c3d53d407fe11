"""Configurations of installed plug-in packages: their `configs` folders are searched after the shipped one and
`--config-dir`.

A package declares itself by an entry point of the group `cairn.plugins`, whose value is the name of a package. The
package is not imported for that; only `evaluation.builder` imports classes, when the settings name them (`_target_`).
"""

import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from harness.config.sites_file import choose_files
from harness.errors import ConfigError
from harness.registry import installed
from harness.secrets.secret_detection import is_secret_name
from harness.settings.fields import Tree, as_plain, flat
from harness.settings.plugin import first_path

GROUP = "cairn.plugins"
_NULL_AGENT = re.compile(r"(agent=(?:[\w.-]+,)*)null(?=,|$)")
_CHOSEN = re.compile(r"\+(agent|attack|defence|llm|browser|sites|executor|resume|task|tracking)=[\w./,-]+")
_FAIL_UNDER = re.compile(r"^\+{0,2}fail_under\.(?=[\w.]+=)")
_OLD_KEY = re.compile(r"^(\+{0,2})sites\.leases=")


def plugin_folders() -> dict[str, Path]:
    """Name of each package to its `configs` folder; the names of their entry points say nothing.

    Raises:
        ConfigError: There is none, or no such package.
    """
    return dict(_folders_on(tuple(sys.path)))


@cache
def _folders_on(_: tuple[str, ...]) -> dict[str, Path]:
    """For one `sys.path`."""
    return {point.value: _folder_of(point) for _, points in sorted(installed(GROUP).items()) for point in points}


def package_file(package: str, path: str) -> str:
    """A file that lies in a package, for settings: `${package:my_package,tasks.json}`.

    Raises:
        ConfigError: There is no such package.
    """
    if (folder := _package(package)) is None:
        raise ConfigError(f"there is no package {package} in this environment; install it, or correct its name")
    return str(folder / path)


def measured_plugin(name: str, target: str, arguments: Mapping[str, Any]) -> Tree:
    """What a run is measured by of a class named in the settings at `name`: itself, its version and arguments."""
    top = target.partition(".")[0]
    packages = sorted(set(_distributions_on(tuple(sys.path)).get(top, ())))
    measured: Tree = {
        f"{name}._target_": first_path(target),
        f"{name}.distribution": ", ".join(f"{package} {version(package)}" for package in packages) or None,
    }
    return measured | {
        key: value
        for key, value in flat(f"{name}.arguments", as_plain(arguments)).items()
        if not is_secret_name(key.rpartition(".")[2])
    }


@cache
def _distributions_on(_: tuple[str, ...]) -> Mapping[str, list[str]]:
    """For one `sys.path`: the lists of all installed files are read."""
    return packages_distributions()


def search_plugins(config_dir: Path | None = None) -> None:
    """Let hydra look for configurations in `config_dir` (None = none), then in plug-ins; may be called again."""
    PluginSearchPath.config_dir = config_dir
    Plugins.instance().register(PluginSearchPath)


class PluginSearchPath(SearchPathPlugin):
    """Made by hydra whenever it composes. Hydra itself would put `--config-dir` behind the plug-ins."""

    config_dir: Path | None = None

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        # Before the plug-ins, or a package would replace the person's file of the same name; after our own, or a
        # `config.yaml` that lies there by chance would replace the main one.
        if self.config_dir is not None:
            search_path.append(provider="--config-dir", path=f"file://{self.config_dir.absolute()}")
        for name, folder in plugin_folders().items():
            search_path.append(provider=f"{GROUP}: {name}", path=f"file://{folder}")


def choose_plainly(arguments: Sequence[str]) -> tuple[str, ...]:
    """Choices as hydra reads them.

    `+agent=mine` is `agent=mine`: hydra's plus is for groups that have no choice yet, and these always have one. The
    agent `null` is a text, and no absence of a choice. `sites=from:FILE` is the choice of a file. `sites.leases` is
    read as `sites.locks` until the next release. `fail_under.cup` is an entry of `fail_under_of`: `fail_under` itself
    is a number.
    """
    plain = (argument[1:] if _CHOSEN.fullmatch(argument) else argument for argument in choose_files(arguments))
    plain = (_FAIL_UNDER.sub("++fail_under_of.", argument) for argument in plain)
    return tuple(_OLD_KEY.sub(r"\1sites.locks=", _NULL_AGENT.sub(r"\1'null'", argument)) for argument in plain)


def _folder_of(point: EntryPoint) -> Path:
    by = "" if point.dist is None else f" of {point.dist.name} {point.dist.version}"
    if (package := _package(point.value)) is None:
        raise ConfigError(
            f"the plug-in {point.name}{by} names the package {point.value}, which is not there; uninstall it"
        )
    # Left out with a warning, it would end in "agent=mine is unknown" for some, and pass unseen for others.
    if not (folder := package / "configs").is_dir():
        raise ConfigError(
            f"the plug-in {point.name}{by} has no folder {folder}; its wheel must contain one, or uninstall the package"
        )
    return folder


def _package(name: str) -> Path | None:
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    found = None if spec is None else spec.submodule_search_locations
    return Path(next(iter(found))) if found else None
