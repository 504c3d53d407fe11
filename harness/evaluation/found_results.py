"""Results of earlier runs in the folders that an agent's process may read: reference answers and solved tasks."""

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from harness.bundles.archive import has_trailer
from harness.bundles.run_bundle import SUFFIX
from harness.errors import ConfigError
from harness.journal.names import JOURNAL_SUFFIX

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
    """Run folders, bundles and reports below these folders.

    Args:
        folders: Links in them are not followed: where they lead is readable only if it is named itself.
        limited: Folders with too many files are refused; otherwise the rest of them is left out, with a warning.
    Raises:
        ConfigError: One of the folders is a run folder, or has too many files.
    """
    for top in folders:
        count = 0
        for place, folders_in, files in os.walk(top):
            count += len(files) + len(folders_in)
            if count > _MOST_ENTRIES:
                _give_up(top, limited=limited)
                break
            if any(name.endswith(JOURNAL_SUFFIX) for name in files):
                if Path(place) == top:
                    raise ConfigError(f"{top} is a run folder, which the agent must not read; give it another folder")
                folders_in.clear()
                yield Path(place)
                continue
            yield from (Path(place, name) for name in files if _is_result(place, name))


def _is_result(place: str, name: str) -> bool:
    """Whether it is a bundle or a report."""
    kind = f".{name.rpartition('.')[2].lower()}"
    if kind in (*_PAGES, *_ARCHIVES) and (path := Path(place, name)).is_file():
        with suppress(OSError):
            return _is_report(path) if kind in _PAGES else has_trailer(path)
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
