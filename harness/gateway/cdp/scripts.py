"""Scripts of a process that write into an element, as clients fill in what no keyboard fills: lists, dates, files.

Only scripts that are called with an element are looked at, and of them those whose text writes. Whether they did is
seen in the element itself. Pure.
"""

import re
from collections.abc import Iterator
from typing import Any

from harness.gateway.cdp.wire import Request

_MOST_TEXT = 100_000
"""Characters of a script that are looked at; what clients send to one element is shorter."""
_MOST_HANDLES = 8
_WRITES = re.compile(
    r"\.(?:fill|selectOptions?|setInputFiles|dispatchEvent|setRangeText|execCommand|click|check)\s*\("
    r"|\.(?:value|checked|selected|selectedIndex|textContent|innerText|innerHTML|files)\s*=[^=]"
    r"|getOwnPropertyDescriptor"
)
_CLICKS = re.compile(r"\.click\s*\(")


def writes(request: Request) -> bool:
    """Whether a command calls a script with an element, or something else, into which it may write."""
    if request.method != "Runtime.callFunctionOn" or not handles(request):
        return False
    return any(_WRITES.search(text) for text in _texts(request))


def clicks(request: Request) -> bool:
    """Whether such a script may click."""
    return any(_CLICKS.search(text) for text in _texts(request))


def handles(request: Request) -> list[str]:
    """What a script is called with, by handle; the last one is what it works on."""
    given = [request.params.get("objectId"), *(one.get("objectId") for one in _arguments(request))]
    return list(dict.fromkeys(one for one in given if isinstance(one, str)))[:_MOST_HANDLES]


def _texts(request: Request) -> Iterator[str]:
    given = [request.params.get("functionDeclaration"), *(one.get("value") for one in _arguments(request))]
    yield from (one[:_MOST_TEXT] for one in given if isinstance(one, str))


def _arguments(request: Request) -> list[dict[str, Any]]:
    given = request.params.get("arguments")
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
