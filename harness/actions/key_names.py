"""Key names: what a reply may call a key, and what Playwright calls it.

Unknown names pass unchanged: the browser is the judge of what it can press.
"""

_WEBARENA = {
    "backquote": "Backquote",
    "minus": "Minus",
    "equal": "Equal",
    "backslash": "Backslash",
    "backspace": "Backspace",
    "meta": "Meta",
    "tab": "Tab",
    "delete": "Delete",
    "escape": "Escape",
    "arrowdown": "ArrowDown",
    "end": "End",
    "enter": "Enter",
    "home": "Home",
    "insert": "Insert",
    "pagedown": "PageDown",
    "pageup": "PageUp",
    "arrowright": "ArrowRight",
    "arrowup": "ArrowUp",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}

_EVERY = _WEBARENA | {
    "control": "Control",
    "ctrl": "Control",
    "shift": "Shift",
    "alt": "Alt",
    "option": "Alt",
    "cmd": "Meta",
    "command": "Meta",
    "arrowleft": "ArrowLeft",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "page_down": "PageDown",
    "page_up": "PageUp",
    "space": "Space",
    "esc": "Escape",
    "return": "Enter",
    "del": "Delete",
}


def webarena_keys(key_comb: str) -> str:
    """Playwright's names for the keys WebArena knows; its table lacks Control, Shift, Alt, ArrowLeft and Space."""
    return "+".join(_WEBARENA.get(key.lower(), key) for key in key_comb.split("+"))


def cairn_keys(key_comb: str) -> str:
    """Playwright's names, forgiving blanks, capitals and common short names."""
    names = ("Space" if key.isspace() else key.strip() for key in key_comb.split("+"))
    return "+".join(_EVERY.get(name.lower(), name) for name in names)
