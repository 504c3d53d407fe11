"""Finds by name what plug-ins bring: of the core, of the shelf (`harness.shelf`), of installed packages (entry points).

Nothing is imported before it is asked for, and a name that a run folder or a setting holds never imports anything but
what is registered under it.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import ConfigError, HarnessError, error_line, plugin_boundary
from harness.shelf import on_shelf

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_OURS = b"[cairn."
"""How the name of each of our groups begins in a file of entry points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """One kind of plug-in. What is shipped takes precedence: no package can replace it."""

    group: str
    """Of entry points: `cairn.providers`."""
    noun: str
    """One of it in messages, with its setting or command: `llm.api`."""
    core: Mapping[str, str] = field(default_factory=dict)
    """Name to `module:attribute`, or `module`, of those that are not plug-ins."""

    def shipped(self) -> Mapping[str, str]:
        """Name to `module:attribute` of the core's, then the shelf's."""
        return {**self.core, **on_shelf(self.group)}

    def names(self) -> tuple[str, ...]:
        """All that can be chosen, in the order of their tables, then those of installed packages by name."""
        return tuple(dict.fromkeys((*self.shipped(), *sorted(installed(self.group)))))

    def find(self, name: str) -> Any:
        """What is registered under this name, imported now.

        Raises:
            ConfigError: Nothing is, two packages claim the name, or the package cannot be imported.
        """
        if (place := self.shipped().get(name)) is not None:
            module, _, attribute = place.partition(":")
            found = import_module(module)
            return getattr(found, attribute) if attribute else found
        points = installed(self.group).get(name, ())
        if not points:
            raise ConfigError(f"{self.noun}={name[:80]} is unknown; choose one of {', '.join(self.names())}")
        if len(points) > 1:
            claimed = " and ".join(one.value for one in points)
            raise ConfigError(f"{self.noun}={name}: {claimed} have the same name; uninstall one of the packages")

        def failed(error: BaseException) -> ConfigError:
            why = f"{points[0].value} cannot be loaded: {error_line(error)}"
            return ConfigError(f"{self.noun}={name}: {why}; fix or uninstall its package")

        with plugin_boundary(failed, passes=(HarnessError,)):
            return points[0].load()

    @contextmanager
    def running(self, name: str, *, may_exit: bool = False) -> Iterator[None]:
        """What an installed package has registered under this name is run within; what is shipped has no such excuse.

        Args:
            may_exit: `sys.exit` passes.

        Raises:
            ConfigError: It raised something; names it.
        """
        if name in self.shipped():
            yield
            return

        def failed(error: BaseException) -> ConfigError:
            claimed = " and ".join(one.value for one in installed(self.group).get(name, ()))
            why = f"{claimed} raised {error_line(error)}"
            return ConfigError(f"{self.noun}={name}: {why}; fix or uninstall its package")

        with plugin_boundary(failed, passes=(HarnessError, BrokenPipeError, *([SystemExit] if may_exit else []))):
            yield


def installed(group: str) -> Mapping[str, tuple["EntryPoint", ...]]:
    """Name to the entry points of installed packages that have it: more than one where packages are in conflict."""
    return _installed_on(tuple(sys.path), group)


@cache
def _installed_on(path: tuple[str, ...], group: str) -> Mapping[str, tuple["EntryPoint", ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in () if (points := _all_on(path)) is None else points.select(group=group):
        # One that is found twice on the path is not in conflict with itself.
        others = (one for one in found.get(point.name, ()) if one.value != point.value)
        found[point.name] = (*others, point)
    return found


@cache
def _all_on(path: tuple[str, ...]) -> Any:
    """The entry points on one `sys.path`; None = none is ours. A file of each installed package is read, once for all
    groups. What parses them takes every process 35 ms, so that it is imported only where there is something for us.
    """
    if not any(map(_may_declare, path)):
        return None
    from importlib.metadata import entry_points

    return entry_points()


def _may_declare(place: str) -> bool:
    """Whether a package that is installed there may bring a plug-in; of an archive that is not known."""
    try:
        with os.scandir(place or os.curdir) as entries:
            folders = [entry for entry in entries if entry.name.endswith((".dist-info", ".egg-info", ".egg"))]
    except NotADirectoryError:
        return True
    except OSError:
        return False
    return any(entry.name.endswith(".egg") or _OURS in _read(Path(entry, "entry_points.txt")) for entry in folders)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
