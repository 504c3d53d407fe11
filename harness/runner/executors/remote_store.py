"""Writes and reads for a worker that cannot reach the run folder itself, and the worker's side of it.

The rule of the journal holds over the distance: a record is on disk, fsynced by whoever holds the run folder, before
the worker's `append` returns, and so is an artifact before its digest is known. What one worker asks is done in the
order it was asked, in a thread of its own, so that a slow disk stops nobody from being heard. A worker that is lost
leaves its journals as they stand; they are let go of before anybody else is given its jobs.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from hashlib import sha256
from types import TracebackType
from typing import Any, Protocol, Self

from harness.api import Artifacts
from harness.codec import decode, encode
from harness.errors import JournalError
from harness.journal.fold import fold
from harness.journal.log import Journal
from harness.journal.store import RunFolder
from harness.records import Episode, Record
from harness.runner.executors.ipc import encode_message
from harness.runner.recorder import JournalWriter

REQUESTS = frozenset({"open", "append", "close", "put", "read"})
"""Messages that are for a desk."""
_KNOWN_LIMIT = 4096


class Store(Protocol):
    """Where episodes are kept, near or far."""

    @property
    def artifacts(self) -> Artifacts: ...

    @property
    def checkpoints(self) -> Artifacts: ...

    def journal(self, task_id: str, trial: int = 0) -> AbstractContextManager[JournalWriter]: ...


class StoreServer:
    """Does what one worker asks of the run folder; beside its supervisor."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._journals: dict[int, Journal] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="desk")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(cancel_futures=True)
        for journal in self._journals.values():
            journal.close()

    async def answer(self, message: dict[str, Any]) -> bytes:
        """The reply to one message of `REQUESTS`, once what it asks is done for good.

        Raises:
            UsageError, JournalError: As whoever writes to the run folder directly.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, message)

    def _answer(self, message: dict[str, Any]) -> bytes:
        number = message["id"]
        match message["kind"]:
            case "open":
                journal = self._journals[number] = self._run.journal(message["task_id"], message["trial"])
                return encode_message("reply", b"\n".join(journal.bodies()), id=number)
            case "append":
                kept = self._append(self._journals[message["journal"]], message["data"])
                return encode_message("reply", kept, id=number)
            case "close":
                self._journals.pop(message["journal"]).close()
                return encode_message("reply", id=number)
            case "put":
                return encode_message("reply", id=number, digest=self._artifacts(message).put(message["data"]))
            case _:
                return self._read(message)

    def _append(self, journal: Journal, body: bytes) -> bytes | None:
        """Append; gives the record as it was kept when that is not as it was sent, secrets having been taken out."""
        journal.append(decode(body))
        assert journal.newest is not None
        kept = encode(journal.newest).body
        return None if kept == body else kept

    def _read(self, message: dict[str, Any]) -> bytes:
        try:
            return encode_message("reply", self._artifacts(message).read(message["digest"]), id=message["id"])
        except JournalError as error:
            return encode_message("reply", id=message["id"], error=str(error))

    def _artifacts(self, message: dict[str, Any]) -> Artifacts:
        return self._run.checkpoints if message["private"] else self._run.artifacts


class RpcClient(Protocol):
    """Asks the desk and waits for its reply."""

    def __call__(self, kind: str, data: bytes | None = None, **values: Any) -> dict[str, Any]: ...


class RemoteStore:
    """The run folder as a worker sees it that cannot reach it; fits `Store`."""

    def __init__(self, ask: RpcClient) -> None:
        self._ask = ask
        self.artifacts = RemoteArtifacts(ask, private=False)
        self.checkpoints = RemoteArtifacts(ask, private=True)

    def journal(self, task_id: str, trial: int = 0) -> "RemoteJournal":
        """Have the journal of one task and trial opened; locked until closed."""
        opened = self._ask("open", task_id=task_id, trial=trial)
        return RemoteJournal(
            opened["data"].split(b"\n") if opened["data"] else (),
            append=lambda body: self._ask("append", body, journal=opened["id"]).get("data"),
            close=lambda: self._ask("close", journal=opened["id"]),
        )


class RemoteJournal:
    """A journal open elsewhere; fits `JournalWriter`."""

    def __init__(
        self, bodies: Iterable[bytes], *, append: Callable[[bytes], bytes | None], close: Callable[[], object]
    ) -> None:
        self.episode = Episode()
        self._append = append
        self._close = close
        for body in bodies:
            self.episode = fold(self.episode, decode(body))

    def append(self, record: Record) -> Episode:
        """Have one record appended; returns when it is durable."""
        body = encode(record).body
        kept = self._append(body)
        self.episode = fold(self.episode, decode(kept or body))
        return self.episode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


class RemoteArtifacts:
    """Artifacts kept elsewhere; the same bytes travel once, as long as they are remembered."""

    def __init__(self, ask: RpcClient, *, private: bool) -> None:
        self._ask = ask
        self._private = private
        self._known: dict[bytes, str] = {}
        """Hash of what was sent to the name of what was kept; they differ when a secret was taken out."""

    def put(self, data: bytes) -> str:
        own = sha256(data).digest()
        if (digest := self._known.get(own)) is None:
            digest = str(self._ask("put", data, private=self._private)["digest"])
            if len(self._known) >= _KNOWN_LIMIT:
                self._known.clear()
            self._known[own] = digest
        return digest

    def read(self, digest: str) -> bytes:
        reply = self._ask("read", digest=digest, private=self._private)
        if "error" in reply:
            raise JournalError(reply["error"])
        return bytes(reply["data"])
