"""The forms in which a known secret may stand in a text: as it is, escaped, escaped again inside something else, base64.

Invariant: a secret is found however its characters were escaped for JSON, HTML or an address, up to three times over (HTML in
JSON, JSON in the JSON of a HAR, percent signs that were percent-encoded), each character by itself; as base64 and as base64
of base64, at every alignment and in both alphabets, of all its usual escaped forms; and as hexadecimal digits.

The time is linear in the text: a form is looked for only where its longest run of characters that nothing escapes is found,
and then by a pattern that tries a bounded number of characters at each place. Patterns are made when first needed.

Does not find a secret that was cut in two, compressed, encrypted, or written otherwise (in UTF-16, with its letters escaped).
"""

import base64
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from html.entities import codepoint2name
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from ahocorasick_rs import BytesAhoCorasick, MatchKind

SHORTEST_ENCODED = 8
"""Fewer characters of base64 say too little: they would be found by chance."""
_LAYERS = 3
_INERT = re.compile(r"[A-Za-z0-9_.-]+")
"""Characters that no escaping changes."""
_PLAIN_LETTERS = re.compile(r"[A-Za-z0-9]+")
_ANYTHING = re.compile(r".+", re.DOTALL)
_RUN = re.compile(r"(.)\1*", re.DOTALL)
_LEAST_ANCHOR = 3
_HEX = re.compile(r"\\u[0-9a-f]{4}|%[0-9A-F]{2}")


class Found(NamedTuple):
    """Where a secret stands in a text."""

    start: int
    end: int
    name: str


class _Form:
    """One way to find one secret."""

    def __init__(self, name: str, text: str, *, inert: re.Pattern[str], twins: Mapping[str, str] | None = None) -> None:
        """`inert`: what is never written otherwise. `twins`: characters that may stand for others (`-` for `+` in base64)."""
        self.name = name
        self.text = text
        self.anchor = max(inert.findall(text), key=len, default="")
        self._inert = inert
        self._twins = twins or {}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile("".join(self._spelt(run[0]) for run in _RUN.finditer(self.text)))

    def _spelt(self, run: str) -> str:
        """One character, or a run of the same one, which is escaped alike: else a row of backslashes could be read in many ways."""
        if self._inert.fullmatch(run):
            return re.escape(run)
        ways = ways_to_write(run) | {self._twins.get(run[0], run[0]) * len(run)}
        return f"(?:{'|'.join(map(re.escape, sorted(ways, key=lambda way: (-len(way), way))))})"

    def find(self, text: str) -> Iterator[Found]:
        if self.anchor in text:
            yield from (Found(found.start(), found.end(), self.name) for found in self.pattern.finditer(text))


