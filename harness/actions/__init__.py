"""What an agent can do: actions, the text they are read from and written as, and when two are the same.

Pure and without knowledge of browsers, models or pages.
"""

from collections.abc import Mapping

from harness.actions.action import Action
from harness.actions.action_set import ActionSet, CairnActionSet, extract, resolve
from harness.actions.browser_controls import BrowserControls
from harness.actions.form_fields import Check, Select, Upload
from harness.actions.keyboard import Keyboard, Press, Type
from harness.actions.navigation import CloseTab, GoBack, GoForward, Goto, NewTab, TabFocus
from harness.actions.playwright_code import Code
from harness.actions.playwright_grammar import PlaywrightActionSet
from harness.actions.pointer import Click, DoubleClick, Drag, Hover, Mouse
from harness.actions.repetition import EarlyStop, StopRule, early_stop, equivalent
from harness.actions.stop import InvalidAction, Stop
from harness.actions.target import Box, NodeLike, Target
from harness.actions.viewport import Scroll, Wait
from harness.actions.webarena_grammar import IdActionSet

__all__ = [
    "ACTION_SETS",
    "Action",
    "ActionSet",
    "Box",
    "BrowserControls",
    "CairnActionSet",
    "Check",
    "Click",
    "CloseTab",
    "Code",
    "DoubleClick",
    "Drag",
    "EarlyStop",
    "GoBack",
    "GoForward",
    "Goto",
    "Hover",
    "IdActionSet",
    "InvalidAction",
    "Keyboard",
    "Mouse",
    "NewTab",
    "NodeLike",
    "PlaywrightActionSet",
    "Press",
    "Scroll",
    "Select",
    "Stop",
    "StopRule",
    "TabFocus",
    "Target",
    "Type",
    "Upload",
    "Wait",
    "early_stop",
    "equivalent",
    "extract",
    "resolve",
]

_SETS: tuple[ActionSet, ...] = (CairnActionSet(), IdActionSet(), PlaywrightActionSet())
ACTION_SETS: Mapping[str, ActionSet] = {one.name: one for one in _SETS}
