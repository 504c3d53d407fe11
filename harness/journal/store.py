"""The run folder: where each journal, artifact and small file of a run lives, and who may write there.

Invariant: one process tree holds a run folder at a time; a task id or a digest never chooses a path outside it;
artifacts are complete, durable before their digest is used, and verified when read. Checkpoints (storage
states, cookies and all) live apart in `private/`, readable by the owner only, never redacted and never exported.

    <run>/<task_id>.traj.jsonl            trial 0; trial k is <task_id>.trial-<k>.traj.jsonl
    <run>/artifacts/ab/abcdef…            by sha256
    <run>/private/checkpoints/ab/abcdef…  by sha256, mode 0600
    <run>/config.yaml, run.json …         small files, written whole (`RunFolder.write`)
    <run>/.lock, .index.jsonl, .staging/  the hold, a shortcut, unfinished files: none of them is worth keeping

    with RunFolder.open(path, redactor=Redactor(secrets)) as run:       # the parent; workers pass `held=False`
        run.journal(task_id, trial) -> Journal      run.artifacts.put(b) / .read(digest)      run.scan() -> Scan
"""

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Self

from harness.choices import Durability
from harness.errors import JournalError, NoArtifact, StorageError, TaskError, UnsafeFile, UsageError
from harness.files import safe_files
from harness.files.disk import Within, sync_file, translate_os_errors, write_atomic
from harness.files.sync import sync
from harness.journal.index import INDEX_NAME, Scan, index_of, note, scan
from harness.journal.lock import LockFile, RunLock
from harness.journal.log import LOCK_NAME, Journal
from harness.journal.names import JOURNAL_SUFFIX, can_name, check_digest, journals_in, name_of
from harness.protocols import StagedArtifact
from harness.secrets.redaction import NO_SECRETS, Redactor

_STAGING = ".staging"
WORKER_LOG = "worker.log"
STORES = ("artifacts", "private/checkpoints")
"""Folders of files that are named after their content."""
FOLDERS = (*STORES, _STAGING, "report/tasks", "shards", "slurm")
FILES = (
    *(LOCK_NAME, INDEX_NAME, ".concluded.json", "config.yaml", "run.json", "summary.json", "summary.md", "junit.xml"),
    *("sites.jsonl", "drift.jsonl", "retry.json", "intents.json", "fork.json"),
    *("run.log", WORKER_LOG, "sites.log", "endpoint.log"),
)
"""What a run keeps beside its journals, by name."""
_OF_A_REFUSED_START = frozenset({LOCK_NAME, INDEX_NAME, _STAGING, "artifacts"})
_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_VERIFIED_LIMIT = 1 << 16
"""Digests a store remembers to have verified; some 10 MB."""


