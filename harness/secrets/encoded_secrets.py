"""The forms in which a known secret may stand in a text: as it is, escaped, escaped again inside something else,
base64.

Invariant: a secret, also one in lower or upper case, is found however its characters were escaped for JSON, scripts,
HTML or an address, one in the other and again and again (HTML in JSON, JSON in the JSON of a HAR, percent signs that
were percent-encoded), each character by itself; as base64 and as base64 of base64, at every alignment and in both
alphabets, of all its usual escaped forms; and as hexadecimal digits.

The time is linear in the text: a form is looked for only where its longest run of characters that nothing escapes is
found, and then by a pattern that tries a bounded number of characters at each place. Patterns are made when first
needed.

Does not find a secret that was cut in two, compressed, encrypted, or written otherwise (in UTF-16, with its letters
escaped).
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from html.entities import codepoint2name
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from harness.secrets.spellings import HEXADECIMAL, SHORTEST_ENCODED, USUAL, base64_core

_INERT = re.compile(r"[A-Za-z0-9_.-]+")
"""Characters that no escaping changes."""
_PLAIN_LETTERS = re.compile(r"[A-Za-z0-9]+")
_ANYTHING = re.compile(r".+", re.DOTALL)
_RUN = re.compile(r"(.)\1*", re.DOTALL)
# Shorter ones are in nearly every text, so that looking for them first would save nothing.
_LEAST_ANCHOR = 3
_SEARCHED_AT_ONCE = 64
"""Up to so many texts the library looks for with vector instructions; one more makes the search 6 times slower."""


class SecretMatch(NamedTuple):
    """The position of a secret in a text."""

    start: int
    end: int
    name: str


class _Form:
    """One way to find one secret."""

    def __init__(self, name: str, text: str, *, inert: re.Pattern[str], twins: Mapping[str, str] | None = None) -> None:
        """`inert`: what is never written otherwise. `twins`: characters that may stand for others (`-` for `+` in
        base64).
        """
        self.name = name
        self.text = text
        self.anchor = max(inert.findall(text), key=len, default="")
        self._inert = inert
        self._twins = twins or {}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        # In a row of backslashes it is tried once, at its beginning, and not at each of them.
        begin = (
            "" if self._inert.match(self.text) else r"(?<!\\)(?<!%5[cC])(?<!%255[cC])(?<!#92;)(?<!#x5[cC];)(?<!bsol;)"
        )
        return re.compile(begin + "".join(self._spelt(run[0]) for run in _RUN.finditer(self.text)))

    def _spelt(self, run: str) -> str:
        if self._inert.fullmatch(run):
            return re.escape(run)
        twin = self._twins.get(run[0])
        pattern = escaped_pattern(run[0], len(run))
        return f"(?:{pattern}|{re.escape(twin * len(run))})" if twin else pattern

    def find(self, text: str) -> Iterator[SecretMatch]:
        if self.anchor in text:
            yield from (SecretMatch(found.start(), found.end(), self.name) for found in self.pattern.finditer(text))


class EncodedSecrets:
    """Finds some secrets, by name."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._forms = [form for name, value in secrets.items() for form in _forms(name, value)]
        self._tells = all(len(form.anchor) >= _LEAST_ANCHOR for form in self._forms)
        anchors = sorted({form.anchor.encode() for form in self._forms}) if self._tells else []
        # Of the kinds of match only these let the library skip ahead by vector instructions: 1 us for a page, not 30.
        self._searches = [
            BytesAhoCorasick(anchors[at : at + _SEARCHED_AT_ONCE], matchkind=MatchKind.LeftmostFirst)
            for at in range(0, len(anchors), _SEARCHED_AT_ONCE)
        ]

    def may_be_in(self, data: bytes) -> bool:
        """Whether UTF-8 text may hold one of them: cheap, never wrong when it says no."""
        return not self._tells or any(search.find_matches_as_indexes(data) for search in self._searches)

    def find(self, text: str) -> list[SecretMatch]:
        """Where the secrets are, in order and without overlaps: of two that begin together the longer one."""
        if not self.may_be_in(text.encode("utf-8", "replace")):
            return []
        found = sorted((one for form in self._forms for one in form.find(text)), key=lambda one: (one.start, -one.end))
        apart: list[SecretMatch] = []
        for one in found:
            if not apart or one.start >= apart[-1].end:
                apart.append(one)
            elif one.end > apart[-1].end:  # two secrets share characters: neither may show its rest
                apart[-1] = apart[-1]._replace(end=one.end)
        return apart


