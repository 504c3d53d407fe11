"""Scripts of a process that do what it could do by input: fill in fields, as clients do with lists, dates and files,
move the focus, scroll.

Such a script waits until the page was observed, and a field that it is called with is looked at before and after it.
They are known by their text; a script that hides what it does only shows in the next observation. Pure.
"""

import re
from collections.abc import Iterator
from typing import Any

from harness.plugins.process_agent.cdp.wire import Request

_MOST_TEXT = 100_000
"""Characters of a script that are looked at."""
_MOST_HANDLES = 8
_RUNS = frozenset({"Runtime.callFunctionOn", "Runtime.evaluate"})
_WRITES = re.compile(
    r"\.(?:fill|selectOptions?|setInputFiles|dispatchEvent|setRangeText|execCommand|click|check|submit|requestSubmit"
    r"|focus\w*|blur\w*|scroll\w*)\s*\("
    r"|\bscroll(?:To|By)?\s*\("
    r"|\.(?:value|checked|selected|selectedIndex|textContent|innerText|innerHTML|files|scrollTop|scrollLeft)\s*[-+]?=[^=]"
    r"|getOwnPropertyDescriptor"
)
_CLICKS = re.compile(r"\.click\s*\(")


def disturbs(request: Request) -> bool:
    """Whether a command may change what is seen of a page, as far as its text tells."""
    if request.method == "DOM.scrollIntoViewIfNeeded":
        return True
    return request.method in _RUNS and any(_WRITES.search(text) for text in _texts(request))


def clicks(request: Request) -> bool:
    """Whether such a script may click."""
    return any(_CLICKS.search(text) for text in _texts(request))


def handles(request: Request) -> list[str]:
    """What a script is called with, by handle; the last one is what it works on."""
    if request.method not in _RUNS:
        return []
    given = [request.params.get("objectId"), *(one.get("objectId") for one in _arguments(request))]
    return list(dict.fromkeys(one for one in given if isinstance(one, str)))[:_MOST_HANDLES]


def _texts(request: Request) -> Iterator[str]:
    given = [
        request.params.get("functionDeclaration"),
        request.params.get("expression"),
        *(one.get("value") for one in _arguments(request)),
    ]
    yield from (one[:_MOST_TEXT] for one in given if isinstance(one, str))


def _arguments(request: Request) -> list[dict[str, Any]]:
    given = request.params.get("arguments")
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
