"""The seams inside the package: what the runner needs from a browser, a scorer and a display.

Implementations never inherit from these; they only fit. What plug-ins implement is in `api`.
"""

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeVar, runtime_checkable

from harness.actions import Action
from harness.actions.truncate import cut
from harness.api import Artifacts, Decision, Reward
from harness.records import (
    Acted,
    Closed,
    DoubtResolution,
    Episode,
    Judged,
    LiveObservation,
    Message,
    Outcome,
    Record,
    Scored,
    SeenElement,
    SideEffect,
    Task,
    Usage,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What an action led to, before it is written."""

    outcome: Outcome
    view: LiveObservation
    effects: tuple[SideEffect, ...] = ()
    checkpoint: bytes | None = None
    """The context's storage state as JSON, when it changed during the step."""
    doubt: str = ""
    """Why the sites may not be as without an interruption: it was interrupted before and may have changed a site twice,
    or it left a page whose timer was to fire; "" = they are."""
    reward: Reward | None = None
    """The benchmark's; None = it gave none."""
    matched: tuple[str, ...] | None = None
    """See `Acted.matched`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """The page that a restore led back to."""

    view: LiveObservation
    strategy: str
    """`reset` when there was nothing to restore, else `replay` or `checkpoint`."""
    similarity: tuple[float, ...] = ()
    """Per compared observation; 1.0 = identical."""
    intent: str = ""
    """The objective of this attempt, where the benchmark makes it; "" = the task's own."""
    pending: Action | None = None
    """The pending decision's action, aimed at this view; None = there is none, or it is not to be performed."""
    doubt: "InDoubt | None" = None
    """What was done about a pending action that may have been performed before."""
    effects: tuple[SideEffect, ...] = ()
    """What the start pages sent, when there was nothing to restore."""
    sent: tuple[SideEffect, ...] = ()
    """What pages sent as they were opened again, on sites that were not reset; those that no record holds."""
    changed: str = ""
    """Why opening pages may have changed a site twice; "" = it may not."""
    typed_again: bool = False
    """Whether text was typed again, on a site that was not reset: what a page sends of it may have been sent before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InDoubt:
    """A pending action that may have reached its site before the interruption."""

    resolution: DoubtResolution
    why: str
    """A sentence for people."""
    notice: str = ""
    """A sentence for the agent; "" = none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetValue:
    """What one `program_html` target selected, before it is written."""

    index: int
    url: str
    value: Any = None
    """The JSON value the page or helper returned; a page's HTML is a str."""
    error: str = ""
    """Why there is no value, or why it should not be trusted; see `Selected.error`."""
    last_value: Any = None
    """See `Selected.last_content`; None = same rule, nothing special."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawEvidence:
    """The evidence, before it is written."""

    url: str
    title: str
    html: str
    selections: tuple[TargetValue, ...] = field(default_factory=tuple)
    trace: bytes | None = None
    """The network trace as a HAR in JSON, fit to be kept; None when none was recorded."""
    benchmark: bytes | None = None
    """What the benchmark kept, as JSON; None = nothing."""
    blocked: tuple[str, ...] = ()
    """See `Evidence.blocked`."""
    kept: tuple[bytes, ...] = ()
    """What that refers to by its hash."""
    doubt: str = ""
    """See `StepResult.doubt`."""


class Environment(Protocol):
    """One browser context on one lane's sites, for one episode."""

    async def restore(self, task: Task, episode: Episode, clean: Collection[str] = ()) -> RestoreResult:
        """Lead the browser to where the journal ends; with an empty journal, open the start pages.

        Args:
            clean: Names of the sites that are at their seed: whatever this attempt did there is gone.
        Raises:
            EnvironmentDiverged: The page reached is not the recorded one.
            ActionInDoubt: It is unknown whether the pending action was performed, and `resume.in_doubt=unscored`.
            InfraError: Browser or site gave way.
        """

    async def act(self, action: Action) -> StepResult:
        """Perform one action, settle, observe. A refused action is an outcome, not an exception.

        Raises:
            BrowserCrashed: Browser or page is gone or hangs.
        """

    async def gather(self, task: Task) -> RawEvidence:
        """Collect all evidence for the evaluators from the live pages; no request leaves the browser afterwards."""

    async def ask_sites(self, action: Action) -> Mapping[str, str]:
        """Site to the current answer of its `effects_url`, if set; {} for an action that changes nothing."""

    @property
    def is_lost(self) -> bool:
        """Whether it is known that browser or page is gone, so that no action reaches a site."""

    async def effects_begun(self) -> None:
        """Wait until an effect is seen that no record holds.

        During a restore, these are the effects of pages that are opened again on sites that were not reset.
        """

    def take_effects(self) -> tuple[SideEffect, ...]:
        """The effects seen that no record holds; each is given once."""


class DevToolsConnection(Protocol):
    """A client's connection to a browser, in which messages of the Chrome DevTools Protocol pass."""

    async def send(self, number: int, method: str, params: dict[str, Any], *, session: str = "") -> None:
        """Send a command.

        Args:
            number: Its id, under which it is answered.
            session: Of those that were opened in this connection; "" = the connection itself.
        Raises:
            ConnectionError: The connection is closed.
        """
        ...

    async def receive(self) -> bytes | None:
        """The next message of the browser; None = the connection is closed.

        Raises:
            ConnectionAbortedError: It was closed because too many messages were not received.
        """
        ...

    def close(self) -> None:
        """End it, with its sessions."""
        ...


class SharedBrowser(Protocol):
    """The browser of an episode as a process drives it itself, over CDP."""

    async def connect(self, target: str = "") -> "DevToolsConnection":
        """A connection to the whole browser: a relay limits what is passed on to `context`.

        Args:
            target: Id of the page that it is a connection to; "" = to the browser.
        Raises:
            ConnectionError: The browser is gone, or has no such target.
        """
        ...

    @property
    def context(self) -> str:
        """Id of the episode's browser context."""
        ...

    @property
    def targets(self) -> Sequence[str]:
        """Target ids of its tabs, in the order in which they were opened."""
        ...

    def navigable(self, url: str) -> str:
        """The real address of one that the process wants to open, which may be canonical.

        Raises:
            ActionFailed: It is none that an agent may open.
        """
        ...

    def upload(self, name: str) -> str:
        """Path of a file that may be uploaded. Raises ActionFailed: There is none of this name."""
        ...

    def canonical(self, text: str) -> str:
        """Text with the addresses of this deployment's sites replaced by canonical ones."""
        ...

    def check(self) -> None:
        """Raises: BrowserCrashed: The browser, or a page of the episode, is gone."""
        ...

    def state(self) -> Hashable:
        """Another value when a tab was opened or closed, or a page went to another document."""
        ...

    async def focus(self, target: str) -> None:
        """The process works in this tab: it is the one that is observed."""
        ...

    async def element(self, target: str, where: tuple[float, float] | int | None) -> SeenElement | None:
        """An element of a tab as it is now; None = there is none, or the page does not say soon.

        Args:
            where: (x, y) in CSS px of the viewport, a backendDOMNodeId, or None = the one that has the focus.
        """
        ...

    def clipboard(self) -> AbstractAsyncContextManager[None]:
        """Keys are pressed meanwhile that copy, cut or paste: the browser's clipboard is the episode's own.

        Raises:
            ActionFailed: It does not answer.
        """
        ...

    async def reported(self) -> None:
        """Wait until all that the browser has reported by now is known, what its pages have sent for instance."""
        ...

    def opening_tab(self) -> AbstractAsyncContextManager[None]:
        """A command that opens a tab is performed meanwhile: at the end the tab is one of the episode's."""
        ...

    async def follow(self, recorded: Acted, *, is_last: bool) -> RestoreResult:
        """Settle and observe after commands that were sent again, and compare with what they had led to.

        Args:
            is_last: It will be shown to a person.
        Raises:
            EnvironmentDiverged: The page is another one.
        """
        ...


class Guard(Protocol):
    """Keeps an agent from some addresses."""

    report: Callable[[str], None]
    """Hears, in words, of what the agent tried to reach in vain."""


@runtime_checkable
class GuardedEnvironment(Protocol):
    """An `Environment` in which some addresses cannot be opened."""

    guard: Guard


@runtime_checkable
class ShareableEnvironment(Protocol):
    """An `Environment` whose browser a process can drive."""

    async def share(self, performing: Callable[[], Awaitable[None]]) -> SharedBrowser:
        """Let a process drive the browser until the environment is closed.

        Args:
            performing: What an action of kind `cdp` waits for: that its commands were performed.
        """
        ...


class EnvironmentFactory(Protocol):
    """A started browser that hands out one fresh environment per episode."""

    def open(
        self, task: Task, lane: int, instances: Mapping[str, str] = ..., *, alone: bool = ...
    ) -> AbstractAsyncContextManager[Environment]:
        """One on the lane's sites; `instances` says of some of them where they are (site to real base URL).

        With `alone`, in a browser without other episodes. Without, its use raises `BrowserLost` if another episode may
        be the cause."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedArtifact:
    """An artifact whose file is complete, and may not be on the disk yet."""

    digest: str
    data: bytes
    """As it is stored: without secrets."""
    settle: Callable[[], None]
    """Waits until it is on the disk. Raises: StorageError: The disk refuses."""


class StagingArtifacts(Artifacts, Protocol):
    """Bytes by content hash, which need not be on the disk before something else is done."""

    def stage(self, data: bytes) -> StagedArtifact:
        """Store as `put` does; durable only after `StagedArtifact.settle`."""
        ...

    def size(self, digest: str) -> int:
        """Bytes of what is named `digest`; 0 = there is nothing."""
        ...


class SessionJournal(Protocol):
    """The journal of an episode as an agent sees it that writes records of its own."""

    @property
    def episode(self) -> Episode: ...

    @property
    def artifacts(self) -> StagingArtifacts: ...

    def now(self) -> float:
        """Seconds since the epoch, for records."""
        ...

    async def write(self, work: Callable[[], T]) -> T:
        """Do something in the thread that writes the journal, in the order of these calls."""
        ...

    async def keep(self, make: Callable[[], Record]) -> None:
        """Append a record, durably; making it stores its artifacts first."""
        ...

    def paying(self) -> AbstractAsyncContextManager[str | None]:
        """Reserve what is left of the budgets while a model is asked, and settle when its answer is recorded.

        While tokens or cost are limited, one request has all that is left: what it costs is known with its answer. The
        others wait.

        Returns:
            The budget that is spent, in words: nothing may be asked; None = there is something left of all of them.
        Raises:
            ShutdownRequested: The run is to stop.
        """
        ...


class AgentSession(Protocol):
    """An agent for one episode."""

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision | None:
        """See `Agent.decide`; None = nothing was decided, as a budget has been spent."""
        ...


@runtime_checkable
class DrivingSession(Protocol):
    """An `AgentSession` that drives the browser itself."""

    async def resume(self, task: Task, episode: Episode, restored: RestoreResult) -> RestoreResult:
        """Lead browser and agent to where the journal ends.

        Args:
            restored: The start page, where the journal holds steps that only the agent can perform again.
        Raises:
            EnvironmentDiverged: This did not lead there.
        """
        ...


@runtime_checkable
class SessionAgent(Protocol):
    """An agent that lasts as long as an episode is played, such as a process."""

    def session(self, journal: SessionJournal, env: Environment, /) -> AbstractAsyncContextManager[AgentSession]: ...


class JudgeReplies(Protocol):
    """What judges have said about one attempt: each reply is kept for good before anything depends on it."""

    def said(self, key: str) -> Judged | None: ...

    async def keep(self, judged: Judged, raw: bytes, messages: Sequence[Message] = ()) -> None:
        """`raw`: the endpoint's answer; its artifact becomes `Judged.response`, those of `messages` its prompt."""
        ...


class EpisodeScorer(Protocol):
    async def score(
        self, task: Task, closed: Closed, artifacts: Artifacts, recorded: JudgeReplies | None = None
    ) -> Scored:
        """Judge the evidence in one dialect; errors become `Status.ERROR`, never an exception.

        A judge is asked only what `recorded` has no reply to; None = nothing is known, nor kept.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReply:
    """An endpoint's answer as it is kept."""

    raw: bytes
    """The body, byte for byte."""
    request_id: str = ""
    """See `Reply.request_id`."""
    request: bytes = b""
    """See `Reply.request`."""


class ReplyStore(Protocol):
    """Replies by the digest of their request; never raises, as a run can do without."""

    def read(self, key: str) -> StoredReply | None: ...

    def write(self, key: str, reply: StoredReply) -> None: ...


class Progress(Protocol):
    """A listener for progress events; events are cheap, may be lost, and nothing depends on them."""

    def tell(self, event: "ProgressEvent") -> None: ...


MAX_EVENT_CHARS = 1000
"""Characters; longer texts are cut."""


class Phase(StrEnum):
    """What a lane can be doing."""

    restoring = "restoring"
    deciding = "deciding"
    acting = "acting"
    gathering = "gathering"
    scoring = "scoring"
    retrying = "retrying"
    waiting = "waiting"
    """For a site."""
    ended = "ended"
    idle = "idle"
    spending = "spending"
    """A model was asked while the lane does something else; only the usage is new."""
    stalled = "stalled"
    """No worker of a run that waits for jobs can be kept up now; `ProgressEvent.note` says why."""
    notice = "notice"
    """A sentence about the run as a whole, in `ProgressEvent.note`; the same one is shown once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent:
    """What one lane is doing now; its texts are cut, for a page or a model may have made them."""

    lane: int
    task_id: str
    """"" = whatever the lane is at."""
    trial: int = 0
    phase: Phase
    step: int = 0
    action: str = ""
    """History string of the last action."""
    note: str = ""
    """Why something is retried or failed, and for how long it waits."""
    usage: Usage = field(default_factory=Usage)
    """With phase `ended`: what the episode cost in this start."""
    score: float | None = None
    """With phase `ended`: the score; None = unscored."""

    def __post_init__(self) -> None:
        for name in ("action", "note"):
            object.__setattr__(self, name, cut(getattr(self, name), MAX_EVENT_CHARS))
