"""The run folder: where each journal, artifact and small file of a run lives, and who may write there.

Invariant: one process tree holds a run folder at a time; a task id or a digest never chooses a path outside it; artifacts
are whole, durable before their digest is known to anybody, and verified when read. Checkpoints (storage states, cookies
and all) live apart in `private/`, readable by the owner only, never redacted and never exported.

    <run>/<task_id>.traj.jsonl            trial 0; trial k is <task_id>.trial-<k>.traj.jsonl
    <run>/artifacts/ab/abcdef…            by sha256
    <run>/private/checkpoints/ab/abcdef…  by sha256, mode 0600
    <run>/config.yaml, run.json …         small files, written whole (`RunFolder.write`)
    <run>/.lock, .index.jsonl, .staging/  the hold, a shortcut, unfinished files: none of them is worth keeping

    with RunFolder.open(path, redactor=Redactor(secrets)) as run:       # the parent; workers pass `held=False`
        run.journal(task_id, trial) -> Journal      run.artifacts.put(b) / .read(digest)      run.scan() -> Scan
"""

import os
import re
from contextlib import ExitStack, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Self

from harness.errors import JournalError, TaskError
from harness.journal.disk import refusals, sync_folder, write_atomic
from harness.journal.index import INDEX_NAME, Scan, index_of, name_of, note, scan
from harness.journal.lock import RunLock
from harness.journal.log import LOCK_NAME, Durability, Journal
from harness.journal.redaction import NO_SECRETS, Redactor

_TASK_ID = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}")
_TRIAL_ENDING = re.compile(r"\.trial-\d+$")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_STAGING = ".staging"
_VERIFIED_LIMIT = 1 << 16
"""Digests a store remembers to have verified; some 10 MB."""


