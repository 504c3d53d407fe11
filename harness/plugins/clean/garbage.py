"""What of a run folder can be taken away because it is derived, or because no journal speaks of it.

Invariant: a journal, and whatever a journal or `run.json` names, is never listed. An artifact counts as named when its
digest occurs anywhere in the bytes of one of them, torn and damaged lines included: rather too much is kept than too
little. Nothing outside the run folder is listed or taken away, whatever links lie in it. Reads only; taking away is
`remove`, which the holder of the run's lock calls.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.api.files import safe_files, translate_os_errors
from harness.api.journals import INDEX_NAME, STORES, named_digests, stored

DERIVED = (
    *("report", "summary.json", "summary.md", "junit.xml", "attribution.json", INDEX_NAME, ".concluded.json"),
    *("intents.json", "plans.json"),
)
"""Names a run makes again from its journals, or from its task file, whenever it needs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """A file or folder that nothing is lost with."""

    path: Path
    size: int
    """Bytes, of everything in it."""


def find_garbage(folder: Path, *, logs: bool = False) -> Iterator[Garbage]:
    """What can go from a run folder.

    Args:
        folder: The run folder.
        logs: Logs too; they are for people, and nothing makes them again.

    Raises:
        UnsafeFile: A journal or a folder of artifacts is a link or a special file, so references are unknown.
    """
    for name in DERIVED:
        path = folder / name
        if path.is_symlink() or path.exists():
            yield Garbage(path=path, size=_size(path))
    if logs:
        for path in sorted(folder.glob("*.log")):
            yield Garbage(path=path, size=_size(path))
    yield from _unnamed(folder)


def remove(found: Garbage, folder: Path) -> None:
    """Take it out of the run folder; of a link only the link."""
    with translate_os_errors(found.path, "remove"):
        if found.path.is_dir() and not found.path.is_symlink():
            shutil.rmtree(found.path)  # which goes by descriptors, too
        else:
            safe_files.remove(found.path, below=folder)


def _unnamed(folder: Path) -> Iterator[Garbage]:
    named = named_digests(folder)
    for store in STORES:
        for path in stored(folder, store):
            # Not `encode`: a foreign folder may hold names that are not UTF-8.
            if os.fsencode(path.name) not in named:
                yield Garbage(path=path, size=_size(path))


def _size(path: Path) -> int:
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    return sum((Path(base) / name).lstat().st_size for base, _, names in os.walk(path) for name in names)
