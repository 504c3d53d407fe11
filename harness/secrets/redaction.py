"""Keeps secrets out of run folders: everything is redacted here before it is written.

Invariant: no value of a named secret, in any known encoding (`encoded_secrets`), passes `text` or `data`, nor does a
credential in an Authorization or Cookie header or an `sk-…` key. A named secret becomes `[redacted:NAME]`, or
`[redacted:NAME~SPELLING]` where it was escaped or encoded (`spellings`); `reveal` undoes both exactly, given the same
secrets: a marker that was already in the text is written as `[redacted::NAME]`, so a page cannot smuggle one in. For
good are `[redacted:NAME~]`, which was written in no known way, and `[redacted]`, which only a pattern recognised.

It does not change binary data (screenshots), field names and tags of records, secrets shorter than four characters, and
those that stay readable because they are words (`secret_detection.readable`).
Why: docs/decisions/security.md#redaction-can-be-undone-with-the-secret
"""

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import partial

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from harness.secrets.encoded_secrets import EncodedSecrets, SecretMatch
from harness.secrets.secret_detection import is_common
from harness.secrets.spellings import spelled, spelling
from harness.trees import each_text

MIN_LENGTH = 4
"""Shorter secrets would redact half of every page and protect nothing."""

_MARK = "[redacted:"
_MARKER = re.compile(r"\[redacted:(:|[^:\[\]]+\])")
_SPELT = "~"
_GONE = f"{_MARK}credential{_SPELT}]"
_TAKEN_OUT = re.compile(r"\[redacted\]|(?:\w+\s+)?\[redacted:[^:\[\]]+\]")
"""A credential of which only a named secret is left, which can be put back, or nothing (of a network trace)."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_BARE = re.compile(r"[-+.0-9eE]+|true|false|null")
"""Secrets that JSON may hold outside of a text, where a marker would break it."""
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)

_VALUE = r"[^\s\"',;\\<>]+"
_LONGEST_NAME = 256
"""Of a cookie, in characters: a `cookie:` is a name's beginning, too."""
_CLUES = ("sk-", "ookie", "OOKIE", "earer ", "EARER ", "uthorization", "UTHORIZATION")
"""A text must contain one of these before the patterns are tried: headers in lower, upper or title case.
"""
_PATTERNS = (
    re.compile(
        r"(?i)((?:proxy-)?authorization\\?[\"']?\s*[:=]\s*\\?[\"']?)"
        rf"(?:(?:basic|bearer|digest|negotiate|token)\s+{_VALUE}|[^\s\"',;\\<>]{{16,}})"
    ),
    re.compile(r"(?i)(\bbearer\s+)(?=[\w.~+/=-]*\d)[\w.~+/=-]{16,}"),
    re.compile(
        r"(?i)(\b(?:set-)?cookie\\?[\"']?\s*[:=]\s*\\?[\"']?)"
        rf"[^\s=;,\"'\\<>]{{1,{_LONGEST_NAME}}}={_VALUE}(?:;\s*[^\s=;,\"'\\<>]+(?:=[^\s;,\"'\\<>]*)?)*"
    ),
    re.compile(
        r"(?i)(\"name\":\s*\"(?:set-cookie|cookie|(?:proxy-)?authorization)\",\s*\"value\":\s*\")(?:[^\"\\]|\\.)+"
    ),
    re.compile(r"((?<![A-Za-z0-9_-]))sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}"),
)
"""Credentials without a known name; the first group of each stays.

Pages and models write what is looked through, so each takes time in proportion to it: what may be long before something
else must follow is bounded, or ends where the next one could begin.
"""


