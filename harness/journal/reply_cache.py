"""Replies of models on disk, shared by the runs and processes of a person: no reply is paid for twice.

Invariant: a file under `replies/` is whole or not a reply; one that is torn, foreign or of other secrets is a miss, and
the next reply replaces it. The files never take more than the limit: a writer holds the lock, and records the new
total before the file appears, so a writer that is killed leaves a total that is too large, never too small. Replies are
redacted like everything in a run folder; one that redaction would change for good is not kept.

    <folder>/replies/ab/abcdef…   one reply: a header line, then the bytes of the HTTP answer; mode 0600
    <folder>/.staging/            unfinished files; all of them are dead for the holder of the lock
    <folder>/.lock                the lock, and in it the total of bytes

Why: docs/decisions/models.md#the-reply-cache-is-a-folder-of-files-and-keeps-no-index
"""

import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from stat import S_IMODE, S_ISREG, S_IWOTH

from harness.codec import CodecError, dumps, loads
from harness.errors import ConfigError, HarnessError
from harness.files import safe_files
from harness.files.disk import Within, hold, write_atomic
from harness.protocols import StoredReply
from harness.secrets.redaction import NO_SECRETS, Redactor

FORMAT = 1
LOCK_WAIT_S = 10.0
"""A lock that is held for longer belongs to a process that hangs; then nothing is written."""
_REPLIES, _STAGING, _LOCK = "replies", ".staging", ".lock"
_KEY = re.compile(r"[0-9a-f]{64}")
_KEPT = 0.9
"""Of the limit, after the least recently used replies were removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatistics:
    """What a cache folder holds."""

    replies: int = 0
    size_bytes: int = 0
    oldest_use: float = 0.0
    """Seconds since the epoch: when the least recently used reply was last used; 0 = there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    used_ns: int
    size: int
    path: Path


