"""Brings what was written to the disk itself: the only place that calls `os.fsync`."""

import errno
import fcntl
import os
import stat

# Decided once: each record of a journal waits for `sync`.
_FLUSH: int | None = getattr(fcntl, "F_FULLFSYNC", None)
"""Only macOS has it. There, fsync leaves data in the cache of the drive, where a power cut takes it."""


def sync(fd: int) -> None:
    """Make what was written to an open file, or the names in an open folder, durable."""
    if _FLUSH is not None:
        try:
            fcntl.fcntl(fd, _FLUSH)
            return
        except OSError as error:
            # Others are refusals: most network disks have only fsync.
            if error.errno == errno.EIO:
                raise
    try:
        os.fsync(fd)
    except OSError as error:
        # Some shared folders (vboxsf, 9p) have no fsync of folders: their host keeps names by itself.
        if error.errno != errno.EINVAL or not stat.S_ISDIR(os.fstat(fd).st_mode):
            raise
