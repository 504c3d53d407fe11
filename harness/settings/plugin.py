"""A class that takes the place of a shipped one."""

from dataclasses import dataclass

from harness.settings.fields import Tree, setting

FIRST_PATHS = {"harness.benchmarks.miniwob.miniwob.MiniWob": "harness.benchmarks.miniwob.benchmark.MiniWob"}
"""Shipped classes that were moved, to their first path: it is still understood, and runs are measured by it, so that
run folders from before the move are resumed."""
_PATHS_NOW = {first: now for now, first in FIRST_PATHS.items()}


@dataclass(frozen=True)
class PluginSettings:
    """A class that takes the place of a shipped one; see `harness.api` for what it must look like.

    Measured by `plugin_packages.measured_plugin`, and only where there is one: a run made before is measured the same.
    """

    _target_: str | None = setting(None, measured=False)
    """Dotted path of a class of your own, `my_package.module.Class`; null = the shipped one."""
    arguments: Tree = setting(factory=dict, measured=False)
    """What the constructor of the class is given, by name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_target_", _PATHS_NOW.get(self._target_ or "", self._target_))
