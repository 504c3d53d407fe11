"""The `cairn` action set: WebArena's actions and what they lack, in a grammar without surprises.

The whole text must be one action: a value is never mistaken for a flag, an answer never lost for a missing bracket.
Blanks, capitals in verbs and named flags are forgiven; so is the ` where [12] is …` tail that a model copies from the
history of its own actions. Arguments may hold brackets and line breaks.
"""

import re
from collections.abc import Callable
from typing import Literal

from harness.actions.key_names import cairn_keys
from harness.actions.types import (
    Action,
    Check,
    Click,
    CloseTab,
    DoubleClick,
    Drag,
    GoBack,
    GoForward,
    Goto,
    Hover,
    Keyboard,
    Mouse,
    NewTab,
    Press,
    Scroll,
    Select,
    Stop,
    TabFocus,
    Target,
    Type,
    Upload,
    Wait,
)
from harness.errors import ActionSyntaxError

_SHAPE = re.compile(r"([A-Za-z_]+)\s*(.*)", re.DOTALL)
_COPIED_TAIL = re.compile(r"(\[(\d+)\].*\]|\[(\d+)\])\s+where \[(?:\2|\3)\] is .*", re.DOTALL)
_COPIED = re.compile(r"\swhere \[")
"""Only one blank: a search for all of them would look through a run of them from each."""
_ID = re.compile(r"\[\s*(\d+)\s*\]", re.ASCII)
_INDEX = re.compile(r"\[\s*(\d{1,9})\s*\]", re.ASCII)
_ID_AND_VALUE = re.compile(r"\[\s*(\d+)\s*\]\s*\[(.*)\]", re.ASCII | re.DOTALL)
_ID_TEXT_FLAG = re.compile(
    r"\[\s*(\d+)\s*\]\s*\[(.*?)\](?:\s*\[\s*(?:press_enter_after\s*=\s*)?([01])\s*\])?", re.ASCII | re.DOTALL
)
_TWO_NUMBERS = re.compile(r"\[\s*(\d+)\s*\]\s*\[\s*(\d+)\s*\]", re.ASCII)
_VALUE = re.compile(r"\[(.*)\]", re.DOTALL)
_DIRECTION = re.compile(r"\[?\s*(?:direction\s*=\s*)?(up|down)\s*\]?", re.IGNORECASE)


def parse(text: str) -> Action:
    shape = _SHAPE.fullmatch(text.strip())
    verb = shape[1].lower() if shape else ""
    if shape is None or verb not in _VERBS:
        raise ActionSyntaxError(f"unknown action {_short(text)}; known actions: {', '.join(_VERBS)}")
    form, read = _VERBS[verb]
    action = read(shape[2].strip())
    if action is None:
        raise ActionSyntaxError(f"cannot read {_short(text)}; the form is: {form}")
    return action


def _short(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 80 else text[:80] + "…")


def _without_tail(arguments: str) -> str:
    copied = _COPIED_TAIL.fullmatch(arguments)
    return copied[1] if copied else arguments


def _click(arguments: str) -> Action | None:
    found = _ID.fullmatch(_without_tail(arguments))
    return Click(target=Target(id=found[1])) if found else None


def _hover(arguments: str) -> Action | None:
    found = _ID.fullmatch(_without_tail(arguments))
    return Hover(target=Target(id=found[1])) if found else None


def _typing(*, clear: bool) -> Callable[[str], Action | None]:
    def read(arguments: str) -> Action | None:
        found = _ID_TEXT_FLAG.fullmatch(_without_tail(arguments))
        if found is None:
            return None
        return Type(target=Target(id=found[1]), text=found[2], enter=found[3] != "0", clear=clear)

    return read


def _select(arguments: str) -> Action | None:
    found = _ID_AND_VALUE.fullmatch(_without_tail(arguments))
    return Select(target=Target(id=found[1]), option=found[2].strip()) if found else None


def _double_click(arguments: str) -> Action | None:
    found = _ID.fullmatch(_without_tail(arguments))
    return DoubleClick(target=Target(id=found[1])) if found else None


