"""Refuses settings that do not exist, and names the nearest existing one.

Hydra refuses `browser.heedless=false`, but `+browser.heedless=false` adds a setting, as `+sites.shop.url=…` has to.
Free by design are `sites` (whose keys `site_settings` checks), `executor.sbatch`, `agent.actions` and entries of
lists. Hydra's own settings are not checked.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from difflib import SequenceMatcher
from typing import Any

from omegaconf import DictConfig, OmegaConf

from harness.errors import ConfigError

_NEAR = 0.6
_ELSEWHERE = 0.1
"""How much less a name is worth that is only near in its last part: `+max_step` means `limits.max_steps`."""


def refuse_misspelt(tree: DictConfig) -> None:
    """Refuse a setting that no schema knows.

    Args:
        tree: A composed configuration.
    Raises:
        ConfigError: Naming the setting, and the nearest one there is.
    """
    for name in _unknown(tree):
        near = misspelt(name, _known(OmegaConf.structured(OmegaConf.get_type(tree))))
        raise ConfigError(f"{near}; python run.py --help says more, --cfg job lists all settings")


def misspelt(name: str, known: Iterable[str]) -> str:
    """The message about a setting that does not exist."""
    near = max(known, key=lambda one: _likeness(name, one), default=name)
    hint = f"; did you mean {near}" if _NEAR <= _likeness(name, near) < 1 else ""
    return f"{name} is not a setting{hint}"


def _likeness(one: str, other: str) -> float:
    last = SequenceMatcher(None, one.rpartition(".")[2], other.rpartition(".")[2]).ratio()
    return max(SequenceMatcher(None, one, other).ratio(), last - _ELSEWHERE)


def _unknown(tree: DictConfig, prefix: str = "") -> Iterator[str]:
    """The dotted names of keys in a typed part of the tree that are not among its fields."""
    kind = OmegaConf.get_type(tree)
    declared = {one.name for one in fields(kind)} if kind is not None and is_dataclass(kind) else None
    for key in tree:
        name = f"{prefix}{key!s}"
        node = tree._get_node(key)
        if declared is not None and key not in declared:
            yield from _leaves(name, OmegaConf.to_container(node) if OmegaConf.is_config(node) else None)
        elif isinstance(node, DictConfig) and not (node._is_none() or node._is_missing() or node._is_interpolation()):
            yield from _unknown(node, f"{name}.")


def _leaves(name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping) or not value:
        yield name
        return
    for key, inner in value.items():
        yield from _leaves(f"{name}.{key}", inner)


def _known(tree: DictConfig, prefix: str = "") -> Iterator[str]:
    """The dotted names of all settings of a schema, groups included."""
    for key in tree:
        yield f"{prefix}{key!s}"
        node = tree._get_node(key)
        if isinstance(node, DictConfig) and not (node._is_none() or node._is_missing() or node._is_interpolation()):
            yield from _known(node, f"{prefix}{key!s}.")
