"""Merges a run folder into another folder of the same run: its shards, or episodes that ran elsewhere.

Invariant: journals only ever grow, so of two of one name the shorter must be how the longer begins, and the longer is
kept; two that diverged are an error for the user, and neither is changed. Artifacts are named after
their content, so merging them is copying. Safe while the source is being written to: only lines are taken that were
whole before its artifacts were listed.
"""

import os
import re
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from harness.errors import JournalError, UnsafeFile
from harness.files import safe_files
from harness.files.disk import Within, translate_os_errors, write_atomic
from harness.files.sync import sync
from harness.journal.log import whole_lines
from harness.journal.names import journals_in
from harness.journal.store import STORES, stored

SHARDS_FOLDER = "shards"
"""In the folder of a run that is played in shards: their run folders, `<k>-of-<n>`."""
_SHARD = re.compile("[0-9]+-of-[0-9]+")


def merge(source: Path, target: Path, names: Collection[str] | None = None) -> int:
    """Copy into run folder `target` what `source` knows further; a journal that cannot be does not keep others from it.

    Args:
        source: A run folder, or nothing.
        target: An existing run folder; the caller holds its lock.
        names: Of the journals that may be copied; None = all.

    Returns:
        How many journals were copied.

    Raises:
        JournalError: Two journals of one name went on apart.
        StorageError: The disk refuses.
    """
    wanted = [entry.name for entry in journals_in(source) if names is None or entry.name in names]
    # Before artifacts are listed: what a writer stores after that is named by none of these lines.
    sizes, refused = dict[str, int](), list[JournalError]()
    for name in wanted:
        try:
            sizes[name] = _size_if_longer(source / name, target / name)
        except JournalError as error:
            refused.append(error)
    sizes = {name: size for name, size in sizes.items() if size}
    if sizes:  # what journals speak of is there before they are
        for kind in STORES:
            _copy_files(source, target, kind)
    for name, size in sizes.items():
        _copy_journal(source / name, target / name, size)
    if refused:
        raise refused[0]
    return len(sizes)


def shards_of(run: Path) -> list[Path]:
    """The run folders of a run's shards, also of other numbers of shards.

    Raises:
        UnsafeFile: One of them is a link, or something else.
    """
    names = [name for name in safe_files.names_in(run / SHARDS_FOLDER, run) if _SHARD.fullmatch(name)]
    for name in names:
        safe_files.check_folder(run / SHARDS_FOLDER / name, run)
    return [run / SHARDS_FOLDER / name for name in names]


def merge_shards(run: Path) -> None:
    """Copy into a run folder what its shards know further.

    Raises: as `merge`, when all that can be is copied.
    """
    refused: list[JournalError] = []
    for folder in shards_of(run):
        try:
            merge(folder, run)
        except JournalError as error:
            refused.append(error)
    if refused:
        raise refused[0]


def _size_if_longer(source: Path, target: Path) -> int:
    """Bytes of the whole lines of a journal that is to be copied; 0 = it brings nothing."""
    safe_files.check_file(source)
    return _compared(source, target, _stamp(source), _stamp(target))


def _stamp(path: Path) -> tuple[int, int] | None:
    found = safe_files.status(path)
    return None if found is None else (found.st_size, found.st_mtime_ns)


# Remembered, as shards are merged again and again while they run, and only a few journals change in between.
@lru_cache(maxsize=1 << 16)
def _compared(source: Path, target: Path, *stamps: tuple[int, int] | None) -> int:
    of_source, of_target = stamps
    size = _whole_size(source) if of_source else 0
    known = _whole_size(target) if of_target else 0
    # The checksum of a line is that of all lines before it, too: of ten thousand ended tasks only ends are read.
    if (both := min(size, known)) and _end(source, both) != _end(target, both):
        raise _diverged(source, target)
    return size if size > known else 0


def _diverged(source: Path, target: Path) -> JournalError:
    return JournalError(f"journals {source} and {target} have diverged; move one of them away, then run again")


def _copy_journal(source: Path, target: Path, size: int) -> None:
    data = whole_lines(source)[:size]
    if len(data) < size:
        raise JournalError(f"journal {source} became shorter while it was copied; run again")
    if not data.startswith(whole_lines(target)):  # damaged in the middle
        raise _diverged(source, target)
    write_atomic(target, data, within=Within(target.parent))


_BLOCK = 1 << 16
_CHECKSUM = 32
"""Bytes of the end of a line that hold its checksum."""


def _whole_size(path: Path) -> int:
    """Bytes of the whole lines of a journal; its writer may be in the middle of one."""
    with translate_os_errors(path, "read"), os.fdopen(safe_files.open_regular(path, os.O_RDONLY), "rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - _BLOCK)
            file.seek(start)
            if (found := file.read(end - start).rfind(b"\n")) >= 0:
                return start + found + 1
            end = start
    return 0


def _end(path: Path, size: int) -> bytes:
    """The last bytes of the first `size`."""
    with translate_os_errors(path, "read"), os.fdopen(safe_files.open_regular(path, os.O_RDONLY), "rb") as file:
        file.seek(max(0, size - _CHECKSUM))
        return file.read(min(size, _CHECKSUM))


def copy_named(source: Path, target: Path, digests: Collection[str]) -> None:
    """Copy artifacts and checkpoints into run folder `target`, by a link where that is possible.

    Args:
        source: A run folder.
        target: An existing run folder; the caller holds its lock.
        digests: Of what is copied; those that name nothing in `source` are left out.
    """
    for kind in STORES:
        for digest in sorted(digests):
            name = Path(kind) / digest[:2] / digest
            if safe_files.status(source / name, below=source) is not None:
                _copy_file(name, source, target)


def _copy_files(source: Path, target: Path, kind: str) -> None:
    """All files named by their content that `target` lacks, by a link where that is possible."""
    for path in stored(source, kind):
        _copy_file(path.relative_to(source), source, target)


def _copy_file(name: Path, source: Path, target: Path) -> None:
    """Copy what `target` lacks.

    A folder that is made has the mode of the one it is copied from: what is private stays private.
    """
    path, there = source / name, target / name
    if safe_files.status(there, below=target) is not None:
        return
    with (
        translate_os_errors(there),
        safe_files.open_folder(there.parent, target, make=_mode(path.parents[1]), durable=True) as into,
        safe_files.open_folder(path.parent, source) as out,
    ):
        if safe_files.status(path, below=source) is None:
            raise UnsafeFile(path, "is not a regular file, but has the name of an artifact")
        # `os.link` replaces nothing, and what has this name here is not an artifact (`status` saw no regular file).
        with suppress(FileNotFoundError):
            os.unlink(there.name, dir_fd=into)
        try:
            os.link(path.name, there.name, src_dir_fd=out, dst_dir_fd=into, follow_symlinks=False)
        except OSError:  # another file system
            data = safe_files.read(path, below=source)
            write_atomic(there, data, mode=_mode(path), within=Within(target))
        # A link is durable with its folder only.
        sync(into)


def _mode(path: Path) -> int:
    return path.lstat().st_mode & 0o777
