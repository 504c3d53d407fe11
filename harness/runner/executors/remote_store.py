"""Reads and writes of a worker that cannot reach the run folder: the worker's side and the server in the supervisor.

The rule of the journal also holds here: a record is on disk, fsynced by the process that holds the run folder, before
the worker's `append` returns, and an artifact before its digest is returned. The requests of one worker are processed
in order, in a separate thread, so a slow disk does not block other messages. The journals of a lost worker are
closed before its jobs are assigned again.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from hashlib import sha256
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from harness.api import Artifacts
from harness.codec import decode, encode
from harness.episode.recorder import JournalWriter
from harness.errors import JournalError
from harness.journal.fold import fold
from harness.journal.log import Journal
from harness.journal.store import ArtifactStore, RunFolder
from harness.protocols import StagedArtifact, StagingArtifacts
from harness.records import Episode, Record
from harness.runner.executors.ipc import encode_message
from harness.runner.executors.worker_messages import (
    AppendRecord,
    CloseJournal,
    ErrorInfo,
    MeasureArtifact,
    OpenJournal,
    PutArtifact,
    ReadArtifact,
    StoreReply,
    StoreRequest,
)
from harness.secrets.redaction import NO_SECRETS, Redactor

_KNOWN_LIMIT = 4096


class Store(Protocol):
    """Where episodes are kept, near or far."""

    @property
    def artifacts(self) -> StagingArtifacts: ...

    @property
    def checkpoints(self) -> Artifacts: ...

    @property
    def redactor(self) -> Redactor:
        """Of the run, for what is written elsewhere."""
        ...

    def journal(self, task_id: str, trial: int = 0) -> AbstractContextManager[JournalWriter]: ...


class StoreServer:
    """Does what one worker asks of the run folder; beside its supervisor."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._journals: dict[int, Journal] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(cancel_futures=True)  # a write under way ends first: its journal is closed below
        for journal in self._journals.values():
            journal.close()

    async def answer(self, request: StoreRequest, data: bytes | None) -> bytes:
        """The reply to one request, once what it asks is done for good.

        Raises:
            UsageError, JournalError: As when writing to the run folder directly.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, request, data or b"")

    def _answer(self, request: StoreRequest, data: bytes) -> bytes:
        reply, after = StoreReply(id=request.id), None
        match request:
            case OpenJournal(id=number, task_id=task_id, trial=trial):
                journal = self._journals[number] = self._run.journal(task_id, trial)
                # A body is JSON on one line, so a line end separates two of them.
                after = b"\n".join(journal.bodies())
            case AppendRecord(journal=number):
                after = self._append(self._journals[number], data)
            case CloseJournal(journal=number):
                self._journals.pop(number).close()
            case PutArtifact(private=private):
                reply = replace(reply, digest=self._artifacts(private=private).put(data))
            case ReadArtifact(private=private, digest=digest):
                try:
                    after = self._artifacts(private=private).read(digest)
                except JournalError as error:
                    # For the worker, as beside the folder: a damaged artifact costs its own task, and not the run.
                    reply = replace(reply, error=ErrorInfo.of(error))
            case MeasureArtifact(private=private, digest=digest):
                reply = replace(reply, size=self._artifacts(private=private).size(digest))
        return encode_message(reply, after)

    def _append(self, journal: Journal, body: bytes) -> bytes | None:
        """Append; gives the record as it was folded when that is not as it was sent."""
        journal.append(decode(body))
        assert journal.newest is not None
        kept = encode(journal.newest).body
        return None if kept == body else kept

    def _artifacts(self, *, private: bool) -> ArtifactStore:
        return self._run.checkpoints if private else self._run.artifacts


class StoreReceived(NamedTuple):
    """A reply, and the bytes after it."""

    reply: StoreReply
    data: bytes | None


class RpcClient(Protocol):
    """Sends a request and waits for its reply."""

    def __call__(self, request: Callable[[int], StoreRequest], data: bytes | None = None) -> StoreReceived:
        """`request` makes it, given the number it has."""
        ...


class RemoteStore:
    """The run folder for a worker that cannot reach it; implements `Store`."""

    def __init__(self, ask: RpcClient, redactor: Redactor = NO_SECRETS) -> None:
        self._ask = ask
        self.redactor = redactor
        self.artifacts = RemoteArtifacts(ask, redactor=redactor)
        self.checkpoints = RemoteArtifacts(ask, redactor=None)

    def journal(self, task_id: str, trial: int = 0) -> "RemoteJournal":
        """Have the journal of one task and trial opened; locked until closed."""
        reply, bodies = self._ask(lambda number: OpenJournal(id=number, task_id=task_id, trial=trial))
        return RemoteJournal(
            bodies.split(b"\n") if bodies else (),
            append=lambda body: self._ask(lambda number: AppendRecord(id=number, journal=reply.id), body).data,
            close=lambda: self._ask(lambda number: CloseJournal(id=number, journal=reply.id)),
        )


class RemoteJournal:
    """A journal that is open in the supervisor; implements `JournalWriter`."""

    def __init__(
        self, bodies: Iterable[bytes], *, append: Callable[[bytes], bytes | None], close: Callable[[], object]
    ) -> None:
        self.episode = Episode()
        self.written = 0
        self._append = append
        self._close = close
        for body in bodies:
            self.episode = fold(self.episode, decode(body))

    def append(self, record: Record) -> Episode:
        """Have one record appended; returns when it is durable."""
        body = encode(record).body
        kept = self._append(body)
        self.written += len(body)
        self.episode = fold(self.episode, decode(kept or body))
        return self.episode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


class RemoteArtifacts:
    """Artifacts kept elsewhere; the same bytes travel once, as long as they are remembered."""

    def __init__(self, ask: RpcClient, *, redactor: Redactor | None) -> None:
        """`redactor`: as of the store that is asked; None = of what is private."""
        self._ask = ask
        self._private = redactor is None
        self._redactor = redactor
        self._known: dict[bytes, str] = {}
        """Hash of what was sent to the name of what was kept; they differ when a secret was taken out."""

    def put(self, data: bytes) -> str:
        own = sha256(data).digest()
        if (digest := self._known.get(own)) is None:
            reply, _ = self._ask(lambda number: PutArtifact(id=number, private=self._private), data)
            assert reply.digest is not None
            digest = reply.digest
            if len(self._known) >= _KNOWN_LIMIT:
                self._known.clear()
            self._known[own] = digest
        return digest

    def stage(self, data: bytes) -> StagedArtifact:
        """It is durable there at once."""
        digest = self.put(data)
        stored = data if self._redactor is None else self._redactor.data(data)
        return StagedArtifact(digest=digest, data=stored, settle=lambda: None)

    def size(self, digest: str) -> int:
        reply, _ = self._ask(lambda number: MeasureArtifact(id=number, private=self._private, digest=digest))
        return reply.size

    def read(self, digest: str) -> bytes:
        reply, data = self._ask(lambda number: ReadArtifact(id=number, private=self._private, digest=digest))
        if reply.error is not None:
            raise reply.error.error()
        return data or b""