class ReplyCache:
    """Fits `ReplyStore`."""

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int,
        writes: bool = True,
        redactor: Redactor = NO_SECRETS,
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Touches no file yet.

        Args:
            folder: Made by `check_folder`.
            max_bytes: Of all replies together.
            writes: Keep new replies, and note which are used; False changes nothing on disk.
            redactor: Of the run that asks.
            notice: Receives a sentence when something is wrong with the folder; each kind of it once.
        """
        self._folder = folder
        self._max_bytes = max_bytes
        self._writes = writes
        self._redactor = redactor
        self._notice = notice
        self._noticed: set[str] = set()

    def read(self, key: str) -> StoredReply | None:
        """The reply of that key; None when there is none, or none that can be trusted."""
        path = self._path(key)
        try:
            fd = safe_files.open_regular(path, os.O_RDONLY, below=self._folder)
            with os.fdopen(fd, "rb") as file:
                # One byte more than any reply that is kept: a larger file is cut here, and so is not a whole reply.
                data = file.read(self._max_bytes + 1)
                reply = self._decoded(key, data)
                if reply is not None and self._writes:
                    os.utime(fd)  # when it was used last; an index of uses would be one more file that can be torn
        except FileNotFoundError:
            return None
        except (OSError, HarnessError) as error:
            self._once("read", f"the reply cache cannot be read ({error}); its replies are asked for again")
            return None
        if reply is None:
            self._once("damaged", f"{path} is not a whole reply of these settings; the model is asked again")
        return reply

    def write(self, key: str, reply: StoredReply) -> None:
        """Keep a reply, durably; a folder that cannot be written to is given up after one notice."""
        data = self._encoded(key, reply) if self._writes else None
        if data is None or len(data) > self._max_bytes:
            return
        try:
            self._put(self._path(key), data)
        except (OSError, HarnessError) as error:
            # Not an error: most is paid by now, and a full disk must not end what is left of the run.
            self._writes = False
            why = error.strerror if isinstance(error, OSError) else str(error).partition(";")[0]
            self._once("write", f"the reply cache {self._folder} keeps no more replies of this run: {why}")

    def _put(self, path: Path, data: bytes) -> None:
        # All of it under the lock, fsync included: a few milliseconds beside the seconds that a model takes.
        with _locked(self._folder) as lock:
            total = _recorded_total(lock)
            before = safe_files.status(path, below=self._folder) if path.parent.is_dir() else None
            if total is None or total + len(data) > self._max_bytes:
                # Down to `_KEPT`, so that not every further reply looks through the whole folder.
                total = _remove_oldest(self._folder, int(self._max_bytes * _KEPT) - len(data)).size_bytes
                before = None
            # Before the file appears: a writer that is killed then leaves a total that is too large.
            _record_total(lock, total + len(data))
            with safe_files.open_folder(path.parent, self._folder, make=0o700, durable=True):
                pass
            # One file for each reply: a damaged one is lost alone, where a database would lose all of them.
            write_atomic(path, data, mode=0o600, within=Within(self._folder, self._folder / _STAGING))
            if before is not None:
                _record_total(lock, max(0, total + len(data) - before.st_size))

    def _encoded(self, key: str, reply: StoredReply) -> bytes | None:
        """The content of a file; None when what a run would read from it is not what was received."""
        parts = tuple(map(self._redactor.data, (reply.raw, reply.request, reply.request_id.encode())))
        if tuple(map(self._revealed, parts)) != (reply.raw, reply.request, reply.request_id.encode()):
            return None
        body, request, request_id = parts
        return dumps(_header(key, body, request.decode(), request_id.decode())) + b"\n" + body

    def _decoded(self, key: str, data: bytes) -> StoredReply | None:
        header, _, body = data.partition(b"\n")
        try:
            found = loads(header)
        except CodecError:
            return None
        match found:
            case {"request": str(request), "request_id": str(request_id)} if found == _header(
                key, body, request, request_id
            ):
                parts = (body, request.encode(), request_id.encode())
            case _:
                return None
        raw, sent, named = map(self._revealed, parts)
        if tuple(map(self._redactor.data, (raw, sent, named))) != parts:  # kept by a run with other secrets
            return None
        return StoredReply(raw=raw, request=sent, request_id=named.decode())

    def _revealed(self, body: bytes) -> bytes:
        try:
            return self._redactor.reveal(body.decode()).encode()
        except UnicodeDecodeError:
            return body

    def _path(self, key: str) -> Path:
        assert _KEY.fullmatch(key)
        return self._folder / _REPLIES / key[:2] / key

    def _once(self, kind: str, sentence: str) -> None:
        if kind not in self._noticed:
            self._noticed.add(kind)
            self._notice(sentence)


def check_folder(folder: Path, setting: str, *, writes: bool) -> None:
    """Make the folder if replies are to be kept in it, and see that it can be used; `setting`: its name.

    Raises:
        ConfigError: It cannot.
    """
    try:
        _refuse_open(folder)
        if not writes:
            if not os.access(folder / _REPLIES, os.R_OK | os.X_OK):
                raise FileNotFoundError(errno.ENOENT, "there are no replies in it that can be read")
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in (_REPLIES, _STAGING):
            with safe_files.open_folder(folder / name, folder, make=0o700):
                pass
            if not os.access(folder / name, os.R_OK | os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, "permission denied")
        with _locked(folder):
            pass
    except (OSError, HarnessError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        # Who asks for the cache does not want to pay; a start that could not use it would pay without a word.
        raise ConfigError(
            f"{setting}={folder} cannot be used as reply cache: {why}; choose another folder, or set llm.cache=off"
        ) from error


def _refuse_open(folder: Path) -> None:
    """Replies decide what is played and how it is scored: not everybody may put some there.

    Raises:
        PermissionError: Everybody may.
    """
    for path in (folder, folder / _REPLIES):
        with suppress(FileNotFoundError):
            if (status := path.stat()).st_mode & S_IWOTH:
                mode = f"mode {S_IMODE(status.st_mode):o}"
                raise PermissionError(
                    errno.EACCES, f"everybody may put replies into it ({mode}); take that away by chmod o-w {path}"
                )


def statistics(folder: Path) -> CacheStatistics:
    """Count what a cache folder holds; reads no reply."""
    return _sum(list(_files(folder)))


def prune(folder: Path, *, max_bytes: int | None = None, unused_s: float | None = None) -> CacheStatistics:
    """Remove replies that were not used for `unused_s`, then the least recently used ones beyond `max_bytes`.

    Returns:
        What is left.
    Raises:
        OSError: The folder cannot be changed.
    """
    with _locked(folder) as lock:
        if unused_s is not None:
            for one in _files(folder):
                if one.used_ns < (time.time() - unused_s) * 1e9:
                    safe_files.remove(one.path, below=folder)
        left = _remove_oldest(folder, max_bytes)
        _record_total(lock, left.size_bytes)
        return left


def _header(key: str, body: bytes, request: str, request_id: str) -> dict[str, object]:
    # The checksum covers the values of the header, too: a byte that changes anywhere in the file makes it a miss.
    named = f"{key}\n{request_id}\n{request}\n".encode()
    return {
        "cairn_reply": FORMAT,
        "key": key,
        "request_id": request_id,
        "request": request,
        "bytes": len(body),
        "sha256": sha256(named + body).hexdigest(),
    }


def _files(folder: Path) -> Iterator[_File]:
    """The replies in a folder; other files in it are none of ours, and are left alone."""
    root = folder / _REPLIES
    for first in safe_files.names_in(root, folder):
        if len(first) != 2 or not (root / first).is_dir():
            continue
        with safe_files.open_folder(root / first, folder) as fd, os.scandir(fd) as found:
            for entry in found:
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if _KEY.fullmatch(entry.name) and S_ISREG(status.st_mode):
                        path = root / first / entry.name
                        yield _File(used_ns=status.st_mtime_ns, size=status.st_size, path=path)


def _remove_oldest(folder: Path, most: int | None) -> CacheStatistics:
    """Remove the least recently used replies until `most` bytes are left, and unfinished files; holds the lock."""
    for name in safe_files.names_in(folder / _STAGING, folder):
        safe_files.remove(folder / _STAGING / name, below=folder)
    files = sorted(_files(folder), key=lambda one: one.used_ns)
    total = sum(one.size for one in files)
    while files and most is not None and total > most:
        oldest = files.pop(0)
        safe_files.remove(oldest.path, below=folder)
        total -= oldest.size
    return _sum(files)


def _sum(files: list[_File]) -> CacheStatistics:
    oldest = min((one.used_ns for one in files), default=0) / 1e9
    return CacheStatistics(replies=len(files), size_bytes=sum(one.size for one in files), oldest_use=oldest)


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Hold the lock of a cache folder; the kernel frees it when its holder dies."""
    fd = safe_files.open_regular(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + LOCK_WAIT_S
        while not hold(fd):
            # Asked for again and again, as `flock` itself has no time-out and would hang with a process that hangs.
            if time.monotonic() > deadline:
                raise TimeoutError(errno.ETIMEDOUT, f"another process has held its lock for {LOCK_WAIT_S:g} s")
            time.sleep(0.005)
        yield fd
    finally:
        os.close(fd)


def _recorded_total(lock: int) -> int | None:
    """None = it is not known."""
    said = os.pread(lock, 64, 0)
    return int(said) if re.fullmatch(rb"\d{1,18}\n", said) else None


def _record_total(lock: int, total: int) -> None:
    # Always as wide, so that no digit of an older total is left behind it.
    os.pwrite(lock, b"%018d\n" % total, 0)
