"""Which CDP commands copy, cut or paste; pure."""

from harness.plugins.process_agent.cdp.wire import Request

_SHIFT, _CONTROL_OR_META = 8, 2 | 4
"""Bits of `modifiers`."""
_LETTERS = frozenset({"c", "x", "v", "keyc", "keyx", "keyv"})
_LETTER_CODES = frozenset({0x43, 0x58, 0x56})
_OTHERS = frozenset({"insert", "delete"})
_OTHER_CODES = frozenset({0x2D, 0x2E})
_CODES = ("windowsVirtualKeyCode", "nativeVirtualKeyCode")


def uses_clipboard(request: Request) -> bool:
    """Whether the browser may copy, cut or paste because of it."""
    params = request.params
    if request.method != "Input.dispatchKeyEvent" or params.get("type") == "keyUp":
        return False
    if params.get("commands"):  # of the editor, by name
        return True
    held = _whole(params.get("modifiers")) or 0
    names = {str(params.get(name)).lower() for name in ("key", "code", "keyIdentifier")}
    codes = {_whole(params.get(name)) for name in _CODES}
    is_other = bool(names & _OTHERS or codes & _OTHER_CODES)
    if held & _CONTROL_OR_META:
        return is_other or bool(names & _LETTERS or codes & _LETTER_CODES)
    return is_other and bool(held & _SHIFT)


def _whole(value: object) -> int | None:
    """A number as Chromium takes it, for which 2.0 is 2; None = it takes none."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None


def grants_clipboard(request: Request) -> bool:
    """Whether it lets scripts read or write the clipboard."""
    if request.method == "Browser.grantPermissions":
        return "clipboard" in str(request.params.get("permissions")).lower()
    return request.method == "Browser.setPermission" and "clipboard" in str(request.params.get("permission")).lower()
