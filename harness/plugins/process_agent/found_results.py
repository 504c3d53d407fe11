"""What must be hidden in the folders that an agent's process may read: results of earlier runs, which hold reference
answers and solved tasks, and sockets and pipes, which lead to other programs.
"""

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from harness.api.journals import JOURNAL_SUFFIX
from harness.errors import ConfigError
from harness.runs.opened_run import SUFFIX, is_bundle

logger = logging.getLogger(__name__)

_MOST_ENTRIES = 1_000_000
_HEAD_BYTES = 2000
_PAGES = (".html", ".htm")
_ARCHIVES = (".zst", ".zstd", ".tzst")
"""Names under which a bundle may be found, too. Not every file is opened: a folder may have a hundred thousand."""
_REPORT_MARKS = (
    (b'<meta name="generator" content="Cairn">',),
    # Of reports that were written before they named their generator.
    (b'<meta name="color-scheme" content="light dark">', b'<link rel="icon" href="data:,">'),
)


def results_in(folders: Iterable[Path], *, limited: bool = True) -> Iterator[Path]:
    """Run folders, bundles and reports below these folders, and sockets, pipes and devices.

    Args:
        folders: Links in them are not followed: where they lead is readable only if it is named itself.
        limited: Folders with too many files are refused; otherwise the rest of them is left out, with a warning.
    Raises:
        ConfigError: One of the folders is a run folder, or has too many files.
    """
    for top in folders:
        left, count = [os.fspath(top)], 0
        while left:
            place = left.pop()
            entries = _entries(place)
            count += len(entries)
            if count > _MOST_ENTRIES:
                _give_up(top, limited=limited)
                break
            files = [entry for entry in entries if not _is_folder(entry)]
            if any(entry.name.endswith(JOURNAL_SUFFIX) for entry in files):
                if Path(place) == top:
                    raise ConfigError(f"{top} is a run folder, which the agent must not read; give it another folder")
                yield Path(place)
                continue
            left += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            yield from (Path(entry.path) for entry in files if _leads_out(entry) or _is_result(place, entry.name))


def _entries(place: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(place) as entries:
            return list(entries)
    except OSError:  # it cannot be read, or is a file
        return []


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, or to where we may not look
        return False


def _leads_out(entry: "os.DirEntry[str]") -> bool:
    """Whether another program may be at the other end; a read-only mount keeps nobody from writing to it."""
    return not entry.is_file(follow_symlinks=False) and not entry.is_symlink()


def _is_result(place: str, name: str) -> bool:
    """Whether it is a bundle or a report."""
    kind = f".{name.rpartition('.')[2].lower()}"
    if kind in (*_PAGES, *_ARCHIVES):
        with suppress(OSError):
            if (path := Path(place, name)).is_file():
                return _is_report(path) if kind in _PAGES else is_bundle(path)
    return kind == SUFFIX


def _is_report(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return any(all(mark in head for mark in marks) for marks in _REPORT_MARKS)


def _give_up(top: Path, *, limited: bool) -> None:
    said = f"{top} has more than {_MOST_ENTRIES:,} files, which are too many to look through for results of other runs"
    if limited:
        raise ConfigError(f"{said}; let the agent read a smaller folder, or set agent.sandbox=none")
    logger.warning("%s: an agent's process could read them", said)
