"""An append-only file of a run folder that several processes write at once, as `labels.jsonl`.

Invariant: once `append` has returned, the entry is on disk, whatever is killed afterwards, and no entry of another
writer was lost by it. A line is a JSON object with its own checksum (`harness.codec.seal`, not chained). A line that a
killed writer left torn is cut off by the next one, and readers leave it out until then. A last line that only lacks its
end, as some editors leave it, counts.
"""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from harness.codec import CodecError, JsonObject, dumps, loads, seal, unseal
from harness.files import safe_files
from harness.files.disk import sync_folder, translate_os_errors, write_whole
from harness.files.sync import sync


@dataclass(frozen=True, slots=True, kw_only=True)
class SideLog:
    """What such a file holds."""

    entries: tuple[JsonObject, ...]
    """In the order in which they were written, without checksums."""
    torn: str
    """The sentence about a last line that is not whole; "" = it is."""
    damaged: tuple[str, ...]
    """A sentence for each other line that is not as it was written; those lines count for nothing."""


def append(folder: Path, name: str, entry: JsonObject) -> None:
    """Append an entry and make it durable; other processes wait meanwhile.

    Args:
        folder: The run folder.
        name: Of the file, which is made if it is missing.
        entry: Without a key `crc`.

    Raises:
        UnsafeFile: The file is a link, a FIFO or a device.
        StorageError: The disk refuses; the file is as it was.
    """
    path, line = folder / name, seal(dumps(entry)[:-1], 0)[0]
    with translate_os_errors(path):
        # A file of its own: a journal has one writer, but two people label while a run goes on.
        fd = safe_files.open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)  # freed by the kernel when this process dies
            size = _whole(fd)
            try:
                write_whole(fd, line)
                sync(fd)
            except OSError:
                os.ftruncate(fd, size)  # of a full disk: half a line must not stay
                raise
            # The file may be new: a power cut would take its name until the folder is on the disk, too.
            sync_folder(folder)
        finally:
            os.close(fd)


def read(folder: Path, name: str) -> SideLog:
    """All that can be read; nothing where there is no file.

    Raises:
        UnsafeFile: The file is a link, a FIFO or a device, or too large.
        StorageError: It cannot be read.
    """
    path = folder / name
    with translate_os_errors(path, "read"):
        data = safe_files.read_if_there(path) or b""
    *lines, last = data.split(b"\n")
    if last and _entry(last) is not None:
        lines, last = [*lines, last], b""
    entries, damaged = list[JsonObject](), list[str]()
    for number, line in enumerate(lines, start=1):
        if (found := _entry(line)) is None:
            damaged.append(f"{path}:{number} is not as it was written, and does not count; restore the file")
        else:
            entries.append(found)
    torn = (
        f"{path}:{len(lines) + 1} is not whole, and does not count: its writer was killed, or is at it" if last else ""
    )
    return SideLog(entries=tuple(entries), torn=torn, damaged=tuple(damaged))


def _whole(fd: int) -> int:
    """End the last line, or cut it off where it is not whole, and give the size; the file is locked."""
    size = os.fstat(fd).st_size
    end = size
    while end and not os.pread(fd, 1, end - 1) == b"\n":
        start = max(0, end - 4096)
        end = start + os.pread(fd, end - start, start).rfind(b"\n") + 1
    if end < size and _entry(os.pread(fd, size - end, end)) is not None:
        write_whole(fd, b"\n")
        return size + 1
    if end < size:
        os.ftruncate(fd, end)
    return end


def _entry(line: bytes) -> JsonObject | None:
    try:
        tree = loads(unseal(line, 0)[0] + b"}")
    except CodecError:
        return None
    return tree if isinstance(tree, dict) else None
