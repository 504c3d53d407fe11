"""The tree of a run's forks: the run it was forked from, and the runs beside it that were forked from it.

Known from `fork.json` in run folders of the same parent folder.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.runs.fork_origin import fork_origin

_MOST_FOLDERS = 1000
_DEEPEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A line of the tree."""

    name: str
    """Name of the run folder."""
    step: int | None
    """Step of the run above at which it was forked; None = it is the root."""
    depth: int
    is_this: bool
    """Whether it is the run that the tree is shown for."""


def fork_tree(folder: Path) -> tuple[Branch, ...]:
    """The tree that a run is in, depth first; () when it has neither parent nor forks."""
    own = folder.resolve()
    origins = {one.name: origin for one in _folders(own.parent) if (origin := fork_origin(one)) is not None}
    root, above = own.name, set[str]()
    # Forged files may name each other in a circle.
    while root in origins and root not in above:
        above.add(root)
        root = origins[root].run
    forks: dict[str, list[str]] = {}
    for name, origin in sorted(origins.items(), key=lambda one: (one[1].step, one[0])):
        forks.setdefault(origin.run, []).append(name)
    if own.name not in origins and own.name not in forks:
        return ()

    def branches(name: str, depth: int) -> Iterator[Branch]:
        step = origins[name].step if depth else None
        yield Branch(name=name, step=step, depth=depth, is_this=name == own.name)
        for fork in forks.get(name, ()) if depth < _DEEPEST else ():
            yield from branches(fork, depth + 1)

    return tuple(branches(root, 0))


def _folders(parent: Path) -> list[Path]:
    try:
        # Not `Path.is_dir`, which raises for a link to where one may not look, and would hide all others.
        return sorted(one for one in parent.iterdir() if os.path.isdir(one))[:_MOST_FOLDERS]  # noqa: PTH112
    except OSError:
        return []
