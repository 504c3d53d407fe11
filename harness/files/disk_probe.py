"""Checks that a folder can hold a run: performs the operations of a run there, and removes the files again."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.errors import StorageError
from harness.files.disk import hold, translate_os_errors, write_atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskProbe:
    """What the disk below a folder has shown."""

    free_bytes: int
    free_files: int | None
    """None = the file system counts none."""
    durable_ms: float
    """How long one small durable write took."""
    clock_offset_s: float
    """The disk's clock minus this machine's; from a file's modification time."""


def probe(folder: Path) -> DiskProbe:
    """Write durably in `folder`, hold a lock there, and measure.

    Raises:
        StorageError: The disk refuses any of it.
    """
    with translate_os_errors(folder):
        with TemporaryDirectory(prefix=".doctor-", dir=folder) as trial:  # on the disk of the runs, not in /tmp
            path = Path(trial) / "trial"
            before, begun = time.time(), time.monotonic()
            write_atomic(path, b"trial\n")
            durable_ms = (time.monotonic() - begun) * 1000
            offset = _outside(path.stat().st_mtime, before, time.time())
            _prove_lock(path)
        room = os.statvfs(folder)
    return DiskProbe(
        free_bytes=room.f_bavail * room.f_frsize,
        free_files=room.f_favail if room.f_files else None,
        durable_ms=durable_ms,
        clock_offset_s=offset,
    )


def _prove_lock(path: Path) -> None:
    # Two openings, as the same one may take a lock twice.
    first, second = os.open(path, os.O_RDWR), os.open(path, os.O_RDWR)
    try:
        if not hold(first) or hold(second):
            raise StorageError(f"locks do not work in {path.parent.parent}: two processes could write to the same run")
    finally:
        os.close(first)
        os.close(second)


def _outside(moment: float, begin: float, end: float) -> float:
    # Any time between the two readings of this machine's clock agrees with it.
    return moment - end if moment > end else min(moment - begin, 0.0)
