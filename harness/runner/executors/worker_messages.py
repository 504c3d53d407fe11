"""The messages between a supervisor and a worker process; `ipc` encodes them.

The worker requests jobs and permits, reports progress and sends heartbeats; the supervisor answers and may request a
shutdown. A worker that cannot reach the run folder also sends its reads and writes (`remote_store`), and an agent may
ask what hosts the run. The bytes of a record, an artifact or a question follow their message unchanged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from harness import errors
from harness.episode.job import Job
from harness.errors import HarnessError, said_by
from harness.journal.index import EpisodeResult
from harness.llm.permits import PermitCall, PermitReply
from harness.llm.prices import Price
from harness.protocols import ProgressEvent

_ERRORS = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, HarnessError)
}


_PLAIN = (str, int, float, bool, Path, type(None))
"""What attributes of this package's errors are; those of a plug-in's class may be anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInfo:
    """An error of this package on its way to another process, where it has the same type, sentence and attributes."""

    type: str
    sentence: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, error: HarnessError) -> Self:
        # A class of a plug-in travels as the nearest one that the other side knows. Not pickled: that would run what
        # another process sent.
        known = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _ERRORS)
        attributes = {name: value for name, value in vars(error).items() if isinstance(value, _PLAIN)}
        return cls(type=known, sentence=said_by(error), attributes=attributes)

    def error(self) -> HarnessError:
        kind = _ERRORS[self.type] if self.type in _ERRORS else errors.UsageError
        error = kind.__new__(kind, self.sentence)  # its own `__init__` would compose the sentence anew
        for name, value in self.attributes.items():
            setattr(error, name, Path(value) if name == "path" else value)
        return error


# --- from the supervisor


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """Comes first, and keeps its shape: a worker of another version can read it, and says so."""

    kind: ClassVar[str] = "hello"

    harness: str
    """Version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetup:
    """What a worker is made from; it touches no disk, so keys may be in it."""

    kind: ClassVar[str] = "setup"

    number: int
    """Of the worker."""
    lanes: int
    config: Mapping[str, Any]
    """As `Config.tree` gives it."""
    config_digest: str
    prices: Mapping[str, Price]
    """Of the model under test, as `llm.prices` has them."""
    secrets: Mapping[str, str]
    """Of tasks, by the name they are replaced with."""
    readable: tuple[str, ...]
    """Names of secrets that are not taken out."""
    folder: str
    """Of the run."""
    lock_token: str | None
    """What its lock holds, by which a worker knows whether it sees the same folder."""
    sites_port: int | None
    base_url: str | None
    """Of the scripted endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveJob:
    """The answer to `TakeJob`; whole, as a worker may be where the task file is not. None = nothing is left."""

    kind: ClassVar[str] = "job"

    lane: int
    job: Job | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StopWorker:
    """Finish the current steps, and begin nothing."""

    kind: ClassVar[str] = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReply:
    """The answer to a request of `remote_store`, with what was read after it."""

    kind: ClassVar[str] = "reply"

    id: int
    digest: str | None = None
    size: int = 0
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAnswer:
    """The answer to `HostQuestion`, whose bytes follow."""

    kind: ClassVar[str] = "host_answer"

    id: int
    error: ErrorInfo | None = None


# --- from the worker


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeJob:
    kind: ClassVar[str] = "take"

    lane: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleJob:
    """A lane is done with its job, for good or for now."""

    kind: ClassVar[str] = "settle"

    lane: int
    over: bool
    alone: bool
    """See `Job.alone`."""
    site_down: bool = False
    """A site of its was gone."""
    outcome: EpisodeResult | None = None
    """What its journal holds now; None = nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progressed:
    kind: ClassVar[str] = "news"

    event: ProgressEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class HostQuestion:
    """An agent asks what hosts the run; the question follows."""

    kind: ClassVar[str] = "host_question"

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DropQuestion:
    """The agent does not wait for `HostAnswer` any more."""

    kind: ClassVar[str] = "drop_question"

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """What the process did so far."""

    kind: ClassVar[str] = "beat"

    browser_starts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDone:
    """Nothing is left, and the process ends."""

    kind: ClassVar[str] = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFailed:
    """The run has to stop."""

    kind: ClassVar[str] = "failed"

    error: ErrorInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenJournal:
    """Open and lock a journal; `id` names it from then on."""

    kind: ClassVar[str] = "open"

    id: int
    task_id: str
    trial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRecord:
    kind: ClassVar[str] = "append"

    id: int
    journal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseJournal:
    kind: ClassVar[str] = "close"

    id: int
    journal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PutArtifact:
    kind: ClassVar[str] = "put"

    id: int
    private: bool
    """Among the checkpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadArtifact:
    kind: ClassVar[str] = "read"

    id: int
    private: bool
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureArtifact:
    kind: ClassVar[str] = "measure"

    id: int
    private: bool
    digest: str


StoreRequest = OpenJournal | AppendRecord | CloseJournal | PutArtifact | ReadArtifact | MeasureArtifact
HostRequest = HostQuestion | DropQuestion
WorkerMessage = (
    TakeJob | SettleJob | Progressed | HostRequest | Heartbeat | WorkerDone | WorkerFailed | StoreRequest | PermitCall
)
SupervisorMessage = Hello | WorkerSetup | GiveJob | StopWorker | HostAnswer | StoreReply | PermitReply
Message = WorkerMessage | SupervisorMessage


class Received(NamedTuple):
    """A message, and the bytes after it."""

    message: Message
    data: bytes | None = None
