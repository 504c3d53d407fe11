"""What a CDP command means to a person: a key, a text, a movement or press of the mouse, a page that is opened. Pure.

Clients differ in how they send the same thing: a character is a `keyDown` with its text, a `keyDown` and a `char`, or
an `insertText`; a key is named by `key`, or by its code alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from harness.api import JsonObject


class Kind(Enum):
    MOVE = auto()
    DOWN = auto()
    UP = auto()
    """Of a mouse button."""
    WHEEL = auto()
    DROP = auto()
    TAP = auto()
    TEXT = auto()
    """Characters; none for a key that is followed by its `char`."""
    KEY = auto()
    MODIFIER = auto()
    RELEASE = auto()
    """Of a key."""
    FOCUS = auto()
    UPLOAD = auto()
    SCRIPT = auto()
    """That has changed a field."""
    REST = auto()
    """Part of whatever is done already."""
    OTHER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputEvent:
    kind: Kind
    x: float = 0.0
    y: float = 0.0
    """CSS px of the viewport."""
    button: str = ""
    count: int = 0
    """Number of clicks."""
    right: float = 0.0
    down: float = 0.0
    """How far the wheel turns, in CSS px."""
    text: str = ""
    """Characters, the name of a key, or words for what has no other kind."""
    key: str = ""
    """The key alone, which is down until it is released."""
    held: str = ""
    """Modifier keys, as `Control+Shift`."""

    @property
    def point(self) -> tuple[float, float]:
        return self.x, self.y


def read_event(method: str, params: JsonObject, *, tab: str, pages: int = 0) -> InputEvent:
    """What a command means.

    Args:
        tab: What it is performed in, as `tab 1`.
        pages: How many pages of its history a tab goes forward; negative = back.
    """
    if (read := _READERS.get(method)) is not None:
        return read(params)
    return InputEvent(kind=Kind.OTHER, text=_words(method, params, tab, pages))


def _mouse(params: JsonObject) -> InputEvent:
    kind = _MOUSE.get(str(params.get("type")), Kind.REST)
    if kind is Kind.WHEEL:
        return _at(kind, params, right=_number(params, "deltaX"), down=_number(params, "deltaY"))
    return _at(kind, params)


def _text(params: JsonObject) -> InputEvent:
    return InputEvent(kind=Kind.TEXT, text=str(params.get("text", "")))


def _drag(params: JsonObject) -> InputEvent:
    return _at(Kind.DROP if params.get("type") == "drop" else Kind.REST, params)


def _touch(params: JsonObject) -> InputEvent:
    points = params.get("touchPoints")
    first = points[0] if isinstance(points, list) and points and isinstance(points[0], dict) else None
    return _at(Kind.TAP, first) if params.get("type") == "touchStart" and first else _REST


def _tap(params: JsonObject) -> InputEvent:
    return _at(Kind.TAP, params)


def _swipe(params: JsonObject) -> InputEvent:
    """A swipe in the direction of the fingers: the page moves the other way."""
    return _at(Kind.WHEEL, params, right=-_number(params, "xDistance"), down=-_number(params, "yDistance"))


def _rest(_: JsonObject) -> InputEvent:
    return _REST


def _focus(_: JsonObject) -> InputEvent:
    return InputEvent(kind=Kind.FOCUS)


def _at(kind: Kind, params: JsonObject, *, right: float = 0.0, down: float = 0.0) -> InputEvent:
    return InputEvent(
        kind=kind,
        x=_number(params, "x"),
        y=_number(params, "y"),
        button=str(params.get("button", "")),
        count=round(_number(params, "clickCount")),
        held=_modifiers(params),
        right=right,
        down=down,
    )


def _key(params: JsonObject) -> InputEvent:
    name, text, held = _key_name(params), str(params.get("text") or ""), _modifiers(params)
    if params.get("type") == "keyUp":
        return InputEvent(kind=Kind.RELEASE, key=name)
    if name in _MODIFIERS.values():
        return InputEvent(kind=Kind.MODIFIER, key=name)
    if params.get("type") == "char":
        is_line_end = text in ("\r", "\n")  # of an Enter that was pressed before
        return _REST if is_line_end or not text.isprintable() else InputEvent(kind=Kind.TEXT, text=text)
    writes = len(name) == 1 and held in ("", "Shift")
    if writes or (text.isprintable() and text and held in ("", "Shift")):
        return InputEvent(kind=Kind.TEXT, text=text if text.isprintable() else "", key=name)
    shown = name.upper() if len(name) == 1 else name
    return InputEvent(kind=Kind.KEY, text="+".join(filter(None, (held, shown or "a key"))), key=name)


def _key_name(params: JsonObject) -> str:
    if name := str(params.get("key") or ""):
        return name
    code = round(_number(params, "windowsVirtualKeyCode"))
    return _CODES.get(code, chr(code).lower() if 0 <= code < _ASCII and chr(code).isalnum() else "")


def _modifiers(params: JsonObject) -> str:
    held = round(_number(params, "modifiers"))
    return "+".join(name for bit, name in _MODIFIERS.items() if held & bit)


def _upload(params: JsonObject) -> InputEvent:
    given = params.get("files")
    names = ", ".join(PurePath(str(one)).name for one in given) if isinstance(given, list) else ""
    return InputEvent(kind=Kind.UPLOAD, text=names)


def _number(params: Mapping[str, Any], name: str) -> float:
    value = params.get(name)
    return float(value) if isinstance(value, int | float) and abs(value) < _FAR else 0.0


def _words(method: str, params: JsonObject, tab: str, pages: int) -> str:
    url = str(params.get("url", ""))
    match method:
        case "Page.navigate":
            return f"goto {url}"
        case "Target.createTarget":
            return "open a tab" if url in ("", "about:blank") else f"open a tab at {url}"
        case "Target.closeTarget" | "Page.close":
            return f"close {tab}"
        case "Target.activateTarget" | "Page.bringToFront":
            return f"switch to {tab}"
        case "Page.navigateToHistoryEntry" if pages:
            far = f" {abs(pages)} pages" if abs(pages) > 1 else ""
            return f"go {'back' if pages < 0 else 'forward'}{far}"
    return _WORDS.get(method) or next(words for prefix, words in _WORDS.items() if method.startswith(prefix))


SCRIPT = InputEvent(kind=Kind.SCRIPT)
_REST = InputEvent(kind=Kind.REST)
_READERS: Mapping[str, Callable[[JsonObject], InputEvent]] = MappingProxyType(
    {
        "Input.dispatchMouseEvent": _mouse,
        "Input.emulateTouchFromMouseEvent": _mouse,
        "Input.dispatchKeyEvent": _key,
        "Input.insertText": _text,
        "Input.dispatchDragEvent": _drag,
        "Input.dispatchTouchEvent": _touch,
        "Input.synthesizeTapGesture": _tap,
        "Input.synthesizeScrollGesture": _swipe,
        "Input.cancelDragging": _rest,
        "Input.imeSetComposition": _rest,
        "DOM.focus": _focus,
        "DOM.setFileInputFiles": _upload,
    }
)
_ASCII = 128
_FAR = 1e9
_MOUSE = MappingProxyType(
    {"mouseMoved": Kind.MOVE, "mousePressed": Kind.DOWN, "mouseReleased": Kind.UP, "mouseWheel": Kind.WHEEL}
)
_MODIFIERS = MappingProxyType({2: "Control", 1: "Alt", 4: "Meta", 8: "Shift"})
_CODES = MappingProxyType(
    {8: "Backspace", 9: "Tab", 13: "Enter", 27: "Escape", 32: " ", 33: "PageUp", 34: "PageDown", 35: "End", 36: "Home"}
    | {37: "ArrowLeft", 38: "ArrowUp", 39: "ArrowRight", 40: "ArrowDown", 46: "Delete"}
    | {16: "Shift", 17: "Control", 18: "Alt", 91: "Meta"}
)
"""Names of keys that a client gives by number only."""
_WORDS = MappingProxyType(
    {
        "Page.reload": "reload",
        "Page.navigateToHistoryEntry": "go to another page of the history",
        "Page.setDocumentContent": "replace the document",
        "Input.synthesizePinchGesture": "pinch",
        "Network.clearBrowserCache": "clear the cache",
        "Network.clearBrowserCookies": "clear the cookies",
        "Network.deleteCookies": "delete cookies",
        "Network.setCookie": "set cookies",
        "Network.setExtraHTTPHeaders": "set headers of requests",
        "Storage.clearCookies": "clear the cookies",
        "Storage.setCookies": "set cookies",
        "DOMStorage.": "change what the page has stored",
        "DOM.": "change the document",
        "Runtime.": "run a script",
        "": "do something else",
    }
)
"""For methods, or what they begin with, that nobody does with a mouse and keyboard."""
