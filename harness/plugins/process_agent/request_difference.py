"""Where a request differs from a recorded one, in words: what the owner of an agent needs to find out why. Pure."""

from itertools import zip_longest
from typing import Any

from harness.api import dumps
from harness.api.text import cut

_LONGEST_PLACE = 120
_BEFORE, _AFTER = 20, 40
"""Characters shown of a text, from where it differs."""
_MISSING = object()


def first_difference(recorded: Any, asked: Any) -> str | None:
    """The first place, as a JSON pointer, and what is in it; None = there is none, or it is nested too deeply.

    Args:
        recorded, asked: Bodies of requests, as trees without what is volatile.
    """
    try:
        found = _first(recorded, asked, "")
    except RecursionError:
        return None
    if found is None:
        return None
    place, there, here = found
    return f"{cut(repr(place)[1:-1], _LONGEST_PLACE) or 'the body'} is {here} (recorded: {there})"


def _first(recorded: Any, asked: Any, place: str) -> tuple[str, str, str] | None:
    if isinstance(recorded, dict) and isinstance(asked, dict):
        keys = (*recorded, *(key for key in asked if key not in recorded))
        pairs = [(key, recorded.get(key, _MISSING), asked.get(key, _MISSING)) for key in keys]
    elif isinstance(recorded, list) and isinstance(asked, list):
        both = zip_longest(recorded, asked, fillvalue=_MISSING)
        pairs = [(str(at), there, here) for at, (there, here) in enumerate(both)]
    elif type(recorded) is type(asked) and recorded == asked:
        return None
    else:
        at = _apart(recorded, asked) if isinstance(recorded, str) and isinstance(asked, str) else 0
        return place, _shown(recorded, at), _shown(asked, at)
    for key, there, here in pairs:
        if (found := _first(there, here, f"{place}/{key.replace('~', '~0').replace('/', '~1')}")) is not None:
            return found
    return None


def _apart(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _shown(value: Any, at: int) -> str:
    if value is _MISSING:
        return "missing"
    if not isinstance(value, str):
        return cut(repr(dumps(value).decode())[1:-1], _BEFORE + _AFTER)
    begin, end = max(0, at - _BEFORE), at + _AFTER
    return ("…" if begin else "") + repr(value[begin:end]) + ("…" if end < len(value) else "")
