"""The words that settings choose from, by the names they are written with."""

from enum import Enum


class Dialect(Enum):
    webarena = "webarena"
    """As the benchmark's own code scores."""
    corrected = "corrected"
    published = "webarena"
    """Another name of `webarena`, for benchmarks that are not WebArena."""


class ObservationDialect(Enum):
    webarena = "webarena"
    cairn = "cairn"


class ObservationType(Enum):
    """What an agent is shown of a page; several are joined with `+`."""

    accessibility_tree = "accessibility_tree"
    html = "html"
    image = "image"
    """A screenshot."""
    marks = "marks"
    """A screenshot in which elements have their ids."""


class ActionSetName(Enum):
    cairn = "cairn"
    id_accessibility_tree = "id_accessibility_tree"
    playwright = "playwright"


class Strategy(Enum):
    auto = "auto"
    replay = "replay"
    checkpoint = "checkpoint"
    restart = "restart"
    fail = "fail"


class InDoubtPolicy(Enum):
    ask_page = "ask_page"
    skip = "skip"
    repeat = "repeat"
    restart = "restart"
    unscored = "unscored"


class OnDivergence(Enum):
    """What becomes of an attempt whose agent's process, started again, does something else than is recorded."""

    restart = "restart"
    """A new attempt begins."""
    keep = "continue"
    """It goes on, and the rest of the recording is not used."""
    fail = "fail"
    """It is left unscored."""


class Sandbox(Enum):
    """What confines an agent's process."""

    auto = "auto"
    """bubblewrap where it is installed and works, else nothing; the run says which."""
    bubblewrap = "bubblewrap"
    none = "none"


class SiteLocking(Enum):
    auto = "auto"
    """A task that may change a site locks it."""
    none = "none"


class ResetWhen(Enum):
    """When a site is reset."""

    DIRTY = "dirty"
    """After every job that may have changed the site."""
    EFFECTS = "effects"
    """Only after jobs of which effects on it were recorded, or which were cut short."""
    ASKED = "asked"
    """Only before tasks with `require_reset`."""


class Durability(Enum):
    """When a record must be on the disk itself, so that a power cut cannot take it. A killed process never can."""

    record = "record"
    """Before the append returns."""
    task = "task"
    """When the attempt has closed, failed or been scored, or a judge was paid for it."""
    none = "none"
    """Whenever the kernel likes; a power cut may then damage a journal."""


class Display(Enum):
    auto = "auto"
    live = "live"
    plain = "plain"
    none = "none"
