"""Settings of the browser and of restoration as plain values; defaults as in the config schema."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.browser.visit_policy import NO_VISITS, VisitPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSettings:
    """How pages are opened, waited for and read."""

    executable: str | None = None
    """Path of a Chromium; None = look for one."""
    headless: bool = True
    slow_mo_ms: float = 0.0
    viewport: tuple[int, int] = (1280, 720)
    """(width, height) in CSS px; the device pixel ratio is always 1."""
    locale: str = "en-US"
    timezone: str = "UTC"
    settle_timeout_s: float = 5.0
    """A page that is not quiet after this long is observed as it is, with a notice."""
    action_timeout_s: float = 10.0
    """How long one input or one question to a page may take before the page counts as hung."""
    navigation_timeout_s: float = 30.0
    """How long a server may take to answer with a page."""
    step_deadline_s: float = 90.0
    """A step that takes longer is a hung browser."""
    screenshots: bool = False
    marks: bool = False
    """Find where the elements of a screenshot can be clicked."""
    dialect: str = "cairn"
    """Of the observation text: `cairn` or `webarena`."""
    appends: bool = False
    """`type` writes after what a field holds also in the dialect `webarena`, where it is written where the click puts
    the caret.
    """
    html: bool = False
    """The observation text is the DOM, not the accessibility tree."""
    tree: bool = False
    """With `html`: the accessibility tree as well, before the DOM."""
    keep_html: bool = False
    """Read the HTML of each page that is observed."""
    allowed: str = "any"
    """`sites`: pages reach the hosts of their lane's sites only; `any`: no limit."""
    geolocation: Mapping[str, float] | None = None
    """Where a browser says it is, if the task does not say."""
    visits: VisitPolicy = NO_VISITS
    """What pages may be opened beside the run's own sites, and how fast."""
    har: bool = False
    """Record the network trace of each episode."""
    uploads: str | None = None
    """Folder whose files an agent may upload; None = none."""
    shared: bool = False
    """A process may drive the browser beside us: it also listens on a port of loopback."""
    max_memory_mb: float | None = 1024.0
    """Resident memory that one process of pages may hold, and all of them for each episode; None = no bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSettings:
    """How an interrupted episode is led back to where its journal ends."""

    strategy: str = "auto"
    """`auto`, `replay`, `checkpoint`, `restart` or `fail`."""
    in_doubt: str = "ask_page"
    """What becomes of an interrupted action that may have reached a site which was not reset: see `DoubtResolution`."""
    min_similarity: float = 0.9
    """A page at least this similar to the recorded one counts as the same; see `comparing.similarity`."""