def _forms(name: str, value: str) -> Iterator[_Form]:
    # Evaluators compare in lower case, and style sheets show text in upper case.
    for text in dict.fromkeys((value, value.lower(), value.upper())):
        yield _Form(name, text, inert=_INERT)
    data = value.encode("utf-8", "replace")
    for digits in dict.fromkeys(write(value) for write in HEXADECIMAL.values()):
        yield _Form(name, digits, inert=_ANYTHING)
    inner = dict.fromkeys([value, *(escape(value) for escape in USUAL.values())])
    if len(inner) > 1:  # a secret that reads like an escape itself is at least found in these
        yield from (_Form(name, text, inert=_ANYTHING) for text in inner)
    cores = dict.fromkeys(core for text in inner for core in base64_cores(text.encode("utf-8", "replace")))
    twice = dict.fromkeys(outer for core in base64_cores(data) for outer in base64_cores(core.encode()))
    for core in {**cores, **twice}:
        yield _Form(name, core, twins={"+": "-", "/": "_"}, inert=_PLAIN_LETTERS)


def base64_cores(data: bytes) -> Iterator[str]:
    """The characters that encode `data` and nothing else, at each of the three alignments."""
    yield from (core for shift in range(3) if len(core := base64_core(data, shift)) >= SHORTEST_ENCODED)


# --- how a character may be written ---------------------------------------------------------------

_PERCENT = "%(?:25){0,9}"
"""A percent sign, percent-encoded any number of times."""
_END = f"(?:;|{_PERCENT}3[bB])"
_HASH = f"(?:#|{_PERCENT}23)"
_ENTITY = f"(?:&|{_PERCENT}26)(?:(?:amp|{_HASH}38|{_HASH}[xX]26){_END}){{0,9}}"
"""The beginning of an entity, escaped for HTML any number of times."""
_ENTITY_BACKSLASH = f"{_ENTITY}(?:{_HASH}92|{_HASH}[xX]5[cC]|bsol){_END}"


def _backslashes(least: int) -> str:
    """A row of backslashes, all of them escaped in the same way; taken whole, or not at all."""
    entities = (
        rf"(?:{_ENTITY_BACKSLASH}){{{least},{least + 30}}}+"  # each takes some tries: HTML of so many is not written
    )
    return rf"(?:\\{{{least},{least + 254}}}+|(?:{_PERCENT}5[cC]){{{least},{least + 254}}}+|{entities})"


_ESCAPED = f"(?:{_backslashes(1)})?+"
"""The prefix of an escaped character: for each JSON in JSON one backslash more than twice as many."""
_AMPERSAND = f"(?:{_ENTITY}|{_ESCAPED}(?:u0026|x26)(?:amp{_END}){{0,9}})"
_SHORT = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", "\v": "v"}


@cache
def escaped_pattern(character: str, count: int = 1) -> str:
    """A pattern for a character, or a row of the same, escaped in any way, any number of times."""
    if character == "\\":
        return _backslashes(count)  # as many as there are: what follows may do without
    ways = f"(?:{'|'.join(_ways(character))})"
    # `%5C` is a backslash, or a percent sign and two letters: of a secret that has one, the latter comes first.
    either = f"(?:{ways}|{_backslashes(1)}{ways})" if character in "&%" else f"{_ESCAPED}{ways}"
    return f"(?:{either}){{{count}}}" if count > 1 else either


def _ways(character: str) -> Iterator[str]:
    """No two of them begin a text alike, so that none is tried twice."""
    if character == "&":
        yield _AMPERSAND
        return
    code, units = ord(character), character.encode("utf-16-be", "surrogatepass").hex()
    yield _PERCENT if character == "%" else re.escape(character)
    yield from (_SHORT[character],) if character in _SHORT else ()
    yield _ESCAPED.join(f"u{_any_case(units[at : at + 4])}" for at in range(0, len(units), 4))
    if code < 256:
        yield f"x{_any_case(f'{code:02x}')}"
    names = [f"{_HASH}0{{0,4}}{code}", f"{_HASH}[xX]0{{0,4}}{_any_case(f'{code:x}')}"]
    names += [name for name in (codepoint2name.get(code), "apos" if character == "'" else None) if name]
    yield f"{_AMPERSAND}(?:{'|'.join(names)}){_END}"
    if character != "%":
        encodings = dict.fromkeys((character.encode("utf-8", "replace"), character.encode("latin-1", "ignore")))
        yield from ("".join(f"{_PERCENT}{_any_case(f'{byte:02x}')}" for byte in data) for data in encodings if data)
    if character == " ":
        yield rf"\+|{_PERCENT}2[bB]"


def _any_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)
