"""How a known secret was written where it was found: escaped for JSON, HTML or an address, in base64, in other case.

Invariant: `spelled(value, spelling(value, written)) == written`. A spelling names ways of writing, applied from left to
right (`html.json`: HTML in JSON), and says nothing of the secret, so it can be stored in its place. What was written in
no known way, such as with every second letter escaped, has no spelling. Pure.
"""

import base64
import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from threading import Lock
from urllib.parse import quote, quote_plus

SHORTEST_ENCODED = 8
"""Fewer characters of base64 say too little: they would be found by chance."""
_DEEPEST = 3
"""Escapes one in the other."""
_MOST = 20_000
"""Ways of writing one secret; beyond, those that are escaped most often are not known."""


def base64_core(data: bytes, shift: int) -> str:
    """The characters that encode `data` and nothing else, when `shift` bytes (0 to 2) stand before it."""
    encoded = base64.b64encode(bytes(shift) + data).decode().rstrip("=")
    return encoded[-(-shift * 4 // 3) : (shift + len(data)) * 8 // 6]


def _percent(safe: str) -> Callable[[str], str]:
    return lambda text: quote(text, safe=safe, errors="replace")


def _by_number(entities: Mapping[str, str]) -> Callable[[str], str]:
    table = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", **entities})
    return lambda text: text.translate(table)


def _core(shift: int, *, for_addresses: bool = False) -> Callable[[str], str]:
    def encode(text: str) -> str:
        core = base64_core(text.encode("utf-8", "replace"), shift)
        return core.replace("+", "-").replace("/", "_") if for_addresses else core

    return encode


_CASES: Mapping[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper}
"""Our evaluators compare in lower case, and style sheets show text in upper case."""
USUAL: Mapping[str, Callable[[str], str]] = {
    "json": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "ascii": lambda text: json.dumps(text)[1:-1],
    "html": html.escape,
    "percent": _percent(""),
    "form": lambda text: quote_plus(text, errors="replace"),
}
"""What is inside base64 was escaped like this, if at all."""
_ESCAPES: Mapping[str, Callable[[str], str]] = {
    **USUAL,
    "script": lambda text: json.dumps(text)[1:-1].translate({ord(one): f"\\u{ord(one):04x}" for one in "<>&"}),
    "slash": lambda text: json.dumps(text, ensure_ascii=False)[1:-1].replace("/", "\\/"),
    "quoted": lambda text: text.replace("\\", "\\\\").replace("'", "\\'"),
    "text": lambda text: html.escape(text, quote=False),
    "attribute": lambda text: text.replace("&", "&amp;").replace('"', "&quot;"),
    "decimal": _by_number({'"': "&#34;", "'": "&#39;"}),
    "quot": _by_number({'"': "&quot;", "'": "&#39;"}),
    "php": _by_number({'"': "&quot;", "'": "&#039;"}),
    "path": _percent("/"),
    "component": _percent("!'()*"),
    "uri": _percent(";,/?:@&=+$-_.!~*'()#"),
    "query": _percent("!$%&'()*+,-./:;=?@[\\]^_`{|}~"),
    "special": _percent("!$%&()*+,-./:;=?@[\\]^_`{|}~"),
    # A backslash that happens to follow one at the end of a secret is found as a part of it.
    "tail": lambda text: f"{text}\\" if text.endswith("\\") else text,
    "small": lambda text: re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), text),
}
HEXADECIMAL: Mapping[str, Callable[[str], str]] = {
    "hex": lambda text: text.encode("utf-8", "replace").hex(),
    "hexupper": lambda text: text.encode("utf-8", "replace").hex().upper(),
    "bytes": lambda text: text.encode("utf-8", "replace").hex("%"),
    "bytesupper": lambda text: text.encode("utf-8", "replace").hex("%").upper(),
}
_BASE64: Mapping[str, Callable[[str], str]] = {
    **{f"base64-{shift}": _core(shift) for shift in range(3)},
    **{f"base64url-{shift}": _core(shift, for_addresses=True) for shift in range(3)},
}
_WAYS: Mapping[str, Callable[[str], str]] = {**_CASES, **_ESCAPES, **HEXADECIMAL, **_BASE64}


def spelling(value: str, written: str) -> str | None:
    """How `written` writes the secret `value`: "" = as it is, None = in no known way."""
    return "" if written == value else _spellings(value).find(written)


def spelled(value: str, way: str) -> str | None:
    """The secret `value` written in a way that `spelling` gave; None = it is written otherwise."""
    for name in filter(None, way.split(".")):
        if (write := _WAYS.get(name)) is None:
            return None
        value = write(value)
    return value


def is_encoded(way: str) -> bool:
    """Whether a way that `spelling` gave is more than escapes and upper or lower case."""
    return not {*HEXADECIMAL, *_BASE64}.isdisjoint(way.split("."))


class _Spellings:
    """Every known way of writing a secret; they are made as far as they are needed, the least escaped ones first."""

    def __init__(self, value: str) -> None:
        self._found: dict[str, str] = {}
        self._rest = islice(_written(value), _MOST)
        self._making = Lock()

    def find(self, written: str) -> str | None:
        # Each lane redacts in the thread of its writer.
        with self._making:
            while written not in self._found:
                if (made := next(self._rest, None)) is None:
                    return None
                self._found.setdefault(*made)
            return self._found[written]


_spellings = lru_cache(maxsize=64)(_Spellings)


def _written(value: str) -> Iterator[tuple[str, str]]:
    plain = {value: "", **{write(value): name for name, write in _CASES.items()}}
    yield from _escaped(plain, _DEEPEST)
    inside = {value: "", **_each(USUAL, value)}
    cores = {core: way for text, name in inside.items() for core, way in _cores(text, name)}
    twice = {core: way for text, name in _cores(value, "") for core, way in _cores(text, name)}
    yield from _escaped({**twice, **cores, **_each(HEXADECIMAL, value)}, 1)


def _escaped(texts: Mapping[str, str], depth: int) -> Iterator[tuple[str, str]]:
    """The texts, and each of them escaped, the least escaped ones first."""
    known, level = set(texts), texts
    yield from texts.items()
    for _ in range(depth):
        after: dict[str, str] = {}
        for text, way in level.items():
            for escaped, name in _each(_ESCAPES, text).items():
                if escaped not in known:
                    known.add(escaped)
                    after[escaped] = f"{way}.{name}" if way else name
        yield from after.items()
        level = after


def _cores(text: str, way: str) -> Iterator[tuple[str, str]]:
    for core, name in _each(_BASE64, text).items():
        if len(core) >= SHORTEST_ENCODED:
            yield core, f"{way}.{name}" if way else name


def _each(ways: Mapping[str, Callable[[str], str]], text: str) -> dict[str, str]:
    """The text in each of these ways, the first one's name where two of them write the same."""
    found: dict[str, str] = {}
    for name, write in ways.items():
        found.setdefault(write(text), name)
    return found
