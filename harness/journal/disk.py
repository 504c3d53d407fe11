"""Durable small steps on a disk, and what its refusals mean to a person.

Invariant: a file written here is there whole or not at all, and stays after a power cut once the call has returned; every
OSError becomes one StorageError sentence. Knows nothing of records.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from harness.errors import StorageError

_WHY = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would grow beyond the size limit of this process (ulimit -f)",
    errno.EIO: "the disk reports an input/output error",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
    errno.EROFS: "the file system is read-only",
    errno.EMFILE: "this process has too many open files (ulimit -n)",
    errno.ENFILE: "this machine has too many open files",
    errno.ENAMETOOLONG: "the name is too long for the file system",
    errno.ENOTDIR: "a file stands where a folder is needed",
    errno.EISDIR: "a folder stands where a file is needed",
}
_serial = count()


@contextmanager
def refusals(path: Path, doing: str = "write") -> Iterator[None]:
    """Turn an OSError about `path` into the sentence the person needs."""
    try:
        yield
    except OSError as exc:
        raise refusal(path, exc, doing) from exc


def refusal(path: Path, exc: OSError, doing: str = "write") -> StorageError:
    """What `exc` means to a person."""
    why = _WHY.get(exc.errno or 0) or (exc.strerror or str(exc)).lower()
    if exc.errno == errno.ENOSPC and _is_out_of_inodes(path):
        why = "the file system has no free inodes left: too many files"
    return StorageError(
        f"cannot {doing} {path}: {why}; nothing recorded is lost, mend this and run the same command again"
    )


def foreseen(exc: OSError) -> StorageError | None:
    """The same for one that was not expected where it happened; None when it is not of a file, or means something else."""
    if exc.errno in _WHY or exc.errno in (errno.ENOENT, errno.ELOOP):
        return refusal(Path(os.fsdecode(exc.filename)), exc, "use") if exc.filename else None
    return None


def write_whole(fd: int, data: bytes) -> None:
    """Write `data` by one system call; a short write is an OSError, as nothing may follow half a line."""
    written = os.write(fd, data)
    if written != len(data):
        raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes fitted")


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_atomic(
    path: Path, data: bytes, *, mode: int = 0o644, durable: bool = True, staging: Path | None = None
) -> None:
    """Put `data` at `path`: readers see the old file or the new one, never a part.

    Args:
        path: Its folder must exist.
        data: All of the new content.
        mode: Permissions of the file, before the umask.
        durable: fsync file and folder before returning.
        staging: Folder on the same file system for the unfinished file; None = beside it.
    """
    unfinished = (staging or path.parent) / f".{os.getpid()}-{next(_serial)}.tmp"
    with refusals(path):
        try:
            fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
            try:
                _write_all(fd, data)
                if durable:
                    os.fsync(fd)
            finally:
                os.close(fd)
            unfinished.replace(path)
        except OSError:
            with suppress(OSError):
                unfinished.unlink()
            raise
        if durable:
            sync_folder(path.parent)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _is_out_of_inodes(path: Path) -> bool:
    with suppress(OSError):
        room = os.statvfs(path if path.exists() else path.parent)
        return room.f_files > 0 and room.f_favail == 0 and room.f_bavail > 0
    return False
