"""What settings choose from: words, by the names they are written with, and ranges of numbers."""

from enum import Enum
from typing import NamedTuple


class ValueRange(NamedTuple):
    """The range of a number, both ends included."""

    least: float
    most: float
    above: bool = False
    """`least` itself is too little."""

    def __str__(self) -> str:
        least, most = _exact(self.least), _exact(self.most)
        return f"above {least}, {most} at most" if self.above else f"from {least} to {most}"

    def hold(self, value: float) -> bool:
        """NaN is within no bounds."""
        return self.least <= value <= self.most and not (self.above and value == self.least)


def _exact(number: float) -> str:
    """A rounded bound could name a number that is refused."""
    return str(int(number)) if float(number).is_integer() else f"{number:g}"


MAX_NUMBER = 2**53
"""Beyond it JSON's numbers are not exact any more."""
LONGEST_S = 2_000_000.0
"""23 days; the timers of Chromium and its driver hold no more milliseconds than 31 bits."""
COUNT = ValueRange(0, MAX_NUMBER)
"""Of a number that nothing else is said of."""
AT_LEAST_ONE = ValueRange(1, MAX_NUMBER)
POSITIVE = ValueRange(0, MAX_NUMBER, above=True)
TIME = ValueRange(0, LONGEST_S, above=True)
"""Of seconds."""
SHARE = ValueRange(0, 1)
RETRIES = ("infra", "failed", "all")


class Dialect(Enum):
    """The rules by which episodes are scored; docs/pages/scoring.md."""

    webarena = "webarena"
    """As the benchmark's own code scores."""
    corrected = "corrected"
    """Without its known errors."""
    # An alias and not a third dialect: no task has both, and journals and older readers know two.
    published = "webarena"
    """Another name of `webarena`, for benchmarks that are not WebArena."""


class ObservationDialect(Enum):
    """How the text of a page is written."""

    webarena = "webarena"
    """As WebArena's own code writes it, with its defects, so that numbers can be compared."""
    cairn = "cairn"
    """Without those defects, and with the content of frames."""


class ObservationType(Enum):
    """What an agent is shown of a page; several are joined with `+`."""

    accessibility_tree = "accessibility_tree"
    """The visible part of the page as a tree of roles and names."""
    html = "html"
    """The visible part of the page as shortened HTML."""
    image = "image"
    """A screenshot."""
    marks = "marks"
    """A screenshot in which elements have their ids."""


class ActionSetName(Enum):
    """Which actions an agent has, and how they are written."""

    cairn = "cairn"
    """Elements by id, with `clear`, `select`, `check`, `dblclick`, `drag`, `upload` and `wait`."""
    id_accessibility_tree = "id_accessibility_tree"
    """WebArena's, elements by id."""
    playwright = "playwright"
    """WebArena's calls in Playwright's Python syntax."""


class Strategy(Enum):
    """How an interrupted episode is restored; docs/pages/resume.md."""

    auto = "auto"
    """By replay if all sites of the task were reset, or no action could have changed them; else by checkpoint."""
    replay = "replay"
    """The recorded actions are performed again, without the model."""
    checkpoint = "checkpoint"
    """Cookies, storage and tabs of a step are restored, and its pages opened."""
    restart = "restart"
    """A new attempt begins."""
    fail = "fail"
    """The task is not resumed, and is reported."""


class InDoubtPolicy(Enum):
    """What becomes of an action of which it is unknown whether it reached its site; docs/pages/resume.md."""

    ask_page = "ask_page"
    """It is not repeated; the agent is told, and decides from the page."""
    skip = "skip"
    """It is not repeated, and the agent is not told."""
    repeat = "repeat"
    """It is repeated if the page equals the recorded one."""
    restart = "restart"
    """A new attempt begins."""
    unscored = "unscored"
    """The task is left unscored."""


class OnDivergence(Enum):
    """What becomes of an attempt whose agent's process, started again, does something else than is recorded."""

    restart = "restart"
    """A new attempt begins."""
    # Settings are written by the names of members, and Python has this word for itself.
    vars()["continue"] = "continue"
    keep = "continue"
    """The same as `continue`: it goes on, and the rest of the recording is not used."""
    fail = "fail"
    """The attempt fails; the task is tried `resume.max_attempts` times at most."""


class Sandbox(Enum):
    """What confines an agent's process."""

    auto = "auto"
    """bubblewrap where it is installed and works, else nothing; the run says which."""
    bubblewrap = "bubblewrap"
    """Without it, the run does not start."""
    none = "none"
    """A plain process."""


class SiteLocking(Enum):
    """Whether tasks lock the sites that they may change."""

    auto = "auto"
    """A task that may change a site locks it."""
    none = "none"
    """All tasks share the sites."""


class ResetWhen(Enum):
    """When a site is reset."""

    DIRTY = "dirty"
    """After every job that may have changed the site."""
    EFFECTS = "effects"
    """Only after jobs of which effects on it were recorded, or which were cut short."""
    ASKED = "asked"
    """Only before tasks with `require_reset`."""


class ResetScope(Enum):
    """What a reset hook for all sites puts back when it is called."""

    GIVEN = "given"
    """Only the instances that it is called for."""
    ALL = "all"
    """All sites at the same time: it is called while no job uses any of them."""


class Durability(Enum):
    """When a record must be on the disk itself, so that a power cut cannot take it. A killed process never can."""

    record = "record"
    """Before the append returns."""
    task = "task"
    """When the attempt has closed, failed or been scored, or a judge was paid for it."""
    none = "none"
    """Whenever the kernel likes; a power cut may then damage a journal."""


class Display(Enum):
    """How progress is shown while a run goes on."""

    auto = "auto"
    """`live` on a terminal, else `plain`."""
    live = "live"
    """A table that is redrawn."""
    plain = "plain"
    """A line for each event."""
    none = "none"
    """Not at all."""
