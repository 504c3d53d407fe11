"""The lines of a journal, each with its `kind`, and what they are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

# A `decided` line holds an action, so actions are below records.
from harness.actions import Action
from harness.records.doubts import Doubt
from harness.records.observation import Observation, PendingTimer
from harness.records.optional import optional
from harness.records.process_lines import Answered, Asked, Commanded, Diverged, Exited, Landed, PolicyViolation
from harness.records.task import HtmlTarget, Reference, Task
from harness.records.usage import Usage


class CloseReason(StrEnum):
    """Why the agent's work on an attempt has ended."""

    STOPPED = "STOPPED"
    """The agent said so."""
    MAX_STEPS = "MAX_STEPS"
    """`limits.max_steps`."""
    PARSE_FAILURES = "PARSE_FAILURES"
    """`limits.parsing_failures` unreadable replies in a row."""
    REPEATED = "REPEATED"
    """`limits.repeated_actions` equal actions."""
    BUDGET = "BUDGET"
    """A limit of tokens, cost, time or disk."""
    DONE = "DONE"
    """The benchmark ended the episode."""


class Status(StrEnum):
    """Whether there is a verdict."""

    OK = "OK"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """The origin of an attempt: its steps up to `step` were recorded by another run, and cost nothing here."""

    run: str
    """Name of the other run's folder."""
    trial: int
    attempt: int
    step: int
    """Last inherited step; 0 = only the start page."""
    origin: str
    """Digest of the inherited lines: forks with the same one begin alike."""
    same_model: bool = optional(True)
    """Whether all runs that the steps are from, and this one, ask the same model by the same interface, so that turns
    can be given back in its own form. Where the agent's memory says whose a turn is, that decides.
    """
    late: int | None = optional(None)
    """How many of the inherited lines are `late`; None = a fork of before they were counted."""
    doubts: int | None = optional(None)
    """How many of them are `doubt`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An attempt begins. The journal explains itself: it holds the complete task."""

    kind: ClassVar[str] = "opened"
    attempt: int
    """1-based."""
    # A default is for code only: a line that lacks the field is refused, unless the field is `optional`.
    why: str = "first"
    """`first`, `fork` (it begins with steps of another run), `diverged` (a restore failed), `moved` (to other instances
    of its sites) or `retry` (by `run.retry`).
    """
    trial: int
    """0-based."""
    task: Task
    task_digest: str
    # The settings are an artifact of this name: a second file of them could disagree with it.
    config_digest: str
    seed: int
    instances: Mapping[str, str] = field(default_factory=dict)
    """Site to the real base URL of this attempt, for sites with several instances."""
    # By the bytes that were sent, so that a resume shows the same pictures.
    images: tuple[str, ...] = optional(())
    """Artifact hashes of the task's pictures as the agent is sent them, in the task's order."""
    files: Mapping[str, str] = optional(factory=dict)
    """Further files that the benchmark asked for: address or path to artifact hash."""
    fork: Fork | None = optional(None)  # noqa: RUF009 (a field)
    """Whose steps it begins with: those in the lines after this one, or, in a further attempt, those of the attempt
    before.
    """
    at: float
    """Seconds since the epoch, UTC; so in every record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The agent's decision, durable before the action runs."""

    kind: ClassVar[str] = "decided"
    step: int
    """1-based within the attempt."""
    action: Action
    """Its target already resolved against the observation decided upon."""
    reply: str
    """The model's text, verbatim."""
    prompt: tuple[str, ...]
    """Artifact hashes of the messages sent, in order; each artifact is one JSON message."""
    model: str
    usage: Usage
    effects_seen: Mapping[str, str] = field(default_factory=dict)
    """Site to what its `effects_url` answered just before this decision was recorded, for sites that have one."""
    # In the line of the action that it led to, so that neither is on the disk without the other.
    memory: Any = None
    """JSON value the agent keeps until its next decision; null = nothing."""
    finish_reason: str = optional("")
    """`length`, `content_filter` or `refusal`: the reply was not finished, and was not read as an action."""
    response: str | None = optional(None)
    """Artifact hash of the endpoint's answer as it came, which the decision was read from."""
    request: str | None = optional(None)
    """Artifact hash of what was sent beside the messages: tools and parameters; with `prompt`, the whole request."""
    request_id: str = optional("")
    """The provider's name for the request that was answered so; "" = it gave none."""
    earlier_responses: tuple[str, ...] = optional(())
    """Artifact hashes of answers to earlier requests of this step, in order."""
    # Every artifact that a run needs is named in a journal: `harness clean` reads no artifact to find others.
    pictures: tuple[str, ...] = optional(())
    """Artifact hashes of the pictures in `prompt`, each once; the messages name them by these."""
    # Recorded, as a counter in memory would begin anew with each resume.
    asked: tuple[str, ...] = optional(())
    """Digests of the requests of this step, in order, when the reply cache was on: those of an attempt say which
    occurrence the next equal one is."""
    unsent: bool = optional(False)
    """The browser was lost while the model answered: the action was not sent to any site."""
    counted: Usage = optional(Usage())  # noqa: RUF009 (a field)
    """How much of `usage` earlier `replied` records of the step count already."""
    elapsed_ms: float
    at: float

    @property
    def is_cached(self) -> bool:
        """Whether a reply came from the reply cache, so that `elapsed_ms` says nothing about the model."""
        return self.usage.from_cache > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """A reply to one of several requests of a decision, durable before the next of them is sent: it was paid for.

    The only reply of a decision, and the last of several, are in its `decided`.
    """

    kind: ClassVar[str] = "replied"
    step: int
    """Number of the decision that was not made yet."""
    key: str
    """Digest of what was asked, of whom, and how often the decision had asked it before: it is not asked again."""
    model: str
    """As the endpoint named it."""
    usage: Usage
    response: str
    """As `Decided.response`."""
    request: str | None = optional(None)
    """As `Decided.request`."""
    request_id: str = optional("")
    """As `Decided.request_id`."""
    asked: tuple[str, ...] = optional(())
    """As `Decided.asked`."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The action was performed."""

    kind: ClassVar[str] = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The action could not be performed; the agent is shown why."""

    kind: ClassVar[str] = "refused"
    why: str
    """The reason, in a sentence for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """The run was interrupted while the action was performed, and it was not performed again."""

    kind: ClassVar[str] = "unknown"
    why: str
    """What the agent is shown; "" = nothing."""


