"""Actions beyond those that `harness.api` has, and what an action set of one's own is written with.

For action sets, agents that look at screenshots, and rules that compare or perform actions.
"""

from harness.actions import (
    Cdp,
    CloseTab,
    Code,
    GoBack,
    GoForward,
    Hover,
    KeepNote,
    Keyboard,
    Mouse,
    NewTab,
    NodeLike,
    PointClick,
    Screenshot,
    TabFocus,
)
from harness.actions.computer_calls import Screen
from harness.actions.key_names import webarena_keys
from harness.actions.literal_call import PAGE
from harness.actions.literal_call import parse as parse_call
from harness.actions.sameness import close, only_id
from harness.actions.syntax import written

__all__ = [
    "PAGE",
    "Cdp",
    "CloseTab",
    "Code",
    "GoBack",
    "GoForward",
    "Hover",
    "KeepNote",
    "Keyboard",
    "Mouse",
    "NewTab",
    "NodeLike",
    "PointClick",
    "Screen",
    "Screenshot",
    "TabFocus",
    "close",
    "only_id",
    "parse_call",
    "webarena_keys",
    "written",
]
