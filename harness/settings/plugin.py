"""A class that takes the place of a shipped one."""

from dataclasses import dataclass

from harness.settings.fields import Tree, setting

_BENCHMARKS = (
    *("assistantbench", "browsecomp", "miniwob", "online_mind2web", "real", "visualwebarena"),
    *("webarena", "webarena_verified", "webvoyager"),
)
MOVED = (
    ("harness.benchmarks.miniwob.benchmark.MiniWob", "harness.plugins.miniwob.miniwob.MiniWob"),
    *((f"harness.benchmarks.{name}.", f"harness.plugins.{name}.") for name in _BENCHMARKS),
    ("harness.audit.", "harness.plugins.audit."),
    ("harness.demo", "harness.plugins.demo"),
    ("harness.tracking.", "harness.plugins.tracking."),
)
"""Where shipped classes and modules were at first, and where they are now. The first path is still understood, and runs
are measured by it, so that run folders from before a move are resumed."""


def path_now(path: str) -> str:
    """Where a class is that had this dotted path once."""
    return next((now + path.removeprefix(first) for first, now in MOVED if path.startswith(first)), path)


def first_path(path: str) -> str:
    """The dotted path that a class had at first: what runs are measured by."""
    return next((first + path.removeprefix(now) for first, now in MOVED if path.startswith(now)), path)


@dataclass(frozen=True)
class PluginSettings:
    """A class that takes the place of a shipped one; see `harness.api` for what it must look like.

    Measured by `plugin_packages.measured_plugin`, and only where there is one: a run made before is measured the same.
    """

    # Not measured here: `measured_plugin` adds the class by its first path, or a moved class would drift.
    _target_: str | None = setting(None, measured=False)
    """Dotted path of a class of your own, `my_package.module.Class`; null = the shipped one."""
    # Apart from our own keys: beside them, each misspelt setting would be an argument of the class.
    arguments: Tree = setting(factory=dict, measured=False)
    """What the constructor of the class is given, by name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_target_", self._target_ and path_now(self._target_))
