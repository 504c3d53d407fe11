"""What a CDP command says: as it is recorded, and as it is compared with what a process sent before. Pure.

Ids, handles and time stamps are made anew by every browser and every client, so they say nothing. A target is named by
its number: that of its tab in the order of opening.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from harness.api import CodecError, digest, dumps
from harness.api.records import BrowserCommand

_IDS = frozenset(
    {
        *("backendNodeId", "contextId", "entryId", "executionContextId", "frameId", "guid", "identifier", "loaderId"),
        *("nodeId", "objectId", "requestId", "scriptId", "searchId", "sessionId", "styleSheetId", "targetId"),
        *("timestamp", "uniqueContextId", "browserContextId", "objectGroup", "id"),
    }
)
_ROUNDED = frozenset({"x", "y", "deltaX", "deltaY", "width", "height"})
_LONGEST = 300
_SHOWN_VALUE = 120
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_QUIET = frozenset({"", "[]", "{}", None, 0})
"""Values that say nothing to people."""


def recorded(method: str, params: Mapping[str, Any], *, target: str, canonical: Callable[[str], str]) -> BrowserCommand:
    """The command as the journal holds it.

    Args:
        target: In what it is performed, as `tab 1`.
        canonical: Replaces the addresses of this deployment, and what is volatile.
    Raises:
        CodecError: It is nested too deeply.
    """
    try:
        said = {name: _plain(name, value, canonical) for name, value in sorted(params.items()) if name not in _IDS}
    except RecursionError as error:
        raise CodecError("nested too deeply") from error
    return BrowserCommand(method=method, key=digest([method, target, said])[:16], text=_text(method, target, said))


def _plain(name: str, value: Any, canonical: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return canonical(value)
    if isinstance(value, Mapping):
        return {key: _plain(key, one, canonical) for key, one in sorted(value.items()) if key not in _IDS}
    if isinstance(value, list):
        return [_plain("", one, canonical) for one in value]
    if isinstance(value, float) or name in _ROUNDED:
        return round(value) if isinstance(value, int | float) else value
    return value


def _text(method: str, target: str, said: Mapping[str, Any]) -> str:
    parts = [f"{method} in {target}"]
    for name, value in said.items():
        if isinstance(value, dict | list):
            value = dumps(value).decode()
        if value in _QUIET:
            continue
        shown = _CONTROLS.sub(" ", str(value))
        parts.append(f"{name}={shown if len(shown) <= _SHOWN_VALUE else shown[:_SHOWN_VALUE] + '…'}")
    text = " ".join(parts)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