class Disguises:
    """Finds some secrets, by name."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._forms = [form for name, value in secrets.items() for form in _forms(name, value)]
        anchors = {form.anchor for form in self._forms}
        self._tells = all(len(anchor) >= _LEAST_ANCHOR for anchor in anchors)
        # Of the kinds of match only these let the library skip ahead by vector instructions: 1 us for a page, not 30.
        self._anchors = BytesAhoCorasick(
            sorted(anchor.encode() for anchor in anchors) if self._tells else [], matchkind=MatchKind.LeftmostFirst
        )

    def may_be_in(self, data: bytes) -> bool:
        """Whether UTF-8 text may hold one of them: cheap, never wrong when it says no."""
        return not self._tells or bool(self._anchors.find_matches_as_indexes(data))

    def find(self, text: str) -> list[Found]:
        """Where the secrets are, in order and without overlaps: of two that begin together the longer one."""
        if not self.may_be_in(text.encode("utf-8", "replace")):
            return []
        found = sorted((one for form in self._forms for one in form.find(text)), key=lambda one: (one.start, -one.end))
        apart: list[Found] = []
        for one in found:
            if not apart or one.start >= apart[-1].end:
                apart.append(one)
            elif one.end > apart[-1].end:  # two secrets share characters: neither may show its rest
                apart[-1] = apart[-1]._replace(end=one.end)
        return apart


@cache
def ways_to_write(text: str) -> frozenset[str]:
    """A text as it is, and escaped up to three times, in the same way or in different ones."""
    ways = {text, *(escape(text) for escape in _ESCAPES)}
    for _ in range(_LAYERS - 1):
        ways |= {escape(way) for way in ways for escape in _AROUND}
    return frozenset(ways)


def _forms(name: str, value: str) -> Iterator[_Form]:
    yield _Form(name, value, inert=_INERT)
    data = value.encode("utf-8", "replace")
    for digits in dict.fromkeys((data.hex(), data.hex().upper(), data.hex("%"), data.hex("%").upper())):
        yield _Form(name, digits, inert=_ANYTHING)
    inner = dict.fromkeys([value, *(escape(value) for escape in _USUAL)])
    cores = dict.fromkeys(core for text in inner for core in base64_cores(text.encode("utf-8", "replace")))
    twice = dict.fromkeys(outer for core in base64_cores(data) for outer in base64_cores(core.encode()))
    for core in {**cores, **twice}:
        yield _Form(name, core, twins={"+": "-", "/": "_"}, inert=_PLAIN_LETTERS)


def base64_cores(data: bytes) -> Iterator[str]:
    """The characters that encode `data` and nothing else, at each of the three alignments."""
    for shift in range(3):
        encoded = base64.b64encode(bytes(shift) + data).decode().rstrip("=")
        core = encoded[-(-shift * 4 // 3) : (shift + len(data)) * 8 // 6]
        if len(core) >= SHORTEST_ENCODED:
            yield core


# --- one layer of escaping ------------------------------------------------------------------------


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _json_ascii(text: str) -> str:
    return json.dumps(text)[1:-1]


def _json_slashes(text: str) -> str:
    return _json(text).replace("/", r"\/")


def _json_in_html(text: str) -> str:
    """As Go, Rails, PHP and .NET write it, so that it may stand in a script of a page."""
    return "".join(f"\\u{ord(one):04x}" if one in "<>&'\"+`" else _json(one) for one in text)


def _upper(escape: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: _HEX.sub(lambda found: found[0][:2] + found[0][2:].upper(), escape(text))


def _lower(escape: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), escape(text))


def _html_text(text: str) -> str:
    return html.escape(text, quote=False)


def _html_attribute(text: str) -> str:
    """As a browser writes one."""
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("\xa0", "&nbsp;")


def _html_decimal(text: str) -> str:
    return _entities(text, lambda one: f"&#{ord(one)};")


def _html_hex(text: str) -> str:
    return _entities(text, lambda one: f"&#x{ord(one):x};")


def _html_hex_upper(text: str) -> str:
    return _entities(text, lambda one: f"&#x{ord(one):X};")


def _html_named(text: str) -> str:
    return _entities(text, lambda one: f"&{codepoint2name[ord(one)]};" if ord(one) in codepoint2name else one)


def _html_apostrophe(text: str) -> str:
    return _html_named(text).replace("'", "&apos;")


def _entities(text: str, entity: Callable[[str], str]) -> str:
    return "".join(one if one.isascii() and one.isalnum() else entity(one) for one in text)


def _url(text: str) -> str:
    return quote(text, safe="", errors="replace")


def _url_form(text: str) -> str:
    return quote_plus(text, errors="replace")


def _url_whole(text: str) -> str:
    """Only what no address may hold."""
    return quote(text, safe="!'()*~/;?:@&=+$,#[]", errors="replace")


_ESCAPES: Iterable[Callable[[str], str]] = (
    *(_json, _json_ascii, _upper(_json_ascii), _json_slashes, _json_in_html, _upper(_json_in_html)),
    *(
        html.escape,
        _html_text,
        _html_attribute,
        _html_decimal,
        _html_hex,
        _html_hex_upper,
        _html_named,
        _html_apostrophe,
    ),
    *(_url, _lower(_url), _url_form, _lower(_url_form), _url_whole),
)
_AROUND: Iterable[Callable[[str], str]] = (
    *(_json, _json_slashes, _json_in_html, _upper(_json_in_html), html.escape, _html_text, _url, _lower(_url)),
)
"""What escapes the escapes."""
_USUAL = (_json, _json_ascii, html.escape, _url, _url_form)
"""What is inside base64 was escaped like this, if at all."""
