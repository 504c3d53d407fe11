"""Durable file operations, and their errors as sentences.

Invariant: a file written here exists completely or not at all, and survives a power cut once the call has returned;
every OSError becomes one StorageError. What a killed process left half-written is removed by the next one that writes
to the same folder. Knows nothing of records.
"""

import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO

from harness.errors import StorageError
from harness.files import safe_files
from harness.files.sync import sync

_WHY = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would grow beyond the size limit of this process (ulimit -f)",
    errno.EIO: "the disk reports an input/output error",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.EMFILE: "this process has too many open files (ulimit -n)",
    errno.ENFILE: "this machine has too many open files",
    errno.ENAMETOOLONG: "the name is too long for the file system",
    errno.ENOTDIR: "there is a file where a folder is needed",
    errno.EISDIR: "there is a folder where a file is needed",
}
_OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE)
_NOTHING_LOST = "no recorded data is lost; fix this and run the same command again"
_UNFINISHED = re.compile(r"\.(\d+)-\d+\.tmp")
"""The name of an unfinished file: process id, and a number of that process."""
_serial = count()
_swept: set[tuple[int, int]] = set()
"""Folders, by device and inode, that this process has searched for unfinished files of others."""


@contextmanager
def translate_os_errors(path: Path, doing: str = "write") -> Iterator[None]:
    """Turn an OSError about `path` into the sentence the person needs."""
    try:
        yield
    except OSError as exc:
        raise storage_error(path, exc, doing) from exc


def storage_error(path: Path, exc: OSError, doing: str = "write") -> StorageError:
    """What `exc` means to a person."""
    why = _WHY.get(exc.errno or 0) or (exc.strerror or str(exc)).lower()
    if exc.errno == errno.ENOSPC and _is_out_of_inodes(path):
        why = "the file system has no free inodes left: too many files"
    return StorageError(f"cannot {doing} {path}: {why}; {_NOTHING_LOST}")


def foreseen(exc: OSError) -> StorageError | None:
    """The same for an unexpected OSError; None if it has another meaning, or no file and is not about the machine."""
    if exc.filename and (exc.errno in _WHY or exc.errno in (errno.ENOENT, errno.ELOOP)):
        return storage_error(Path(os.fsdecode(exc.filename)), exc, "use")
    if exc.errno in _OF_THE_MACHINE:  # a pipe, a socket and an open file have no name
        return StorageError(f"{_WHY[exc.errno]}; {_NOTHING_LOST}")
    return None


def write_whole(fd: int, data: bytes) -> None:
    """Write `data` by one system call; a short write is an OSError, as nothing may follow half a line."""
    written = os.write(fd, data)
    # The kernel calls a part a success: the disk became full, or the file reached its limit, in the middle of it.
    if written != len(data):
        raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes were written")


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(fd)
    finally:
        os.close(fd)


def sync_file(path: Path, below: Path) -> None:
    """Make a file that is there already, and its name, durable; no link is followed from `below` on."""
    fd = safe_files.open_regular(path, os.O_RDONLY, below=below)
    try:
        sync(fd)
    finally:
        os.close(fd)
    with safe_files.open_folder(path.parent, below) as folder:
        sync(folder)


@dataclass(frozen=True, slots=True)
class Within:
    """A run folder: no link in it is followed."""

    run: Path
    staging: Path | None = None
    """Its folder for unfinished files; None = they are beside what they become."""


def prepared(into: Path, run: Path) -> Within:
    """Make the folder that what is derived from a run goes to: in the run folder, or a place of the person's own.

    Raises:
        UnsafeFile: It is in the run folder, by way of a link.
        OSError: It cannot be made.
    """
    if not into.is_relative_to(run):
        into.mkdir(parents=True, exist_ok=True)
        return Within(into)
    with safe_files.open_folder(into, run, make=0o777):
        return Within(run)