def _checking(*, checked: bool) -> Callable[[str], Action | None]:
    def read(arguments: str) -> Action | None:
        found = _ID.fullmatch(_without_tail(arguments))
        return Check(target=Target(id=found[1]), checked=checked) if found else None

    return read


def _upload(arguments: str) -> Action | None:
    found = _ID_AND_VALUE.fullmatch(_without_tail(arguments))
    return Upload(target=Target(id=found[1]), file=found[2].strip()) if found and found[2].strip() else None


def _drag(arguments: str) -> Action | None:
    found = _TWO_NUMBERS.fullmatch(_COPIED.split(arguments, 1)[0].rstrip())
    return Drag(target=Target(id=found[1]), onto=Target(id=found[2])) if found else None


def _pointing(verb: Literal["click", "hover"]) -> Callable[[str], Action | None]:
    def read(arguments: str) -> Action | None:
        found = _TWO_NUMBERS.fullmatch(arguments)
        if found is None or max(len(found[1]), len(found[2])) > 4:
            return None
        x, y = int(found[1]), int(found[2])
        return Mouse(verb=verb, x=x / 1000, y=y / 1000) if max(x, y) <= 1000 else None

    return read


def _write(arguments: str) -> Action | None:
    found = _VALUE.fullmatch(arguments)
    return Keyboard(text=found[1]) if found and found[1] else None


def _press(arguments: str) -> Action | None:
    found = _VALUE.fullmatch(arguments)
    return Press(key_comb=cairn_keys(found[1])) if found and found[1].strip() else None


def _scroll(arguments: str) -> Action | None:
    found = _DIRECTION.fullmatch(arguments)
    return Scroll(direction="up" if found[1].lower() == "up" else "down") if found else None


def _goto(arguments: str) -> Action | None:
    found = _VALUE.fullmatch(arguments)
    return Goto(url=found[1].strip()) if found and found[1].strip() else None


def _tab_focus(arguments: str) -> Action | None:
    found = _INDEX.fullmatch(arguments)
    return TabFocus(index=int(found[1])) if found else None


def _stop(arguments: str) -> Action | None:
    if not arguments:
        return Stop()
    found = _VALUE.fullmatch(arguments)
    return Stop(answer=found[1].strip()) if found else None


def _bare(make: Callable[[], Action]) -> Callable[[str], Action | None]:
    return lambda arguments: make() if arguments in ("", "[]") else None


_VERBS: dict[str, tuple[str, Callable[[str], Action | None]]] = {
    "click": ("click [id]", _click),
    "hover": ("hover [id]", _hover),
    "type": ("type [id] [text] [press Enter: 0 or 1]", _typing(clear=False)),
    "clear": ("clear [id] [new text] [press Enter: 0 or 1]", _typing(clear=True)),
    "select": ("select [id] [option]", _select),
    "dblclick": ("dblclick [id]", _double_click),
    "check": ("check [id]", _checking(checked=True)),
    "uncheck": ("uncheck [id]", _checking(checked=False)),
    "upload": ("upload [id] [file name]", _upload),
    "drag": ("drag [id] [id of the element to drop it on]", _drag),
    "wait": ("wait, without arguments", _bare(Wait)),
    "click_at": ("click_at [x] [y], from 0 to 1000", _pointing("click")),
    "hover_at": ("hover_at [x] [y], from 0 to 1000", _pointing("hover")),
    "write": ("write [text]", _write),
    "press": ("press [keys], as in press [Control+a]", _press),
    "scroll": ("scroll [up] or scroll [down]", _scroll),
    "goto": ("goto [url]", _goto),
    "new_tab": ("new_tab, without arguments", _bare(NewTab)),
    "tab_focus": ("tab_focus [index]", _tab_focus),
    "close_tab": ("close_tab, without arguments", _bare(CloseTab)),
    "go_back": ("go_back, without arguments", _bare(GoBack)),
    "go_forward": ("go_forward, without arguments", _bare(GoForward)),
    "stop": ("stop [answer]", _stop),
}
