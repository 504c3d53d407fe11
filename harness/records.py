"""Everything the harness knows, as frozen records.

Task is what was asked; Opened, Decided, Acted, Resumed, Closed, Failed and Scored are the lines of a journal, each
with its `kind` tag; Episode is what the fold makes of them and is never written. Records hold no behaviour beyond
reading themselves. URLs in records are canonical (see `Site`), never those of one deployment.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from harness.actions.space import Action, Box

# --- tasks and sites ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlTarget:
    """One `program_html` target: where to look, what to select, what must be there."""

    url: str
    """`last`, a canonical URL, or `func:NAME(...)`."""
    locator: str = ""
    """"" (whole page), a `document…`/`[...document…` expression, or `func:NAME(...)`."""
    exact_match: str | None = None
    must_include: tuple[str, ...] | None = None
    prep_actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Eval:
    """How a task is judged (WebArena's `eval`)."""

    eval_types: tuple[str, ...]
    reference_answers: Mapping[str, Any] | None = None
    """Kind (`exact_match`, `must_include`, `fuzzy_match`) to reference; the order is meaningful."""
    reference_url: str | None = None
    url_note: str | None = None
    string_note: str = ""
    program_html: tuple[HtmlTarget, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task in WebArena's schema, placeholders expanded to canonical URLs."""

    task_id: str
    """Path-safe; WebArena's integers as decimal text."""
    sites: tuple[str, ...]
    intent: str
    start_urls: tuple[str, ...]
    """Opened in order, one tab each; the first is current."""
    eval: Eval
    require_login: bool = False
    storage_state: str | None = None
    """Absolute path of a storage state file, whose name also says which sites to log in to."""
    geolocation: Mapping[str, float] | None = None
    intent_template: str = ""
    intent_template_id: str = ""
    instantiation_dict: Mapping[str, Any] = field(default_factory=dict)
    require_reset: bool = False
    mutates: bool | None = None
    """Whether the task may change its sites; None = not said."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the file we do not know, kept as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """How to log in to a site: fill a form, then check."""

    url: str
    """Canonical URL of the form."""
    fields: Mapping[str, str]
    """CSS selector or `label=…`/`placeholder=…` of each input to its value; values are secrets."""
    submit: str
    """CSS selector or `button=…` (accessible name)."""
    probe_url: str
    """Canonical URL that only a logged-in visitor can stay on."""
    probe_text: str = ""
    """Text the probe page must hold; "" = staying on `probe_url` is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One site of a deployment: where it really is, and the address everybody is shown."""

    name: str
    """As in a task's `sites`; its placeholder is `__NAME__` in capitals."""
    url: str
    """Real base URL, without a trailing slash."""
    canonical: str
    """Base URL shown to agent, prompts, journal and evaluators, without a trailing slash."""
    reset_url: str | None = None
    """POST here puts the site back to its seed; None = it cannot be reset."""
    login: Login | None = None


# --- what is seen ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An addressable element of an observation."""

    role: str
    name: str
    nth: int
    """0-based position among the nodes of the same role and name, in document order."""
    line: str
    """Its line in the text without indent and `[id] `."""
    box: Box | None
    """(x, y, width, height) in CSS px of the viewport."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    url: str
    title: str
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the agent is shown, and what a replay is compared with."""

    url: str
    title: str
    tabs: tuple[Tab, ...]
    text: str
    """Tabs header, blank line, body."""
    fingerprint: str
    """sha256 over url, tabs and text with element ids taken out."""
    notices: tuple[str, ...] = ()
    """What happened that the page does not show: a failed action, an answered dialog, a page that never settled."""
    screenshot: str | None = None
    """Artifact hash of a PNG of the viewport."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A live observation: what is recorded, and what only lasts until the next step."""

    observation: Observation
    nodes: Mapping[str, Node]
    """Element id to node."""
    image: bytes | None = None
    """PNG of the viewport, `(width, height)` of the browser config, device pixel ratio 1."""


# --- journal records ------------------------------------------------------------------------------


class CloseReason(StrEnum):
    STOPPED = "STOPPED"
    MAX_STEPS = "MAX_STEPS"
    PARSE_FAILURES = "PARSE_FAILURES"
    REPEATED = "REPEATED"
    BUDGET = "BUDGET"


class Status(StrEnum):
    OK = "OK"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one decision, or a sum of them, cost."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    """0.0 also when the model has no price; `priced` tells the two apart."""
    priced: bool = True
    requests: int = 0
    """HTTP requests made, retries included."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            priced=self.priced and other.priced,
            requests=self.requests + other.requests,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An attempt begins. The journal explains itself: the task stands in it whole."""

    kind: ClassVar[str] = "opened"
    attempt: int
    """1-based."""
    why: str = "first"
    """`first`, `diverged` (a restore did not lead back) or `retry` (the person asked for it)."""
    trial: int
    """0-based."""
    task: Task
    task_digest: str
    config_digest: str
    seed: int
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
    elapsed_ms: float
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The action was performed."""

    kind: ClassVar[str] = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The action could not be performed; the agent is told why."""

    kind: ClassVar[str] = "refused"
    why: str


Outcome = Done | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A non-safe HTTP request (not GET, HEAD or OPTIONS) a page sent during a step."""

    method: str
    url: str
    """Canonical."""
    status: int | None
    """None = no response was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """What an action led to. Step 0 is the arrival at the start pages, before any decision."""

    kind: ClassVar[str] = "acted"
    step: int
    outcome: Outcome
    observation: Observation
    effects: tuple[Effect, ...] = ()
    checkpoint: str | None = None
    """Artifact hash of the context's storage state, when it changed during the step."""
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
    elapsed_ms: float
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What a `program_html` target selected from the page, gathered before Closed."""

    index: int
    """Position in the task's `program_html`."""
    url: str
    """Canonical URL the text was taken from."""
    content: str | None
    """Artifact hash of the JSON value selected (page HTML as a JSON string); None when `error` is set."""
    error: str = ""
    """Why nothing could be gathered: an evaluator error, not an empty text."""
    last_content: str | None = None
    """For a `last` target that follows a navigating one: what WebArena's own order would have selected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that scoring needs, so that it never needs a browser."""

    url: str
    """Canonical URL of the agent's page."""
    title: str
    html: str | None
    """Artifact hash of the page's HTML."""
    selected: tuple[Selected, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The agent's work on this attempt has ended."""

    kind: ClassVar[str] = "closed"
    reason: CloseReason
    detail: str
    """The stop reason in WebArena's words when it was not the agent's own, else ""."""
    answer: str
    evidence: Evidence
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Infrastructure gave way. Does not close: the episode stays owed."""

    kind: ClassVar[str] = "failed"
    attempt: int
    boundary: str
    """Where it crossed: `restore`, `decide`, `act`, `gather` or `worker`."""
    type: str
    """Name of the error class."""
    message: str
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
    verdicts: tuple[Verdict, ...]
    at: float


Record = Opened | Decided | Acted | Resumed | Closed | Failed | Scored


# --- the fold's result ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A whole step: decided, then acted."""

    decided: Decided
    acted: Acted


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """The current attempt as the journal tells it, and sums over all attempts."""

    opened: Opened | None = None
    arrival: Acted | None = None
    """Step 0."""
    steps: tuple[Step, ...] = ()
    pending: Decided | None = None
    """Decided and not yet acted."""
    resumed: tuple[Resumed, ...] = ()
    closed: Closed | None = None
    failures: tuple[Failed, ...] = ()
    """Since the person last asked for an attempt: an `Opened` with why `diverged` keeps them, any other clears them."""
    scores: Mapping[str, Scored] = field(default_factory=dict)
    """Dialect to its newest score."""
    usage: Usage = field(default_factory=Usage)
    """Of this attempt."""
    elapsed_ms: float = 0.0
    """Working time of this attempt: decisions and steps, downtime is free."""
    total_usage: Usage = field(default_factory=Usage)
    """Of all attempts in the journal."""
    total_elapsed_ms: float = 0.0

    @property
    def attempt(self) -> int:
        """Number of the current attempt; 0 before the first."""
        return self.opened.attempt if self.opened else 0

    @property
    def last(self) -> Acted | None:
        """The newest observed point."""
        return self.steps[-1].acted if self.steps else self.arrival


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When an episode ends without the agent saying so; None = no limit. Sums come from the journal."""

    max_steps: int = 30
    parsing_failures: int = 3
    """This many unreadable replies in a row close the episode."""
    repeated_actions: int = 3
    """This many equivalent actions (WebArena's rule) close the episode."""
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_working_s: float | None = None
    """Seconds of deciding and acting; downtime is not charged."""
