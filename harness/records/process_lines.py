"""The lines that an agent which is a separate process adds to a journal (`agent=process`).

Its actions are `decided` and `acted` like those of any agent. What it asks its model goes through the run's gateway,
and is recorded as it is sent and as it is answered.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from harness.records.optional import optional
from harness.records.usage import Usage


class Boundary(StrEnum):
    """Where what an agent's process does passes through the run."""

    MODEL = "model"
    BROWSER = "browser"


class Guarded(StrEnum):
    """What an agent's process is kept from."""

    FILES = "files"
    NETWORK = "network"
    GATEWAY = "gateway"
    BROWSER = "browser"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request of the agent's process to its model, durable before it is sent on."""

    kind: ClassVar[str] = "asked"
    number: int
    """1-based within the attempt."""
    step: int
    """Number of the decision that the process had not made yet."""
    key: str
    """Digest of interface and body, without what `agent.volatile` names: a resumed process is answered by it."""
    interface: str
    """`chat`, `responses` or `messages`."""
    model: str
    """As the process named it; "" = it named none."""
    # After a power cut the body may be missing; the request has no answer then, and is asked again.
    request: str
    """Artifact hash of the body."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a request was answered, durable before the agent's process sees the first byte."""

    kind: ClassVar[str] = "answered"
    number: int
    """Of the request."""
    status: int
    """Of the HTTP answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Those that are passed on."""
    response: str
    """Artifact hash of the body."""
    model: str
    """As the endpoint named it; "" = it named none."""
    # Not in the decision that follows, as the process may be killed between the two.
    usage: Usage
    request_id: str = optional("")
    """The provider's name for the request; "" = it gave none."""
    elapsed_ms: float
    """Without the wait for the right to ask."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserCommand:
    """A CDP command of the agent's process that may change something."""

    method: str
    key: str
    """Digest of what it says, without ids and time stamps: a resumed process is compared by it."""
    text: str
    """What it says, for people; cut. Addresses are canonical."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commanded:
    """CDP commands of the agent's process, durable before they are passed on to the browser (`agent.browser=cdp`)."""

    kind: ClassVar[str] = "commanded"
    step: int
    """Number of the step that they are part of, or that comes next."""
    commands: tuple[BrowserCommand, ...]
    """In order; a script (`Runtime.`) is one of them, recorded when it has run, if it has changed a field. Empty = from
    here to that step the process may run scripts in pages, which are not recorded.
    """
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """The commands of a step have been answered by the browser."""

    kind: ClassVar[str] = "landed"
    step: int
    count: int
    """Commands that the step is made of."""
    errors: Mapping[str, str] = optional(factory=dict)
    """Position in the step (from 1) to what the browser answered, for commands that it did not perform."""
    # Recorded commands have coordinates only, so the element is asked for while it is there.
    title: str = optional("")
    """What they did, in words, with the element and the text as they were then; "" = it is not known."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverged:
    """After a resume, the agent's process did something else than what is recorded."""

    kind: ClassVar[str] = "diverged"
    boundary: Boundary
    step: int
    """Number of the decision that the new process had not made yet."""
    why: str
    """A sentence for people."""
    policy: str
    """What became of the attempt, see `resume.on_divergence`."""
    request: str | None = optional(None)
    """Artifact hash of the request that has no record; None = it was an action."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyViolation:
    """The agent's process tried something that it may not do; it was blocked.

    Recorded when it is first seen in an attempt, and for a limited number of different things: `Exited.violations` has
    the number of all tries.
    """

    kind: ClassVar[str] = "policy_violation"
    step: int
    """Number of the decision that the process had not made yet."""
    guarded: Guarded
    what: str
    """What was tried, in words, bounded: names and addresses in it are the process's own."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """The agent's process has ended, or was ended."""

    kind: ClassVar[str] = "exited"
    code: int | None
    """Exit code; 128 and the number of the signal for a process that a signal ended; None = it had to be ended."""
    why: str
    """What ended it, in words."""
    stdout: str | None = None
    """Artifact hash of what it wrote there; None = nothing. Bounded: of a long text the end is kept."""
    stderr: str | None = None
    elapsed_ms: float
    """From its start, which answers from the journal are part of."""
    sandbox: str = optional("none")
    """What confined it: `bubblewrap`; `none` = it was a plain process of the user."""
    violations: int = optional(0)
    """How often it was seen to try what it may not do."""
    at: float
