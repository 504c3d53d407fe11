"""Regular files in real folders: every file of a run folder is opened here, because the folder may be foreign.

Invariant: the content of a run folder cannot select a file outside it, and cannot block a reader. No link is followed
below the folder itself, which may be a link that the user named. FIFOs, sockets and devices are not opened, a file
with hard links is not written in place, and reads are bounded. Folders are opened by descriptor, so a folder that is
replaced by a link meanwhile is not followed either. A forbidden entry is refused by name and not changed. Knows no
formats.
Why: docs/decisions/security.md#only-regular-files-in-real-folders-opened-by-descriptor
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from harness.errors import UnsafeFile
from harness.files.sync import sync

MAX_BYTES = 1 << 30
"""Bytes of a journal or an artifact; what is beyond is none of ours."""
MAX_SIDE_FILE_BYTES = 1 << 28
"""Bytes of a file beside them (`run.json`, `summary.json`, …)."""

_ASKED = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Without O_NONBLOCK, opening a FIFO would wait for its other end."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}
_TOLD = {errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EISDIR}
"""What opening says of a thing of another kind."""


def open_regular(path: Path, flags: int, mode: int = 0o644, *, below: Path | None = None) -> int:
    """A descriptor of the regular file at `path`.

    Args:
        path: The file.
        flags: Of `os.open`; never O_TRUNC, which would empty a file before it is looked at.
        mode: Permissions of a file that is made, before the umask.
        below: The folder from which no link is followed; None = the one the file is in.

    Raises:
        UnsafeFile: It is something else, or has other names and is to be written.
        OSError: It cannot be opened; FileNotFoundError where it or a folder above it is missing.
    """
    folder = _descend(path.parent, below)
    try:
        with suppress(FileNotFoundError):
            # Before it is opened, as opening has effects: the other end of a FIFO goes on, and a device acts.
            _check_file(path, os.stat(path.name, dir_fd=folder, follow_symlinks=False), flags)
        fd = os.open(path.name, flags | _ASKED, mode, dir_fd=folder)
    except OSError as exc:
        if exc.errno not in _TOLD:
            exc.filename = str(path)  # not its name alone: a message would not say in which folder
            raise
        raise UnsafeFile(path, "is not a regular file") from exc  # it became something else since the look
    finally:
        os.close(folder)
    try:
        # And again by descriptor: it may have been replaced since the look.
        _check_file(path, os.fstat(fd), flags)
    except UnsafeFile:
        os.close(fd)
        raise
    return fd


def read(path: Path, *, below: Path | None = None, most: int = MAX_BYTES) -> bytes:
    """All bytes of the regular file at `path`.

    Raises:
        UnsafeFile: It is something else, or holds more than `most` bytes.
        OSError: It cannot be read; FileNotFoundError where it is missing.
    """
    return _all_of(path, open_regular(path, os.O_RDONLY, below=below), most)


def read_if_there(path: Path, *, most: int = MAX_SIDE_FILE_BYTES) -> bytes | None:
    """The same of a small file of a run folder; None when there is none."""
    try:
        return read(path, most=most)
    except FileNotFoundError:
        return None


def read_named(path: Path, *, most: int = MAX_BYTES) -> bytes:
    """All bytes of a file that the person named: a link is their own and followed, a FIFO or a device still refused.

    Raises: as `read`.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check_file(path, os.fstat(fd), os.O_RDONLY)
    except UnsafeFile:
        os.close(fd)
        raise
    return _all_of(path, fd, most)


def open_append(path: Path) -> BinaryIO:
    """A log, made if it is missing, each write of which goes to its end.

    Only its owner can read it, because the output of other programs in it is not redacted.
    """
    fd = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with suppress(PermissionError):  # of another owner, or on a disk without permissions, such as FAT
        os.fchmod(fd, 0o600)  # an older one
    return os.fdopen(fd, "ab", buffering=0)


