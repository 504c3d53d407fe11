"""The write-ahead log of one episode: a record is on disk before anything depends on it.

Invariant: memory is never ahead of disk, and what is folded is what a later reading of the file gives, by one who has
the secrets. Only what cannot be put back (`redaction`) is whole in memory alone: an agent that types it must not type a
marker. Bytes once written are never changed; the one thing ever removed is an unterminated tail, by the next `open`. A
terminated line that is damaged or out of order is JournalCorrupt, and the file is not touched. Does not know what a run
is, nor what records are for.

    with Journal.open(path) as journal:      # locks, cuts a torn tail, decodes, folds
        journal.episode                      # what the file says
        journal.append(record) -> Episode    # encode, redact, check, one write, fsync, then advance
    read(path) -> Episode                    # for readers: no lock, no repair
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from harness.choices import Durability
from harness.codec import CodecError, NewerSchema, Text, UnknownKind, decode, encode, seal, unseal
from harness.errors import JournalCorrupt, JournalError, JournalLocked
from harness.files import safe_files
from harness.files.disk import hold, storage_error, sync_folder, translate_os_errors, write_whole
from harness.files.sync import sync
from harness.journal.fold import check, fold
from harness.journal.lock import holder_named_in
from harness.journal.record_limits import invalid_record, invalid_totals
from harness.records import Closed, Episode, Failed, Judged, Record, Scored
from harness.secrets.redaction import NO_SECRETS, Redactor

LOCK_NAME = ".lock"
"""Lock file of a run folder; its content names the holder."""
_MARKER = b"[redacted:"


OnClose = Callable[[Path, Episode, os.stat_result], None]


class Journal:
    """One open journal file, held by this process until closed. Make it with `Journal.open`."""

    def __init__(
        self,
        path: Path,
        fd: int,
        *,
        durability: Durability = Durability.record,
        redactor: Redactor = NO_SECRETS,
        on_close: OnClose | None = None,
    ) -> None:
        self.path = path
        self._fd: int | None = fd
        self._durability = durability
        self._redactor = redactor
        self._on_close = on_close
        self._fold = _Fold(path, redactor.reveal)
        self.written = 0
        """Bytes that were appended since it was opened."""
        self.newest: Record | None = None
        """What was appended last, as it was folded."""

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        durability: Durability = Durability.record,
        redactor: Redactor = NO_SECRETS,
        on_close: OnClose | None = None,
    ) -> Self:
        """Lock the journal at `path`, made if it is missing, and read what it holds.

        Args:
            path: Its folder must exist.
            durability: When appends reach the disk itself.
            redactor: Takes secrets out of what is written, and puts them back into what is read.
            on_close: Called with path, episode and file status just before the file is let go of.

        Raises:
            JournalLocked: Another process has it open.
            JournalCorrupt: A terminated line is damaged or out of order.
            UnsafeFile: It is a link, a FIFO or a device, or has other names.
            StorageError: The disk refuses.
        """
        with translate_os_errors(path), ExitStack() as undo:
            fd = safe_files.open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            undo.callback(os.close, fd)
            if not hold(fd):
                raise JournalLocked(path, holder_named_in(path.parent / LOCK_NAME))
            journal = cls(path, fd, durability=durability, redactor=redactor, on_close=on_close)
            journal._load(fd)
            undo.pop_all()
        return journal

    @property
    def episode(self) -> Episode:
        """What the file says."""
        return self._fold.episode

    def append(self, record: Record) -> Episode:
        """Append one record and make it durable.

        Returns:
            The episode after `record`.

        Raises:
            JournalCorrupt: `record` may not come next; nothing was written.
            CodecError: `record` cannot be written; nothing was written.
            StorageError: The disk refuses; the journal is closed and must be opened anew.
        """
        if self._fd is None:
            raise JournalError(f"{self.path} is closed; reopen it to append")
        body, exact = encode(record)
        # Folded is what a later reading gives: tuples among free values come back as lists, lone surrogates as U+FFFD.
        kept = record if exact else decode(body)
        if self._redactor.touches(body):
            body = encode(record, text=self._redactor.text).body
            # Read as it will be read later: what redaction has made of the record must still be one.
            self._fold.decode(body)
        # Before a byte is written: an illegal line on the disk would make the whole journal unreadable.
        after = self._fold.after(kept)
        line, crc = seal(body, self._fold.crc)
        try:
            write_whole(self._fd, line)
            if self._is_due(record):
                # `fdatasync` was tried and had no measurable effect.
                sync(self._fd)
        except OSError as exc:
            # Nobody knows how much of the line is on the disk; only a new `open` cuts it off.
            self._let_go()
            raise storage_error(self.path, exc) from exc
        self._fold.advance(after, crc)
        self.written += len(line)
        self.newest = kept
        return after

    def bodies(self) -> list[bytes]:
        """What the file holds, each record as `encode` gives it with secrets put back: to be folded elsewhere."""
        with translate_os_errors(self.path, "read"):
            data = safe_files.read(self.path)
        found, crc = [], 0
        for line in _lines(data):
            body, crc = unseal(line, crc)
            found.append(encode(self._fold.decode(body)).body if _MARKER in body else body)
        return found

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        try:
            if self._fd is not None and self._on_close is not None:
                # While the lock is held: the status must be that of the file as it was folded.
                self._on_close(self.path, self.episode, os.fstat(self._fd))
        finally:
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _let_go(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _load(self, fd: int) -> None:
        data = _read_all(fd)
        whole = data.rfind(b"\n") + 1
        self._fold.extend(data[:whole])
        # Nothing depends on an unterminated line: `append` did not return.
        if whole < len(data):
            os.ftruncate(fd, whole)
        # What was written may not be on the disk yet: its writer can have been killed before its fsync.
        if self._durability is not Durability.none:
            sync(fd)
            sync_folder(self.path.parent)  # a new file's name can be lost in a power cut, too

    def _is_due(self, record: Record) -> bool:
        if self._durability is Durability.task:
            return isinstance(record, Closed | Failed | Judged | Scored)
        return self._durability is Durability.record


def read(path: Path) -> Episode:
    """What the journal at `path` says; a missing or empty file is an empty episode, a torn tail is left out.

    Raises:
        JournalCorrupt: A terminated line is damaged or out of order.
        UnsafeFile: It is a link, a FIFO or a device.
        StorageError: The file cannot be read.
    """
    reading = _Fold(path, None)
    reading.extend(whole_lines(path))
    return reading.episode


def attempts(path: Path) -> tuple[Episode, ...]:
    """Every attempt the journal at `path` tells of, in order, each as it ended; the last one is what `read` gives.

    Raises: as `read`.
    """
    reading = _Fold(path, None)
    ended: list[Episode] = []
    for line in _lines(whole_lines(path)):
        before = reading.episode
        reading.extend(line + b"\n")
        if before.opened is not None and reading.episode.opened is not before.opened:
            ended.append(before)
    return (*ended, reading.episode) if reading.episode.opened else ()


def whole_lines(path: Path) -> bytes:
    """The journal at `path` without a torn tail, whose writer may be in the middle of that line; b"" = there is none.

    Raises:
        UnsafeFile: It is a link, a FIFO or a device.
        StorageError: The file cannot be read.
    """
    with translate_os_errors(path, "read"):
        data = safe_files.read_if_there(path, most=safe_files.MAX_BYTES) or b""
    return data[: data.rfind(b"\n") + 1]


class _Fold:
    """How far the lines of one file have been folded."""

    def __init__(self, path: Path, reveal: Text | None) -> None:
        self.episode = Episode()
        self.crc = 0
        self._path = path
        self._lines = 0
        self._reveal = reveal

    def extend(self, data: bytes) -> None:
        """Fold terminated lines."""
        for line in _lines(data):
            try:
                body, crc = unseal(line, self.crc)
            except CodecError as exc:
                raise JournalCorrupt(self._path, self._lines + 1, str(exc)) from exc
            self.advance(self.after(self.decode(body)), crc)

    def decode(self, body: bytes) -> Record:
        """The record of the next line."""
        try:
            return decode(body, text=self._reveal if _MARKER in body else None)
        except (NewerSchema, UnknownKind) as exc:  # not damage: another installation reads it
            raise JournalError(f"{self._path}:{self._lines + 1}: {exc}") from exc
        except CodecError as exc:
            raise JournalCorrupt(self._path, self._lines + 1, str(exc)) from exc

    def after(self, record: Record) -> Episode:
        """The episode after one more record."""
        # Bounds are checked here: the codec would need a range for every number.
        if why := check(self.episode, record) or invalid_record(record):
            raise JournalCorrupt(self._path, self._lines + 1, why)
        after = fold(self.episode, record)
        if why := invalid_totals(after, before=self.episode):
            raise JournalCorrupt(self._path, self._lines + 1, why)
        return after

    def advance(self, episode: Episode, crc: int) -> None:
        self.episode, self.crc = episode, crc
        self._lines += 1


def _lines(data: bytes) -> Iterator[bytes]:
    # Bytes, not text: `str.splitlines` also cuts at U+2028, which page text holds and JSON does not escape.
    yield from data.split(b"\n")[:-1]


def _read_all(fd: int) -> bytes:
    parts = []
    while part := os.read(fd, 1 << 20):
        parts.append(part)
    return b"".join(parts)