class ArtifactStore:
    """Bytes by content hash, under one folder."""

    def __init__(
        self,
        root: Path,
        *,
        staging: Path | None = None,
        redactor: Redactor = NO_SECRETS,
        durable: bool = True,
        private: bool = False,
    ) -> None:
        self._root = root
        self._staging = staging
        self._redactor = redactor
        self._durable = durable
        self._folder_mode, self._file_mode = (0o700, 0o600) if private else (0o755, 0o644)
        self._verified: set[str] = set()

    def put(self, data: bytes) -> str:
        """Store durably and return the sha256 hex digest of what was stored, secrets taken out.

        A file that is there already is believed once its bytes were compared; a damaged one is replaced.
        """
        data = self._redactor.data(data)
        digest = sha256(data).hexdigest()
        path = self.path(digest)
        with refusals(path):
            if self._is_there(path, digest, data):
                if self._durable:  # its writer may not have come to that yet
                    sync_folder(path.parent)
                self._remember(digest)
                return digest
            self._make_folder(path.parent)
        write_atomic(path, data, mode=self._file_mode, durable=self._durable, staging=self._staging)
        self._remember(digest)
        return digest

    def _is_there(self, path: Path, digest: str, data: bytes) -> bool:
        """Whether the file holds these bytes; they are read once in the life of this store."""
        if not path.is_file() or path.stat().st_size != len(data):
            return False
        return digest in self._verified or path.read_bytes() == data

    def _remember(self, digest: str) -> None:
        if len(self._verified) >= _VERIFIED_LIMIT:
            self._verified.clear()
        self._verified.add(digest)

    def read(self, digest: str) -> bytes:
        """The bytes named `digest`.

        Raises:
            JournalError: Missing, or not the bytes it is named after.
        """
        path = self.path(digest)
        try:
            data = path.read_bytes()
        except OSError as exc:
            raise JournalError(f"artifact {path} cannot be read: {exc.strerror}") from exc
        if sha256(data).hexdigest() != digest:
            raise JournalError(f"artifact {path} is damaged: its bytes are not those it is named after")
        return data

    def path(self, digest: str) -> Path:
        """Where the artifact named `digest` is, if it is; what is read there directly is not verified."""
        if not _DIGEST.fullmatch(digest):
            raise JournalError(f"{digest!r} is not the name of an artifact")
        return self._root / digest[:2] / digest

    def _make_folder(self, folder: Path) -> None:
        if folder.exists():
            return
        if folder.parent != folder:
            self._make_folder(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(self._folder_mode)
        if self._durable:
            sync_folder(folder.parent)


class RunFolder:
    """One run's folder. Make it with `RunFolder.open`; whoever only reads uses `scan`, `read` and `ArtifactStore`."""

    def __init__(self, path: Path, lock: RunLock | None, *, durability: Durability, redactor: Redactor) -> None:
        self.path = path
        self.lock = lock
        self._durability = durability
        self._redactor = redactor
        self._staging = path / _STAGING
        durable = durability is not Durability.none
        self.artifacts = ArtifactStore(path / "artifacts", staging=self._staging, redactor=redactor, durable=durable)
        self.checkpoints = ArtifactStore(
            path / "private" / "checkpoints", staging=self._staging, durable=durable, private=True
        )

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        durability: Durability = Durability.record,
        redactor: Redactor = NO_SECRETS,
        held: bool = True,
    ) -> Self:
        """Open the run folder at `path`, made if it is missing.

        Args:
            path: The folder.
            durability: When appends reach the disk itself.
            redactor: Takes secrets out of everything written but checkpoints.
            held: Take the hold; False for a worker whose parent has it.

        Raises:
            JournalLocked: Another process holds it.
            StorageError: The disk refuses.
        """
        with ExitStack() as undo:
            with refusals(path):
                (path / _STAGING).mkdir(parents=True, exist_ok=True)
            lock = RunLock.acquire(path / LOCK_NAME, redactor) if held else None
            if lock is not None:
                undo.callback(lock.release)
                with refusals(path):
                    _empty(path / _STAGING)
            undo.pop_all()
        return cls(path, lock, durability=durability, redactor=redactor)

    def journal(self, task_id: str, trial: int = 0) -> Journal:
        """Open the journal of one task and trial; locked until closed."""
        return Journal.open(
            self.journal_path(task_id, trial),
            durability=self._durability,
            redactor=self._redactor,
            on_close=partial(note, redactor=self._redactor),
        )

    def journal_path(self, task_id: str, trial: int = 0) -> Path:
        return self.path / journal_name(task_id, trial)

    def scan(self) -> Scan:
        """What became of each task; mends the index on the way."""
        found = scan(self.path)
        if not found.fresh and self.lock is not None:
            write_atomic(self.path / INDEX_NAME, index_of(found.entries), durable=False, staging=self._staging)
        return found

    def write(self, name: str, data: bytes) -> Path:
        """Write a small file whole, secrets taken out, and give its path."""
        path = self.path / name
        if path.name != name or name == "..":
            raise ValueError(f"{name!r} is not a plain file name")
        write_atomic(path, self._redactor.data(data), staging=self._staging)
        return path

    def close(self) -> None:
        """Let go of the hold. Idempotent."""
        lock, self.lock = self.lock, None
        if lock is not None:
            lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def hold_of(folder: Path) -> str:
    """What the lock file of a run folder says, "" without one; no two starts say the same, so equal texts are one folder."""
    try:
        return (folder / LOCK_NAME).read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def journal_name(task_id: str, trial: int = 0) -> str:
    """File name of a journal; refuses ids that could mean another file or folder."""
    if not _TASK_ID.fullmatch(task_id) or _TRIAL_ENDING.search(task_id):
        raise TaskError(
            f"task_id {task_id!r} cannot name a file: use 1 to 200 letters, digits, '.', '_' or '-', "
            "not starting with '.' and not ending in '.trial-' and a number"
        )
    return name_of(task_id, trial)


def _empty(folder: Path) -> None:
    with os.scandir(folder) as found:
        for entry in found:
            Path(entry.path).unlink(missing_ok=True)
