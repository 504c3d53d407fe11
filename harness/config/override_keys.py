"""Refuses settings that do not exist, and names the nearest existing one.

Hydra refuses `browser.heedless=false`, but `+browser.heedless=false` adds a setting, as `+sites.shop.url=…` has to.
Free by design are `sites` (whose keys `site_settings` checks), `executor.sbatch`, `agent.actions` and entries of
lists. Hydra's own settings are not checked.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

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
    from harness.config import ConfigSchema  # which imports this module

    return _known(OmegaConf.structured(ConfigSchema))


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


def _known(tree: DictConfig, prefix: str = "") -> Iterator[str]:
    """The dotted names of all settings of a schema, groups included."""
    for key in tree:
        yield f"{prefix}{key!s}"
        node = tree._get_node(key)
        if isinstance(node, DictConfig) and not (node._is_none() or node._is_missing() or node._is_interpolation()):
            yield from _known(node, f"{prefix}{key!s}.")