Outcome = Done | Refused | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffect:
    """A non-safe HTTP request (not GET, HEAD or OPTIONS) a page sent during a step."""

    method: str
    url: str
    """Canonical."""
    status: int | None
    """None = no response was seen."""
    refused: bool = optional(False)
    """No connection could be made for it; false also where this was not known yet when it was recorded."""
    by_load: bool = optional(False)
    """A page that the step opened sent it, and not the action itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """What an action led to. Step 0 is the arrival at the start pages, before any decision."""

    kind: ClassVar[str] = "acted"
    step: int
    outcome: Outcome
    observation: Observation
    effects: tuple[SideEffect, ...] = ()
    checkpoint: str | None = None
    """Artifact hash of the context's storage state, when it changed during the step."""
    timers: tuple[PendingTimer, ...] = optional(())
    """Of the tabs as each was last observed; a checkpoint opens their pages again without them."""
    intent: str = optional("")
    """Of step 0: the objective that the benchmark gave to the agent; "" = the task's own."""
    # In this line, as a kill could come between `acted` and a record of its own.
    reward: float | None = optional(None)
    """What the benchmark gave for it; None = it gives none."""
    done: bool = optional(False)
    """The benchmark ended the episode with it."""
    matched: tuple[str, ...] | None = optional(None)
    """Those of `Task.selectors` that fitted an element that the action was aimed at, just before it; None = the task
    has none, the action was aimed at no element, or it could not be found out."""
    elapsed_ms: float
    """Acting, settling and observing, monotonic."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """The browser was led back to where the journal ends."""

    kind: ClassVar[str] = "resumed"
    step: int
    """Last step that was restored."""
    strategy: str
    """`replay` or `checkpoint`."""
    similarity: tuple[float, ...]
    """Per compared observation, 1.0 = identical text."""
    reset: tuple[str, ...] = ()
    """Sites that were at their seed when this began."""
    elapsed_ms: float
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """Effects that were seen after the record of the step that may have caused them."""

    kind: ClassVar[str] = "late"
    step: int
    """Last recorded step when they were seen."""
    effects: tuple[SideEffect, ...]
    replayed: bool = optional(True)
    """Whether a replay of the steps sends them, too; false = they are of pages that a restore opened again, or of an
    action that was interrupted.
    """
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What a `program_html` target or a probe selected from the page, gathered before Closed."""

    index: int
    """Position in the task's `program_html`, or behind it in its `probes`."""
    url: str
    """Canonical URL the text was taken from."""
    content: str | None
    """Artifact hash of the JSON value selected (page HTML as a JSON string); None when there is none."""
    error: str = ""
    """Why the value is missing or doubtful: an evaluator error, not an empty text. WebArena uses the value anyway.
    """
    last_content: str | None = None
    """For a `last` target that follows a navigating one: what WebArena's own order would have selected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that scoring needs, so that it never needs a browser."""

    url: str
    """Canonical URL of the agent's page."""
    title: str
    """Of the page after the last action."""
    html: str | None
    """Artifact hash of the page's HTML."""
    selected: tuple[Selected, ...] = ()
    """What the `program_html` targets of the task selected from pages."""
    trace: str | None = None
    """Artifact hash of the network trace, a HAR; None when none was recorded (`browser.har`)."""
    reward: float | None = optional(None)
    """The last reward of the attempt; None = there was none."""
    benchmark: str | None = optional(None)
    """Artifact hash of the JSON value that the benchmark kept; None = it kept none."""
    kept: tuple[str, ...] = optional(())
    """Artifact hashes of what that value refers to, as pictures of the page."""
    trajectory: str | None = optional(None)
    """Artifact hash of the JSON list of `TrajectoryStep`; kept where an evaluator of the task asks a judge."""
    blocked: tuple[str, ...] = optional(())
    """Captcha and block pages of a live site, a sentence each: an episode that they end is unscored, not failed."""
    actions: int | None = optional(None)
    """Actions that the attempt performed before it ended; None = not recorded, as by older versions."""
    # Kept, as places in the list move when a reference is corrected.
    targets: tuple[HtmlTarget, ...] | None = optional(None)
    """The `program_html` that `selected` was gathered for; None = that of the attempt's task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The agent's work on this attempt has ended."""

    kind: ClassVar[str] = "closed"
    reason: CloseReason
    """Why."""
    detail: str
    """The stop reason in WebArena's words when it was not the agent's own, else ""."""
    answer: str
    """The agent's; "" = none."""
    evidence: Evidence
    """What the episode is scored by."""
    at: float
    """Unix time in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """An infrastructure failure. Does not close: the episode stays pending."""

    kind: ClassVar[str] = "failed"
    attempt: int
    boundary: str
    """Where it crossed: `restore`, `decide`, `act`, `gather` or `worker`."""
    type: str
    """Name of the error class."""
    message: str
    effects: tuple[SideEffect, ...] = ()
    """Effects seen since the last record."""
    usage: Usage = optional(factory=Usage)  # noqa: RUF009 (a field)
    """Of requests that were answered for a decision which was not made."""
    unsent: bool = optional(False)
    """The pending action was surely not sent to any site: it was not begun, or none of its requests found a connection.
    """
    shared: bool = False
    """Other episodes failed with it in the same browser, so the cause is unknown, or the run was stopping; it uses up
    no attempt.
    """
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One evaluator's word on the evidence."""

    evaluator: str
    """`string_match`, `url_match` or `program_html`."""
    status: Status
    value: float | None
    """In [0, 1]; None exactly when `status` is ERROR."""
    why: str
    usage: Usage = field(default_factory=Usage)
    """What a judge cost."""
    replies: tuple[str, ...] = ()
    """A judge's replies, verbatim."""
    judge: str = optional("")
    """Name of the judge that was asked; "" = none was, or an older version did not write it."""
    prompt: str = optional("")
    """Digest of the prompt it was asked with: the measured error of a judge belongs to both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A judge's reply, durable before a verdict is drawn from it: it was paid for."""

    kind: ClassVar[str] = "judged"
    key: str
    """Digest of what was asked, of whom, and for `fuzzy_match` in which dialect."""
    reply: str
    """Verbatim."""
    model: str
    usage: Usage
    response: str | None = optional(None)
    """Artifact hash of the endpoint's answer as it came."""
    prompt: tuple[str, ...] = optional(())
    """Artifact hashes of the messages sent, where an evaluator of a benchmark made them."""
    pictures: tuple[str, ...] = optional(())
    """Artifact hashes of the pictures in `prompt`, each once."""
    asked: tuple[str, ...] = optional(())
    """As `Decided.asked`."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The product of all verdicts, in one dialect."""

    kind: ClassVar[str] = "scored"
    dialect: str
    """`webarena` or `corrected`."""
    evaluator_version: str
    status: Status
    value: float | None
    """In [0, 1]; None exactly when `status` is ERROR."""
    # In one line, as a kill between two lines would leave half a score.
    verdicts: tuple[Verdict, ...]
    reference: Reference | None = optional(None)  # noqa: RUF009 (a field)
    """What it was scored with in place of the reference of the attempt's task; None = that one."""
    at: float


ProcessRecord = Asked | Answered | Commanded | Landed | Diverged | Exited | PolicyViolation
Record = Opened | Replied | Decided | Acted | Resumed | Late | Doubt | Closed | Failed | Judged | Scored | ProcessRecord
"""One line of a journal."""
