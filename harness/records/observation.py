"""What is seen: an observation, recorded or live."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.actions import Box
from harness.records.optional import optional


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An addressable element of an observation."""

    role: str
    """Accessibility role, as `button`."""
    name: str
    """Accessible name; "" = it has none."""
    nth: int
    """0-based position among the nodes of the same role and name, in document order."""
    line: str
    """Its line in the text without indent and `[id] `."""
    box: Box | None
    """(x, y, width, height) in CSS px of the viewport."""
    depth: int = 0
    """How many lines of the text its own is within."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TabRecord:
    """A tab of an observation."""

    url: str
    title: str
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the agent is shown, and what a replay is compared with."""

    url: str
    """Canonical address of the current tab."""
    title: str
    """Of the current tab."""
    tabs: tuple[TabRecord, ...]
    """All tabs, in the order in which they were opened."""
    text: str
    """Tabs header, blank line, body."""
    fingerprint: str
    """sha256 over url, tabs and text with element ids taken out."""
    notices: tuple[str, ...] = ()
    """What happened that the page does not show: a failed action, an answered dialog, a page that never settled."""
    fields: str = ""
    """Number and hash of the form fields' values (without hidden ones; of passwords the length); "" = unknown.
    """
    screenshot: str | None = None
    """Artifact hash of a PNG of the viewport."""
    html: str | None = optional(None)
    """Artifact hash of the HTML of the page's own document, a JSON text, where `observation.keep_html` is set."""
    # Beside `text`, by which pages are compared: a renderer that prints the time would make each restore diverge.
    shown: str | None = optional(None)
    """What the agent is shown in the place of `text`, where a class from a plug-in renders it."""

    @property
    def shown_text(self) -> str:
        """Tabs header, blank line, body, as the agent is shown them."""
        return self.text if self.shown is None else self.shown


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTimer:
    """A timer of a page that was still to fire when a step was observed, and has not been set again and again."""

    tab: int
    """0-based, in the order of `Observation.tabs`."""
    age_ms: int
    """Since the page, or the first of the timers that set each other up to this one, set it."""
    left_ms: int
    every_ms: int = optional(0)
    """0 = it fires once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveObservation:
    """A live observation: what is recorded, and what only lasts until the next step."""

    observation: Observation
    """What is recorded of the page."""
    nodes: Mapping[str, Node]
    """Element id to node."""
    image: bytes | None = None
    """PNG of the viewport, `(width, height)` of the browser config, device pixel ratio 1."""
    marks: Mapping[str, Box] = field(default_factory=dict)
    """Element id to the box of its mark, (x, y, width, height) in CSS px of the viewport, the centre of which hits the
    element; found when `observation.type` holds `marks`.
    """
    html: str | None = None
    """Of the page's own document, when `observation.keep_html` is set."""
    task_images: tuple[bytes, ...] = ()
    """The pictures that belong to the task's intent, PNG or JPEG, in its order; the same at each step."""
    timers: tuple[PendingTimer, ...] = ()
    """See `Acted.timers`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenElement:
    """An element of a live page at one moment; never recorded as such."""

    node: int
    """backendDOMNodeId."""
    role: str
    """Accessibility role; "" = it says nothing of what the element is."""
    name: str
    """Accessible name, or the text of an element that has none; cut."""
    kind: str
    """Type of an input, `editable`, or the name of its tag."""
    value: str
    """What a field holds; of a password the number of its characters, of a box that is checked `on`."""
