"""The action space: one frozen record per action an agent can take.

Pure data. What the text of a reply means is `parsing`'s business; how an action is performed is `browser.acting`'s.
`kind` is the tag under which the action stands in a journal.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The element an action is aimed at."""

    id: str
    """Element id as the agent wrote it; ids are given by the observation."""
    role: str = ""
    """Accessibility role, filled in from the observation; "" when the id was not in it."""
    name: str = ""
    """Accessible name, as observed."""
    nth: int = 0
    """0-based position among the observation's nodes of the same role and name."""
    line: str = ""
    """The node's line in the observation without its id, whitespace collapsed: what history strings quote."""
    box: Box | None = None
    """(x, y, width, height) in CSS px of the viewport."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    kind: ClassVar[str] = "click"
    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Hover:
    kind: ClassVar[str] = "hover"
    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    kind: ClassVar[str] = "type"
    target: Target
    text: str
    """Without the newline that stands for Enter."""
    enter: bool = True
    clear: bool = False
    """Replace what the field holds (cairn action set only; WebArena's `type` always appends)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """Choose an option of a native list by its visible label (cairn action set only)."""

    kind: ClassVar[str] = "select"
    target: Target
    option: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubleClick:
    """Cairn action set only, like the four after it."""

    kind: ClassVar[str] = "dblclick"
    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Set a checkbox, radio button or switch, whatever it was."""

    kind: ClassVar[str] = "check"
    target: Target
    checked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """Give a file field a file of the configured folder."""

    kind: ClassVar[str] = "upload"
    target: Target
    file: str
    """Its plain name; a path is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drag:
    kind: ClassVar[str] = "drag"
    target: Target
    onto: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Let the page go on by itself until it changes, for a few seconds at most."""

    kind: ClassVar[str] = "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    kind: ClassVar[str] = "press"
    key_comb: str
    """Playwright key names joined by `+`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scroll:
    kind: ClassVar[str] = "scroll"
    direction: Literal["up", "down"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goto:
    kind: ClassVar[str] = "goto"
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTab:
    kind: ClassVar[str] = "new_tab"


@dataclass(frozen=True, slots=True, kw_only=True)
class TabFocus:
    kind: ClassVar[str] = "tab_focus"
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseTab:
    kind: ClassVar[str] = "close_tab"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoBack:
    kind: ClassVar[str] = "go_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoForward:
    kind: ClassVar[str] = "go_forward"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    kind: ClassVar[str] = "stop"
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A call on an element, written as Playwright code (playwright action set only).

    The browser performs it from a list of allowed calls; it is never evaluated.
    """

    kind: ClassVar[str] = "code"
    verb: Literal["click", "hover", "type", "check", "select_option"]
    pw_code: str
    """As the model wrote it, e.g. `page.get_by_role("link", name="Cart").click()`."""
    text: str = ""
    """What `type` types; "" for the other verbs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mouse:
    """A click or hover at a point, for agents that look at the screenshot."""

    kind: ClassVar[str] = "mouse"
    verb: Literal["click", "hover"]
    x: float
    """Fraction of the viewport's width, 0 = left."""
    y: float
    """Fraction of the viewport's height, 0 = top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyboard:
    """Keys typed into whatever has the focus, for agents that look at the screenshot."""

    kind: ClassVar[str] = "keyboard"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidAction:
    """A reply from which no action could be read; it counts as a step and changes nothing."""

    kind: ClassVar[str] = "none"
    why: str = field(default="")


Action = (
    Click
    | Hover
    | Type
    | Select
    | DoubleClick
    | Check
    | Upload
    | Drag
    | Wait
    | Press
    | Scroll
    | Goto
    | NewTab
    | TabFocus
    | CloseTab
    | GoBack
    | GoForward
    | Stop
    | Code
    | Mouse
    | Keyboard
    | InvalidAction
)

ElementAction = Click | Hover | Type | Select | DoubleClick | Check | Upload | Drag
"""Actions at an element the observation showed."""
