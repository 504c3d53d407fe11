"""What an agent can do: actions, the text they are read from and written as, and when two are the same.

Pure and without knowledge of browsers, models or pages.
"""

from harness.actions.action import Action
from harness.actions.action_set import ActionSet, CairnActionSet, extract, resolve
from harness.actions.ask_user import AskUser
from harness.actions.browser_controls import BrowserControls
from harness.actions.cdp import Cdp
from harness.actions.form_fields import Check, Select, Upload
from harness.actions.keep_note import KeepNote
from harness.actions.keyboard import HoldKey, Keyboard, Press, RepeatKey, Type
from harness.actions.navigation import CloseTab, GoBack, GoForward, Goto, NewTab, TabFocus
from harness.actions.playwright_code import Code
from harness.actions.point import PointClick, PointDrag, PointScroll, Screenshot
from harness.actions.pointer import Click, DoubleClick, Drag, Hover, Mouse
from harness.actions.stop import InvalidAction, Stop
from harness.actions.target import Box, NodeLike, Target
from harness.actions.viewport import Scroll, Wait

__all__ = [
    "Action",
    "ActionSet",
    "AskUser",
    "Box",
    "BrowserControls",
    "CairnActionSet",
    "Cdp",
    "Check",
    "Click",
    "CloseTab",
    "Code",
    "DoubleClick",
    "Drag",
    "GoBack",
    "GoForward",
    "Goto",
    "HoldKey",
    "Hover",
    "InvalidAction",
    "KeepNote",
    "Keyboard",
    "Mouse",
    "NewTab",
    "NodeLike",
    "PointClick",
    "PointDrag",
    "PointScroll",
    "Press",
    "RepeatKey",
    "Screenshot",
    "Scroll",
    "Select",
    "Stop",
    "TabFocus",
    "Target",
    "Type",
    "Upload",
    "Wait",
    "extract",
    "resolve",
]