def write_atomic(
    path: Path,
    data: bytes,
    *,
    mode: int = 0o644,
    durable: bool = True,
    within: Within | None = None,
) -> None:
    """Put `data` at `path`: readers see the old file or the new one, never a part.

    Args:
        path: Its folder must exist. A link there is replaced, never followed.
        data: All of the new content.
        mode: Permissions of the file, before the umask.
        durable: fsync file and folder before returning.
        within: The run folder it is in; None = the person's own, where links are followed.

    Raises:
        UnsafeFile: One of the folders is reached by a link.
        StorageError: The disk refuses.
    """
    with replacing(path, mode=mode, durable=durable, within=within) as file:
        file.write(data)


@contextmanager
def replacing(
    path: Path, *, mode: int = 0o644, durable: bool = True, within: Within | None = None
) -> Iterator[BinaryIO]:
    """A file to write that replaces `path` at the end, or vanishes if an error is raised; see `write_atomic`."""
    below, staging = (within.run, within.staging) if within else (None, None)
    with translate_os_errors(path), _at(staging or path.parent, below) as source, _at(path.parent, below) as target:
        if staging is None:  # a staging folder is emptied by whoever owns it
            _remove_leftovers(source)
        with ExitStack() as undo:
            unfinished, fd = _create(mode, source)
            with os.fdopen(fd, "wb") as file:  # open, and so locked, until it has its name
                undo.callback(_discard, unfinished, source)
                yield file
                file.flush()
                # Before the rename, or a power cut could leave the name of a new file with no content.
                if durable:
                    sync(file.fileno())
                os.replace(unfinished, path.name, src_dir_fd=source, dst_dir_fd=target)
                undo.pop_all()
        # A rename is durable with its folder only.
        if durable:
            sync(target)


def is_unfinished(name: str) -> bool:
    """Whether a file of this name is one that is not written to its end."""
    return _UNFINISHED.fullmatch(name) is not None


def hold(fd: int) -> bool:
    """Try to take the exclusive lock on an open file, without waiting; the kernel frees it when its holder dies."""
    try:
        # Not lockf: its locks are lost when any descriptor of the file is closed, and children do not share them.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def remove_if_left(name: str, folder: int) -> None:
    """Remove an unfinished file if no process is writing it: its lock is free.

    Args:
        folder: Descriptor of the folder it is in.
    """
    with suppress(OSError):  # it was finished or removed meanwhile, or is none of ours
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        # What `_create` made is regular, ours, and has one name; anything else of such a name is a stranger's.
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink != 1:
            return
        fd = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            if hold(fd):
                os.unlink(name, dir_fd=folder)
        finally:
            os.close(fd)


def _remove_leftovers(folder: int) -> None:
    """Remove the unfinished files of processes that were killed; once for each folder."""
    found = os.fstat(folder)
    if (place := (found.st_dev, found.st_ino)) in _swept:
        return
    _swept.add(place)
    names = []
    with suppress(OSError):  # a folder may be written to and not be read
        names = os.listdir(folder)
    for name in names:
        if (unfinished := _UNFINISHED.fullmatch(name)) and not _is_running(int(unfinished[1])):
            remove_if_left(name, folder)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # a stranger's file name may hold any number
        return False
    except OSError:
        pass  # another user's
    return True


def _discard(name: str, folder: int) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def _at(folder: Path, below: Path | None) -> AbstractContextManager[int]:
    return safe_files.open_folder(folder, folder if below is None else below)


def _create(mode: int, folder: int) -> tuple[str, int]:
    """A new file, locked by this process: its name and descriptor. A file that exists is never written to."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        name = f".{os.getpid()}-{next(_serial)}.tmp"
        with suppress(FileExistsError):  # of a process with this id on another machine, or before a restart
            fd = os.open(name, flags, mode, dir_fd=folder)
            try:
                is_ours = hold(fd)
            except OSError:  # a file system without locks: then no process takes it for a leftover, either
                is_ours = True
            if is_ours and os.fstat(fd).st_nlink:  # else another process did, before it was locked
                return name, fd
            os.close(fd)


def _is_out_of_inodes(path: Path) -> bool:
    with suppress(OSError):
        room = os.statvfs(path if path.exists() else path.parent)
        # A file system that does not count inodes says 0 of 0.
        return room.f_files > 0 and room.f_favail == 0 and room.f_bavail > 0
    return False