class Redactor:
    """Knows the secrets of a run, by name."""

    def __init__(self, secrets: Mapping[str, str] | None = None, *, readable: Collection[str] = ()) -> None:
        """`readable`: names of secrets that are not taken out, as they are words of the run; `reveal` knows them."""
        tame = ((_tame_name(name), _tame_value(value)) for name, value in (secrets or {}).items())
        self._secrets = dict(tame)
        words = set(map(_tame_name, readable))
        hidden = {
            name: value
            for name, value in self._secrets.items()
            if len(value) >= MIN_LENGTH and name not in words and not is_common(value)
        }
        self._hides = hidden
        self._values = frozenset(hidden.values())
        # One name for a value that has several: it would be found, and marked, twice.
        self._disguises = EncodedSecrets(
            {name: value for value, name in {value: name for name, value in hidden.items()}.items()}
        )
        self._may_be_bare = any(map(_BARE.fullmatch, self._values))
        self._shown: tuple[str, ...] = ()
        needles = [needle.encode() for needle in (_MARK, *_CLUES)]
        # Of the kinds of match only these let the library skip ahead by vector instructions: 1 us for a page, not 30.
        self._needles = BytesAhoCorasick(needles, matchkind=MatchKind.LeftmostFirst)

    def showing(self, *texts: str) -> "Redactor":
        """The same, but `said` leaves these texts as they are, such as a path that a person has to copy."""
        other = copy(self)
        other._shown = tuple(filter(None, texts))
        return other

    def touches(self, data: bytes) -> bool:
        """Whether `text` may have anything to do in this UTF-8 text: cheap, never wrong when it says no."""
        return bool(self._needles.find_matches_as_indexes(data)) or self._disguises.may_be_in(data)

    def text(self, text: str) -> str:
        """`text` without secrets."""
        if _SHA256.fullmatch(text) and text not in self._values:
            return text  # a hash of ours, in which a short secret may stand by chance
        if not self.touches(text.encode("utf-8", "replace")):
            return text
        return _redacted(text, self._disguises.find(text), self._marker)

    def data(self, data: bytes, *, for_good: bool = False) -> bytes:
        """`data` without secrets when it is UTF-8 text; anything else as it is. JSON stays JSON.

        Args:
            data: To be written.
            for_good: Nothing will be put back, as in `said`.
        """
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return data
        if not self.touches(data):
            return data
        found, mark = self._disguises.find(text), _MARK if for_good else f"{_MARK}:"
        if found and text[:1] in ("{", "[", '"') and _is_json(data):
            redacted = _redacted(text, self._in_json(text, found), self._marker, mark=mark).encode()
            # A marker in place of a bare number breaks JSON: then each of its texts is redacted by itself.
            return redacted if _is_json(redacted) else _in_texts(data, partial(self._text_in_json, mark=mark))
        return _redacted(text, found, self._marker, mark=mark).encode()

    def said(self, text: str) -> str:
        """`text` without secrets for people, who put nothing back: markers that are in it already stay as they are."""
        if not self.touches(text.encode("utf-8", "replace")):
            return text
        kept = [found.span() for shown in self._shown for found in re.finditer(re.escape(shown), text)]
        found = [one for one in self._disguises.find(text) if not any(a <= one.start and one.end <= b for a, b in kept)]
        return _redacted(text, found, lambda one, _: _marker(one.name), mark=_MARK)

    @property
    def known(self) -> int:
        """Number of named secrets that are taken out."""
        return len(self._hides)

    def secrets_in(self, data: bytes) -> dict[str, str]:
        """The named secrets that are in UTF-8 text, by name."""
        return {one.name: self._hides[one.name] for one in self._disguises.find(data.decode("utf-8", "replace"))}

    def finds(self, data: bytes) -> bool:
        """Whether there is a secret in `data`, text or not; markers are none."""
        text = data.decode("utf-8", "replace")
        return self.said(text) != text

    def reveal(self, text: str, otherwise: Callable[[str, str], str] | None = None) -> str:
        """What `text` was before `self.text`, as far as that is known.

        Args:
            text: With markers.
            otherwise: Writes what stands for a secret that is not known, given its name and spelling; None = the marker
                stays.
        """

        def revealed(found: re.Match[str]) -> str:
            if found[1] == ":":
                return _MARK
            name, _, way = found[1][:-1].partition(_SPELT)
            value = self._secrets.get(name)
            if value is not None and not found[1].endswith(f"{_SPELT}]"):
                if (written := spelled(value, way)) is not None:
                    return written
            return otherwise(name, way) if otherwise else found[0]

        return _MARKER.sub(revealed, text) if _MARK in text else text

    def reveal_data(self, data: bytes, otherwise: Callable[[str, str], str] | None = None) -> bytes:
        """What `data` was before `self.data`; see `reveal`."""
        if _MARK.encode() not in data:
            return data
        try:
            return self.reveal(data.decode(), otherwise).encode()
        except UnicodeDecodeError:
            return data

    def _marker(self, found: SecretMatch, written: str) -> str:
        way = spelling(self._hides[found.name], written)
        return _marker(found.name, None if way == "" else way or "")

    def _in_json(self, text: str, found: Sequence[SecretMatch]) -> list[SecretMatch]:
        """Without those that only seem to be there: in an escape (the `t` of a tab), or in a number."""
        there = [one for one in found if not _is_escape(text, one.start)]
        return list(_within(there, _JSON_TEXT.finditer(text))) if self._may_be_bare else there

    def _text_in_json(self, text: str, *, mark: str) -> str:
        """One text of a JSON value, where a marker that is put back must not need to be escaped."""

        def marker(found: SecretMatch, written: str) -> str:
            needs_escape = any(one in '"\\' or ord(one) < 32 for one in written)
            return _marker(found.name, "") if needs_escape else self._marker(found, written)

        return _redacted(text, self._disguises.find(text), marker, mark=mark)


