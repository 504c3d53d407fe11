"""Refuses settings that do not exist, and names the nearest existing one.

Hydra refuses `browser.heedless=false`, but `+browser.heedless=false` adds a setting, as `+sites.shop.url=…` has to.
Free by design are `sites` (whose keys `site_settings` checks), `executor.sbatch`, `agent.actions` and entries of
lists. Hydra's own settings are not checked.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from omegaconf import DictConfig, OmegaConf

from harness.config.near_names import misspelt
from harness.errors import ConfigError
from harness.settings.fields import flat

SAYS_MORE = "--help says more, harness settings lists all settings"


def refuse_misspelt(tree: DictConfig) -> None:
    """Refuse a setting of a composed configuration that no schema knows.

    Raises:
        ConfigError: Naming the setting, and the nearest one there is.
    """
    # On the composed tree: the command line does not show what files add, and overrides of overrides.
    for name in _unknown(tree):
        raise ConfigError(f"{misspelt(name, setting_names())}; {SAYS_MORE}")


def setting_names() -> Iterator[str]:
    """The dotted names of all settings, groups included; those of sites and of plug-ins are not known here."""
    return (name for name, _ in _all_nodes())


def mapping_names() -> set[str]:
    """The names of the settings whose keys are free, as `llm.headers`."""
    return {name for name, node in _all_nodes() if isinstance(node, DictConfig) and OmegaConf.get_type(node) is dict}


def _all_nodes() -> Iterator[tuple[str, Any]]:
    from harness.config import ConfigSchema  # which imports this module

    return _nodes(OmegaConf.structured(ConfigSchema))


def _unknown(tree: DictConfig, prefix: str = "") -> Iterator[str]:
    """The dotted names of keys in a typed part of the tree that are not among its fields."""
    kind = OmegaConf.get_type(tree)
    declared = {one.name for one in fields(kind)} if kind is not None and is_dataclass(kind) else None
    for key in tree:
        name = f"{prefix}{key!s}"
        node = tree._get_node(key)
        if declared is not None and key not in declared:
            yield from flat(name, OmegaConf.to_container(node) if OmegaConf.is_config(node) else None)
        elif isinstance(node, DictConfig) and not (node._is_none() or node._is_missing() or node._is_interpolation()):
            yield from _unknown(node, f"{name}.")


def _nodes(tree: DictConfig, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted names of all settings of a schema, groups included, each with what holds its default."""
    for key in tree:
        node = tree._get_node(key)
        yield f"{prefix}{key!s}", node
        if isinstance(node, DictConfig) and not (node._is_none() or node._is_missing() or node._is_interpolation()):
            yield from _nodes(node, f"{prefix}{key!s}.")