class ArtifactStore:
    """Bytes by content hash, under one folder."""

    def __init__(  # noqa: PLR0913 (where and how it stores)
        self,
        root: Path,
        *,
        staging: Path | None = None,
        redactor: Redactor | None = None,
        durable: bool = True,
        private: bool = False,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """`redactor`: takes secrets out of what is stored, and puts them back into what is read; None = for readers of
        other runs, and for what is private: bytes are stored and read as they are. `check` is called before bytes are
        stored.
        """
        self._root = root
        self._run = root.parents[1] if private else root.parent
        self._within = Within(self._run, staging)
        self._redactor = redactor
        self._durable = durable
        self._check = check
        # Plain, as ssh keeps its keys: the key of an encryption would be the next secret to protect.
        self._folder_mode, self._file_mode = (0o700, 0o600) if private else (0o755, 0o644)
        self._verified: set[str] = set()
        self._kept_folders: set[str] = set()
        """Names of folders whose own name is durable."""

    def put(self, data: bytes) -> str:
        """Store durably and return the sha256 hex digest of what was stored, secrets taken out.

        A file that is there already is believed once its bytes were compared; a damaged one is replaced.
        """
        return self._stored(data, durable=self._durable).digest

    def stage(self, data: bytes) -> StagedArtifact:
        """Store as `put` does, but leave it to `StagedArtifact.settle` to wait for the disk.

        Its file is complete for all processes at once; a power cut before `settle` may leave a part of it, which
        `read` refuses and the next `put` or `stage` of the same bytes replaces.
        """
        return self._stored(data, durable=False)

    def _stored(self, data: bytes, *, durable: bool) -> StagedArtifact:
        self._check()
        data = data if self._redactor is None else self._redactor.data(data)
        digest = sha256(data).hexdigest()
        path = self.path(digest)
        with translate_os_errors(path):
            if not self._is_there(path, digest, data):
                with safe_files.open_folder(path.parent, self._run, make=self._folder_mode, durable=durable):
                    pass
                if durable:
                    self._keep_name(path.parent)  # `stage`, or another process, may have made it
                write_atomic(path, data, mode=self._file_mode, durable=durable, within=self._within)
            elif durable:
                self._settle(path)  # its writer may not have come to that
        self._remember(digest)
        return StagedArtifact(digest=digest, data=data, settle=partial(self._settle, path))

    def _settle(self, path: Path) -> None:
        if self._durable:
            with translate_os_errors(path):
                sync_file(path, self._run)
                self._keep_name(path.parent)

    def _keep_name(self, folder: Path) -> None:
        """Make the name of a folder durable, once in the life of this store."""
        # The name of a new folder can be lost in a power cut, too; there are 256 of them.
        if folder.name not in self._kept_folders:
            with safe_files.open_folder(self._root, self._run) as fd:
                sync(fd)
            self._kept_folders.add(folder.name)

    def _is_there(self, path: Path, digest: str, data: bytes) -> bool:
        """Whether the file holds these bytes; they are read once in the life of this store."""
        found = safe_files.status(path, below=self._run)
        if found is None or found.st_size != len(data):
            return False
        return digest in self._verified or safe_files.read(path, below=self._run) == data

    def _remember(self, digest: str) -> None:
        if len(self._verified) >= _VERIFIED_LIMIT:
            # All at once: what is forgotten costs one reading of its file.
            self._verified.clear()
        self._verified.add(digest)

    def read(self, digest: str) -> bytes:
        """What was stored as `digest`, secrets put back as far as they are known.

        Raises:
            NoArtifact: There is none of this name.
            JournalError: Not the bytes it is named after, or no regular file.
        """
        path = self.path(digest)
        try:
            data = safe_files.read(path, below=self._run)
        except FileNotFoundError as exc:
            raise NoArtifact(f"artifact {path} cannot be read: {exc.strerror}") from exc
        except OSError as exc:
            raise JournalError(f"artifact {path} cannot be read: {exc.strerror}") from exc
        if sha256(data).hexdigest() != digest:
            raise JournalError(f"artifact {path} is damaged: its content does not match its hash")
        return data if self._redactor is None else self._redactor.reveal_data(data)

    def size(self, digest: str) -> int:
        """Bytes of what is named `digest`, not verified; 0 = there is nothing."""
        path = self.path(digest)
        with translate_os_errors(path, "read"):
            found = safe_files.status(path, below=self._run)
        return 0 if found is None else found.st_size

    def head(self, digest: str, count: int) -> bytes:
        """The first bytes of what is named `digest`, not verified.

        Raises: as `read`.
        """
        path = self.path(digest)
        try:
            with os.fdopen(safe_files.open_regular(path, os.O_RDONLY, below=self._run), "rb") as file:
                return file.read(count)
        except OSError as exc:
            raise JournalError(f"artifact {path} cannot be read: {exc.strerror}") from exc

    def path(self, digest: str) -> Path:
        """Where the artifact named `digest` is, if it is; what is read there directly is not verified."""
        # Digests come from journals, which may be foreign: a path must not.
        check_digest(digest)
        return self._root / digest[:2] / digest


class RunFolder:
    """One run's folder. Create it with `RunFolder.open`; readers use `scan`, `read` and `ArtifactStore`."""

    def __init__(self, path: Path, lock: RunLock | None, *, durability: Durability, redactor: Redactor) -> None:
        self.path = path
        self.lock = lock
        self._lock_file = lock or LockFile.of(path / LOCK_NAME)
        """That of the one who holds it; None = nobody ever did."""
        self._durability = durability
        self.redactor = redactor
        self._is_new = False
        """Whether it was empty when it was opened, by the one who holds it."""
        self._staging = path / _STAGING
        durable = durability is not Durability.none
        check = self._check_place
        self.artifacts = ArtifactStore(
            path / "artifacts", staging=self._staging, redactor=redactor, durable=durable, check=check
        )
        # Without a redactor: a redacted storage state cannot be used for a resume, so it is private instead.
        self.checkpoints = ArtifactStore(
            path / "private" / "checkpoints", staging=self._staging, durable=durable, private=True, check=check
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
            UnsafeFile: Its lock or staging folder is a link, or something else.
            StorageError: The disk refuses.
        """
        with ExitStack() as undo:
            with translate_os_errors(path):
                path.mkdir(parents=True, exist_ok=True)
                # Before this start puts more into it than its first worker's log.
                is_new = all(one.name == WORKER_LOG for one in path.iterdir())
                with safe_files.open_folder(path / _STAGING, path, make=0o777):
                    pass
            lock = RunLock.acquire(path / LOCK_NAME, redactor) if held else None
            if lock is not None:
                undo.callback(lock.release)
                # Under the lock only: the files of a run that goes on are unfinished, not left behind.
                with translate_os_errors(path):
                    _empty(path / _STAGING, path)
            undo.pop_all()
        run = cls(path, lock, durability=durability, redactor=redactor)
        run._is_new = is_new and lock is not None
        return run

    def journal(self, task_id: str, trial: int = 0) -> Journal:
        """Open the journal of one task and trial; locked until closed.

        Raises:
            JournalLocked: It is open elsewhere.
            StorageError: The disk refuses, or the folder is another one by now.
        """
        self._check_place()
        return Journal.open(
            self.journal_path(task_id, trial),
            durability=self._durability,
            redactor=self.redactor,
            on_close=partial(note, redactor=self.redactor),
        )

    def journal_path(self, task_id: str, trial: int = 0) -> Path:
        return self.path / journal_name(task_id, trial)

    def scan(self) -> Scan:
        """What became of each task; mends the index on the way."""
        found = scan(self.path)
        if not found.fresh and self.lock is not None:
            # Not synced: an index that is lost is made again from the journals.
            self._put(INDEX_NAME, index_of(found.entries), durable=False)
        return found

    def read(self, name: str) -> bytes | None:
        """A small file as it was given to `write`, secrets put back; None = there is none.

        Raises:
            UnsafeFile: It is a link, or something else.
            StorageError: It cannot be read.
        """
        path = self.path / name
        with translate_os_errors(path, "read"):
            data = safe_files.read_if_there(path)
        return None if data is None else self.redactor.reveal_data(data)

    def write(self, name: str, data: bytes) -> Path:
        """Write a small file whole, secrets taken out, and give its path."""
        path = self.path / name
        if path.name != name or name == "..":
            raise ValueError(f"{name!r} is not a plain file name")
        self._put(name, self.redactor.data(data))
        return path

    def token(self) -> str:
        """What the lock file held when the folder was opened, see `lock_token`; "" = there was none."""
        return self._lock_file.content().decode(errors="replace") if self._lock_file else ""

    def _check_place(self) -> None:
        """See that nobody has moved the folder away: the hold goes with it, so another run may have this place."""
        if not self._is_in_place():
            raise self._moved()

    def _moved(self) -> StorageError:
        return StorageError(
            f"{self.path} was moved or deleted while this run used it; if it was moved, put it back; then run the same"
            " command again"
        )

    def _is_in_place(self) -> bool:
        return self._lock_file is None or self._lock_file.is_at(self.path / LOCK_NAME)

    def _put(self, name: str, data: bytes, *, durable: bool = True) -> None:
        self._check_place()
        write_atomic(self.path / name, data, durable=durable, within=Within(self.path, self._staging))

    def close(self) -> None:
        """Let go of the hold. Idempotent."""
        file, self.lock, self._lock_file = self._lock_file, None, None
        if file is not None:
            file.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        is_in_place = self._is_in_place()
        if self.lock is not None and (why := _refusal(error)) is not None and is_in_place:
            self._discard_unused(why)
        self.close()
        if not is_in_place and _is_of_storage(error):  # any file may be the one that was missed first
            raise self._moved() from error

    def _discard_unused(self, why: str) -> None:
        """Remove what a start has left that was refused before it recorded anything; another folder stays, and so does
        one that the refusal names, for its logs.
        """
        is_named = str(self.path) in why or WORKER_LOG in why
        if self._is_new and not is_named and not any(self.path.glob(f"*{JOURNAL_SUFFIX}")):
            shutil.rmtree(self.path, ignore_errors=True)  # it was empty when this start took it
        elif set(safe_files.names_in(self.path, self.path)) <= _OF_A_REFUSED_START:
            with suppress(OSError):  # what cannot be removed is clutter, and hides the reason if it is an error
                for name in ("artifacts", _STAGING):
                    shutil.rmtree(self.path / name, ignore_errors=True)
                for name in (INDEX_NAME, LOCK_NAME):
                    (self.path / name).unlink(missing_ok=True)
                self.path.rmdir()


@contextmanager
def held_to_read(path: Path) -> Iterator[None]:
    """Keep others from writing to a run folder while it is read; on a read-only file system nobody can.

    Raises: as `RunFolder.open`.
    """
    try:
        run = RunFolder.open(path)
    except StorageError as error:
        if not isinstance(error.__cause__, OSError) or error.__cause__.errno != errno.EROFS:
            raise
        run = RunFolder(path, None, durability=Durability.none, redactor=NO_SECRETS)
    with run:
        yield


def _refusal(error: BaseException | None) -> str | None:
    """What a refused start says; None = it ended in another way."""
    if isinstance(error, BaseExceptionGroup):
        said = [_refusal(one) for one in error.exceptions]
        return None if None in said else "\n".join(filter(None, said))
    return str(error) if isinstance(error, UsageError) else None


def _is_of_storage(error: BaseException | None) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_of_storage, error.exceptions))
    return isinstance(error, StorageError)


def lock_token(folder: Path) -> str:
    """The content of a run folder's lock file, or ""; unique per invocation, so equal texts mean one folder."""
    try:
        # Nobody has to say whether a disk is shared: equal contents at equal paths are one folder.
        return safe_files.read(folder / LOCK_NAME, most=safe_files.MAX_SIDE_FILE_BYTES).decode()
    except (OSError, JournalError, UnicodeDecodeError):
        return ""


def journal_name(task_id: str, trial: int = 0) -> str:
    """File name of a journal; refuses ids that could mean another file or folder."""
    if not can_name(task_id):
        raise TaskError(
            f"task_id {task_id!r} cannot name a file: use 1 to 200 letters, digits, '.', '_' or '-', "
            "not starting with '.' and not ending in '.trial-' and a number"
        )
    return name_of(task_id, trial)


def stored(run: Path, kind: str) -> Iterator[Path]:
    """What lies in `artifacts` or `private/checkpoints` of a run folder, whatever its name.

    Raises:
        UnsafeFile: One of the folders is a link, or something else.
    """
    for first in safe_files.names_in(run / kind, run):
        if len(first) == 2:
            folder = run / kind / first
            yield from (folder / name for name in safe_files.names_in(folder, run))


def named_digests(folder: Path) -> set[bytes]:
    """Every digest that occurs in a journal or in `run.json`, in hex."""
    found: set[bytes] = set()
    for path in (*(Path(entry.path) for entry in journals_in(folder)), folder / "run.json"):
        with translate_os_errors(path, "read"):
            # Not by a fold, which would miss what only a torn line, or a line of a newer version, refers to.
            found.update(_DIGEST.findall(safe_files.read_if_there(path, most=safe_files.MAX_BYTES) or b""))
    return found


def check_shape(folder: Path) -> None:
    """See that what a run reads and writes in `open_folder` are files and folders of its own.

    Raises:
        UnsafeFile: One of them is a link, a FIFO, a device, or a file with other names. Journals are for `scan` to see.
    """
    for name in FOLDERS:
        safe_files.check_folder(folder / name, folder)
    for name in FILES:
        safe_files.check_file(folder / name)


def _empty(staging: Path, run: Path) -> None:
    for name in safe_files.names_in(staging, run):
        try:
            safe_files.remove(staging / name, below=run)
        except IsADirectoryError as exc:
            raise UnsafeFile(staging / name, "is a folder, but a run has only temporary files of this name") from exc