def status(path: Path, *, below: Path | None = None) -> os.stat_result | None:
    """Of a regular file; None where there is none, or something else.

    Raises:
        UnsafeFile: A folder on the way is none.
    """
    with suppress(FileNotFoundError), open_folder(path.parent, below or path.parent) as folder:
        found = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        return found if stat.S_ISREG(found.st_mode) else None
    return None


@contextmanager
def open_folder(path: Path, below: Path, *, make: int | None = None, durable: bool = False) -> Iterator[int]:
    """A descriptor of the folder at `path`, reached from `below` over real folders only.

    Args:
        path: The folder; `below` itself, or under it.
        below: From here on no link is followed.
        make: Permissions of folders that are missing; None = they are not made.
        durable: fsync a folder in which one was made.

    Raises:
        UnsafeFile: One of them is something else.
        OSError: As `os.open`; FileNotFoundError where one is missing.
    """
    fd = _descend(path, below, make=make, durable=durable)
    try:
        yield fd
    finally:
        os.close(fd)


def check_folder(path: Path, below: Path) -> None:
    """Raises: UnsafeFile: There is something at `path` that is not a folder, or on the way to it."""
    with suppress(FileNotFoundError), open_folder(path, below):
        pass


def check_file(path: Path) -> None:
    """Raises: UnsafeFile: There is something at `path` that is not a regular file, or has other names."""
    with suppress(FileNotFoundError):
        _check_file(path, path.lstat(), os.O_RDWR)


def names_in(path: Path, below: Path) -> list[str]:
    """The entries of a folder by name; [] if there is no folder.

    Raises: as `open_folder`.
    """
    with suppress(FileNotFoundError), open_folder(path, below) as fd, os.scandir(fd) as found:
        return sorted(entry.name for entry in found)
    return []


def remove(path: Path, *, below: Path) -> None:
    """Remove a file or a link itself, even if folders above it were moved; a missing one is not an error."""
    with suppress(FileNotFoundError), open_folder(path.parent, below) as fd:
        os.unlink(path.name, dir_fd=fd)


def _all_of(path: Path, fd: int, most: int) -> bytes:
    try:
        size = os.fstat(fd).st_size
        if size > most:
            raise UnsafeFile(path, f"has {size / 1e6:,.0f} MB; the limit is {most / 1e6:,.0f} MB")
        parts = [os.read(fd, size + 1)]  # one call, but for a file that is being appended to
        while parts[-1]:
            parts.append(os.read(fd, 1 << 16))
        return b"".join(parts)
    finally:
        os.close(fd)


def _descend(path: Path, below: Path | None, *, make: int | None = None, durable: bool = False) -> int:
    """The descriptor of the folder at `path`; a resume opens thousands, so it costs no more than the system calls."""
    if below is None or path == below:
        return os.open(path, _FOLDER)
    at, fd = below, os.open(below, _FOLDER)
    # One by one: O_NOFOLLOW guards the last name only, and a resolved path may change between check and use.
    for name in path.relative_to(below).parts:
        at /= name
        outer = fd
        try:
            fd = _step(at, outer, make=make, durable=durable)
        finally:
            os.close(outer)
    return fd


def _step(path: Path, outer: int, *, make: int | None, durable: bool) -> int:
    if make is not None:
        with suppress(FileExistsError):
            os.mkdir(path.name, make, dir_fd=outer)
            if durable:
                sync(outer)
    try:
        return os.open(path.name, _FOLDER | os.O_NOFOLLOW, dir_fd=outer)
    except OSError as exc:
        if exc.errno not in _TOLD:
            raise
        what = _kind(os.stat(path.name, dir_fd=outer, follow_symlinks=False))
        raise UnsafeFile(path, f"is {what}, but a run needs a folder there") from exc


def _check_file(path: Path, found: os.stat_result, flags: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeFile(path, f"is {_kind(found)}, but a run needs a file there")
    # As after `cp -al` of a run folder: writing in place would change the copy, too.
    if flags & (os.O_WRONLY | os.O_RDWR) and found.st_nlink > 1:
        raise UnsafeFile(path, f"has {found.st_nlink} hard links, which would all be written")


def _kind(found: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