class RedactingFormatter(logging.Formatter):
    """Formats as another formatter does, tracebacks included, then takes the secrets out."""

    def __init__(self, inner: logging.Formatter, redactor: Redactor) -> None:
        super().__init__()
        self._inner = inner
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.said(self._inner.format(record))


def redact_logs(redactor: Redactor) -> None:
    """Let every handler of the root logger take the secrets out."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(RedactingFormatter(handler.formatter or logging.Formatter(), redactor))


def _tame_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name) or "secret"


def _tame_value(value: str) -> str:
    """Without the lone surrogates that stand for undecodable bytes of an environment variable."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _marker(name: str, way: str | None = None) -> str:
    return f"{_MARK}{name}]" if way is None else f"{_MARK}{name}{_SPELT}{way}]"


def _redacted(
    text: str, found: Sequence[SecretMatch], marker: Callable[[SecretMatch, str], str], *, mark: str = f"{_MARK}:"
) -> str:
    """`text` with markers for what was found, and without credentials; its own markers begin with `mark`."""
    parts, at = [], 0
    for one in found:
        parts += [text[at : one.start].replace(_MARK, mark), marker(one, text[one.start : one.end])]
        at = one.end
    text = "".join([*parts, text[at:].replace(_MARK, mark)])
    if any(clue in text for clue in _CLUES):
        for pattern in _PATTERNS:
            text = pattern.sub(_without_credential, text)
    return text


def _without_credential(found: re.Match[str]) -> str:
    credential = found[0][len(found[1]) :]
    return found[0] if _TAKEN_OUT.fullmatch(credential) else f"{found[1]}{_GONE}"


def _is_escape(text: str, at: int) -> bool:
    """Whether the character is the second one of an escape in JSON."""
    row = at
    while row and text[row - 1] == "\\":
        row -= 1
    return (at - row) % 2 == 1


def _within(matches: Sequence[SecretMatch], texts: Iterator[re.Match[str]]) -> Iterator[SecretMatch]:
    """Those that are inside of one of the texts; both are in order."""
    found = next(texts, None)
    for one in matches:
        while found is not None and found.end() < one.end:
            found = next(texts, None)
        if found is not None and found.start() < one.start:
            yield one


def _is_json(data: bytes) -> bool:
    """Whether it is JSON, or lines of it."""
    from harness.codec import CodecError, loads  # seldom needed, and `--help` must not wait for it

    lines = data.splitlines()
    try:
        for line in lines if len(lines) > 1 and lines[0][-1:] in (b"}", b"]") else (data,):
            loads(line)
    except CodecError:
        return False
    return True


def _in_texts(data: bytes, change: Callable[[str], str]) -> bytes:
    """JSON, or lines of it, with every text and key changed."""
    from harness.codec import dumps, loads

    lines = data.splitlines()
    if len(lines) > 1 and lines[0][-1:] in (b"}", b"]"):
        return b"".join(dumps(each_text(loads(line), change)) + b"\n" for line in lines)
    return dumps(each_text(loads(data), change)) + (b"\n" if data.endswith(b"\n") else b"")


NO_SECRETS = Redactor()
"""Leaves every text as it is."""
