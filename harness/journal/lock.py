"""A hold on a file that the kernel lets go of when its holder dies, however it dies.

Invariant: at most one hold at a time; a hold never outlives the processes that share it. `flock`, so a SIGKILL leaves
nothing to clean up. The file's content only tells people who the holder is; it never decides anything.
"""

import errno
import os
import shlex
import socket
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from harness.codec import JsonObject, dumps
from harness.errors import JournalError, JournalLocked, UnsafeFile
from harness.files import safe_files
from harness.files.disk import hold, translate_os_errors
from harness.files.side_file import SideFile
from harness.secrets.redaction import Redactor

# Bytes; in a foreign folder the lock file may be anything.
_MOST = 1 << 20


def holder_named_in(path: Path) -> str:
    """Who last wrote their name into a lock file, for a message."""
    try:
        named = SideFile[JsonObject](path.name, dict, most=_MOST).find(path.parent) or {}
        return "process {pid} on {host} ({command}, since {since})".format(**named)
    except (JournalError, KeyError):
        return "another process"


class LockFile:
    """The lock file of a run folder, open, whoever has the hold."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    def of(cls, path: Path) -> "LockFile | None":
        """The one at `path`; None = there is none, or it cannot be read.

        Raises:
            UnsafeFile: It is a link, or something else.
        """
        with suppress(OSError):
            return LockFile(safe_files.open_regular(path, os.O_RDONLY))
        return None

    def is_at(self, path: Path) -> bool:
        """Whether it is still the file at `path`; also where that cannot be found out, as the next write says why."""
        try:
            # The number of a file that is open is not given to another one.
            if os.path.samestat(os.fstat(self.fd), path.lstat()):
                return True
            # Network and FUSE file systems may make up the numbers anew: there the content decides, see `lock_token`.
            return self.content() == safe_files.read(path, most=_MOST)
        except UnsafeFile:
            return False
        except OSError as exc:
            return exc.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)

    def content(self) -> bytes:
        return os.pread(self.fd, _MOST, 0)

    def release(self) -> None:
        os.close(self.fd)


class RunLock(LockFile):
    """The hold on a run folder. Children given `fd` (`pass_fds`) share it until the last of them ends."""

    @classmethod
    def acquire(cls, path: Path, redactor: Redactor) -> Self:
        """Take the hold on lock file `path`; JournalLocked says who has it."""
        with translate_os_errors(path), ExitStack() as undo:
            # Not truncated by opening: until the hold is taken, the file names another process.
            fd = safe_files.open_regular(path, os.O_RDWR | os.O_CREAT)
            undo.callback(os.close, fd)
            if not hold(fd):
                raise JournalLocked(path.parent, holder_named_in(path))
            name = dumps(
                {
                    "pid": os.getpid(),
                    "host": socket.gethostname(),
                    "command": redactor.said(shlex.join(sys.argv)),
                    "since": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
                }
            )
            os.ftruncate(fd, 0)
            # Not synced: after a power cut nobody holds the folder.
            os.pwrite(fd, name + b"\n", 0)
            undo.pop_all()
        return cls(fd)
