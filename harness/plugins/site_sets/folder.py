"""Folders that hold the state of services: copied, compared, swapped.

Invariant: what is at its final name is whole, since it is built beside it and renamed. A copy shares its blocks with
the original where the file system can (reflink), and keeps owners, modes, times, links and extended attributes.
"""

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from harness.errors import StorageError

_CHUNK = 1 << 20


def copy(source: Path, to: Path) -> None:
    """Copy a folder to a name that is free; at `to` is all of it or nothing.

    Raises:
        StorageError: It cannot be copied, as when the disk is full; nothing is left of it.
    """
    unfinished = to.with_name(f".{to.name}.unfinished")
    remove(unfinished)
    to.parent.mkdir(parents=True, exist_ok=True)
    command = ["cp", "-a", "--reflink=auto", "--", str(source), str(unfinished)]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=False, env={**os.environ, "LC_ALL": "C"}
    )
    if done.returncode != 0:
        remove(unfinished)
        said = (done.stderr.strip().splitlines() or ["it was killed"])[-1][:300]
        raise StorageError(f"cannot copy {source} to {to}: {said}; fix this and run the same command again")
    unfinished.rename(to)


def discard(path: Path) -> None:
    """Take a folder away from its name at once; `sweep` removes it later."""
    for number in range(1_000_000):
        trash = path.with_name(f".trash-{number}-{path.name}")
        if not os.path.lexists(trash):
            with suppress(FileNotFoundError):
                path.rename(trash)
            return


def sweep(folder: Path) -> None:
    """Remove what was discarded in a folder."""
    for path in folder.glob(".trash-*"):
        remove(path)


def remove(path: Path) -> None:
    """Remove a folder with all in it; a link in its place is removed itself, and nothing behind a link is touched."""
    with suppress(FileNotFoundError):
        if path.is_symlink() or not path.is_dir():
            path.unlink()
        else:
            shutil.rmtree(path, onerror=_unless_gone)


def _unless_gone(_: object, path: str, error: tuple[type[BaseException], BaseException, object]) -> None:
    """Two commands may sweep at the same time."""
    if not isinstance(error[1], FileNotFoundError):
        raise error[1]


def digest(folder: Path) -> str:
    """`sha256:…` of all names, kinds, modes, owners, targets of links and bytes; times do not count."""
    whole = hashlib.sha256()
    for name, path, found in _entries(folder):
        whole.update(f"{len(name)}:".encode() + name + f" {found.st_mode:o} {found.st_uid} {found.st_gid} ".encode())
        if stat.S_ISREG(found.st_mode):
            whole.update(f"{found.st_size} ".encode() + _bytes_digest(path))
        elif stat.S_ISLNK(found.st_mode):
            whole.update(os.fsencode(path.readlink()))
    return f"sha256:{whole.hexdigest()}"


def stamp(folder: Path) -> str:
    """A quick digest of sizes, times and inodes: the same as long as nothing was written; reads no bytes of files.

    Of folders only names, modes and owners: a file that came and went changes their times, and is not state.
    """
    whole = hashlib.sha256()
    for name, _, found in _entries(folder):
        facts: tuple[int, ...] = (found.st_mode, found.st_uid, found.st_gid)
        if not stat.S_ISDIR(found.st_mode):
            facts += (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        whole.update(f"{len(name)}:".encode() + name + repr(facts).encode())
    return whole.hexdigest()


def size(folder: Path) -> int:
    """Bytes of all files, each name counted."""
    return sum(found.st_size for _, _, found in _entries(folder) if stat.S_ISREG(found.st_mode))


def _bytes_digest(path: Path) -> bytes:
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").digest()


def _entries(folder: Path) -> Iterator[tuple[bytes, Path, os.stat_result]]:
    """Everything below a folder, in the order of names; sockets are left out, since they are not state."""
    pending = [folder]
    while pending:
        at = pending.pop()
        try:
            with os.scandir(at) as found:
                entries = sorted(found, key=lambda one: os.fsencode(one.name), reverse=True)
        except FileNotFoundError:
            continue  # a running service removes what it no longer needs
        for entry in reversed(entries):
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISSOCK(status.st_mode):
                    continue
                path = Path(entry.path)
                yield os.fsencode(path.relative_to(folder)), path, status
        pending.extend(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
