"""The settings recorded in a run folder, as untrusted text.

`config.yaml` of a run folder is read as plain YAML: no interpolation is resolved, no tag makes an object, no alias is
followed, and every value stays text. The caller decides which of them it uses; addresses, programs and passwords are
never used.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from harness.errors import ConfigError
from harness.files import safe_files
from harness.settings.fields import Tree

NAME = "config.yaml"
_MOST = 1 << 22
_DEEPEST = 50
_NOTHING = ("", "~", "null")
# The safe loader makes numbers of digits, which takes long for a megabyte of them.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def read_recorded(folder: Path) -> Tree:
    """The settings that stand in a run folder.

    Raises:
        ConfigError: There are none, or they are not YAML as a run writes it.
        UnsafeFile: The file is a link, a FIFO or a device, or far too large.
    """
    path = folder / NAME
    try:
        # The artifact of the measured settings needs no YAML, but lacks the addresses of the sites.
        text = safe_files.read(path, most=_MOST).decode()
        _check_plain(text, path)
        tree = yaml.load(text, Loader=_LOADER)  # texts only: it knows neither tags nor types
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}; give the folder of a run, or one of its journals"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} must contain one mapping, as a run writes it")
    return {str(key): value for key, value in tree.items()}


def recorded_text(tree: Mapping[str, Any], place: str) -> str | None:
    """The text at a dotted place; None when there is none, or null."""
    value: Any = tree
    for key in place.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) and value not in _NOTHING else None


def recorded_sites(tree: Mapping[str, Any]) -> dict[str, Tree]:
    """Site to its settings."""
    sites = tree.get("sites")
    found = sites.items() if isinstance(sites, dict) else ()
    return {str(name): site for name, site in found if isinstance(site, dict) and name != "reset"}


def recorded_address(site: Mapping[str, Any]) -> str | None:
    """The address a site was shown at, see `deployment.canonical`."""
    more = site.get("instances")
    first = more[0] if isinstance(more, list) and more and isinstance(more[0], str) else None
    address = recorded_text(site, "canonical") or recorded_text(site, "url") or first
    return None if address is None else address.rstrip("/")


def _check_plain(text: str, path: Path) -> None:
    """Before anything is built: a few lines of aliases stand for more than any memory holds."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise ConfigError(f"{path} contains an alias (*{str(event.anchor)[:40]}), which no run writes")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ConfigError(f"{path} is nested more than {_DEEPEST} levels deep, which no run writes")
