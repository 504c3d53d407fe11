"""Substitutes for hidden files: empty folders and files with their names, which report who opens them.

They lie in a folder of the episode, are mounted read-only over what is hidden, and are watched from outside (inotify).
So an attempt reads nothing, and is seen. What is looked for below a mask by a name that it lacks is only not found.
"""

import asyncio
import ctypes
import logging
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

logger = logging.getLogger(__name__)

MOST_NAMES = 100
"""Of one hidden folder that have a place in its mask, two levels deep."""
MOST_SEEN = 10_000
"""Events of one process, after which its masks are not watched any more."""
HOME_NAMES = (
    *(".ssh/id_rsa", ".ssh/id_ed25519", ".ssh/config", ".aws/credentials", ".config/", ".netrc", ".git-credentials"),
    *(".docker/config.json", ".kube/config", ".gnupg/", ".npmrc", ".pypirc", ".auth/", ".bash_history", ".env"),
)
"""What is looked for in a home folder, whether it is there or not; "/" at the end = a folder."""
# The kernel tells who opened a file, not who failed to; tracing every call would, at several times the cost.
_IN_OPEN, _IN_ISDIR, _IN_NONBLOCK_CLOEXEC = 0x20, 0x40000000, os.O_NONBLOCK | os.O_CLOEXEC


class Masks:
    """The masks of one process; `close` must be called."""

    def __init__(self, folder: Path) -> None:
        """`folder` is an empty one."""
        self._folder = folder
        self._shown: dict[Path, str] = {}
        self._watched: dict[int, str] = {}
        self._queue: int | None = None
        self._seen = 0

    def add(self, hidden: Path, names: Iterable[str] | None = None, *, known: Iterable[Path] = ()) -> Path:
        """Make the mask of a file or folder; give its path.

        Args:
            names: What is in it, relative; None = what is in the hidden folder.
            known: Files and folders in it whose names come first.
        """
        mask = self._folder / str(len(self._shown))
        if not hidden.is_dir():
            mask.touch(0o444)
        else:
            mask.mkdir(0o755)
            for name in _all_names(hidden, known) if names is None else names:
                place = mask / name
                (place if name.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
                if not name.endswith("/"):
                    place.touch(0o444)
        self._shown[mask] = str(hidden)
        return mask

    def watch(self, report: Callable[[str], None]) -> None:
        """Report from now on what is opened, as "opened /home/me/.ssh/id_rsa"."""
        libc = ctypes.CDLL(None, use_errno=True)
        queue = libc.inotify_init1(_IN_NONBLOCK_CLOEXEC)
        if queue < 0:
            _not_seen("max_user_instances")
            return
        self._queue, self._report = queue, report
        for folder, shown in list(self._folders()):  # all of them before the first is watched: to list one opens it
            number = libc.inotify_add_watch(queue, os.fsencode(folder), _IN_OPEN)
            if number < 0:
                _not_seen("max_user_watches")
                break
            self._watched[number] = shown
        asyncio.get_running_loop().add_reader(queue, self.read)

    def _folders(self) -> Iterator[tuple[Path, str]]:
        """What can be watched, and what it stands for."""
        for mask, shown in self._shown.items():
            yield mask, shown
            yield from ((one, f"{shown}/{one.relative_to(mask)}") for one in mask.rglob("*") if one.is_dir())

    def read(self) -> None:
        """Report what has happened."""
        if self._queue is None:
            return
        with suppress(BlockingIOError):
            events, at = os.read(self._queue, 1 << 16), 0
            while at < len(events):
                number, kind, _, size = struct.unpack_from("=iIII", events, at)
                name = events[at + 16 : at + 16 + size].rstrip(b"\0").decode("utf-8", "replace")
                at += 16 + size
                # Unasked, the kernel also says when a watch ends; and a folder in a mask says itself who opened it.
                if number in self._watched and kind & _IN_OPEN and not (name and kind & _IN_ISDIR):
                    where = self._watched[number] + (f"/{name}" if name else "")
                    self._report(f"{'listed' if kind & _IN_ISDIR else 'opened'} {where}")
                    self._seen += 1
        if self._seen >= MOST_SEEN:
            self.close()

    def close(self) -> None:
        if self._queue is not None:
            asyncio.get_running_loop().remove_reader(self._queue)
            os.close(self._queue)
            self._queue = None


def _not_seen(limit: str) -> None:
    # The masks hide all the same, so the episode goes on.
    logger.warning(
        "what the process tries to open of hidden files is not seen (%s); a higher fs.inotify.%s may help",
        os.strerror(ctypes.get_errno()),
        limit,
    )


def _all_names(folder: Path, known: Iterable[Path]) -> list[str]:
    """Of a folder, after those of what is known in it."""
    found = []
    for one in known:
        place = str(one.relative_to(folder))
        found += [f"{place}/{name}" for name in ("", *_names(one))] if one.is_dir() else [place]
    return [*found, *_names(folder)]


def _names(folder: Path) -> list[str]:
    """Names in a folder and in the folders in it."""
    found: list[str] = []
    with suppress(OSError):
        for entry in folder.iterdir():
            is_folder = entry.is_dir() and not entry.is_symlink()
            found.append(f"{entry.name}/" if is_folder else entry.name)
            if is_folder and len(found) < MOST_NAMES:
                with suppress(OSError), os.scandir(entry) as inner:
                    some = islice(inner, MOST_NAMES - len(found))
                    found += [f"{entry.name}/{one.name}{'/' * one.is_dir()}" for one in some]
            if len(found) >= MOST_NAMES:
                break
    return found
