"""Refuses settings that do not exist, and names the nearest existing one.

Hydra refuses `browser.heedless=false`, but `+browser.heedless=false` adds a setting, as `+sites.shop.url=…` has to.
Free by design are `sites` (whose keys `site_settings` checks), `executor.sbatch`, `agent.actions` and entries of
lists. Hydra's own settings are not checked.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from difflib import SequenceMatcher

from omegaconf import DictConfig, OmegaConf

from harness.errors import ConfigError
from harness.settings.fields import flat

SAYS_MORE = "--help says more, harness settings lists all settings"
_NEAR = 0.6
_ELSEWHERE = 0.2
"""How much less a name is worth that is only near in its last part: `+max_step` means `limits.max_steps`."""
_SAME_KEY = 0.95
"""What a name is worth whose last part is the same: `+limit` means `task.limit` rather than `limits`."""


def refuse_misspelt(tree: DictConfig) -> None:
    """Refuse a setting that no schema knows.

    Args:
        tree: A composed configuration.
    Raises:
        ConfigError: Naming the setting, and the nearest one there is.
    """
    # On the composed tree: the command line does not show what files add, and overrides of overrides.
    for name in _unknown(tree):
        raise ConfigError(f"{misspelt(name, setting_names())}; {SAYS_MORE}")


def misspelt(name: str, known: Iterable[str]) -> str:
    """The message about a setting that does not exist."""
    names = tuple(known)
    near = nearest(name, names)
    same = [one for one in names if near and one.rpartition(".")[2] == name.rpartition(".")[2]]  # model: whose?
    hint = f"; did you mean {' or '.join(same[:4]) or near}" if near else ""
    return f"{name} is not a setting{hint}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like this one; None = none is like it."""
    near = max(known, key=lambda one: _likeness(name, one), default=name)
    return near if near != name and _likeness(name, near) >= _NEAR else None


def setting_names() -> Iterator[str]:
    """The dotted names of all settings, groups included; those of sites and of plug-ins are not known here."""
    from harness.config import ConfigSchema  # which imports this module

    return _known(OmegaConf.structured(ConfigSchema))


def _likeness(one: str, other: str) -> float:
    key, other_key = one.rpartition(".")[2], other.rpartition(".")[2]
    last = SequenceMatcher(None, key, other_key).ratio() if key != other_key else _SAME_KEY + _ELSEWHERE
    words = SequenceMatcher(None, _words(one), _words(other)).ratio()
    return max(SequenceMatcher(None, one, other).ratio(), last - _ELSEWHERE, words - _ELSEWHERE)


def _words(name: str) -> str:
    """The words in one order: `--dry-run` means `run.dry`."""
    return " ".join(sorted(re.split(r"[._]", name)))


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
