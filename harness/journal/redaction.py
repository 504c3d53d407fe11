"""Secrets stay out of run folders: what is written is looked through first, here.

Invariant: no value of a named secret, in any form we know of (plain, JSON, URL, HTML, base64), passes `text` or `data`, nor
does a credential in an Authorization or Cookie header or an `sk-…` key. A named secret becomes `[redacted:NAME]`, which
`reveal` undoes for whoever holds the same secrets, exactly: a marker that was already in the text is written as
`[redacted::NAME]`, so a page cannot smuggle one in. What only a pattern recognised becomes `[redacted]`, for good.

Does not touch what is not text (screenshots), field names and tags of records, or secrets shorter than four characters.
"""

import base64
import html
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

from ahocorasick_rs import BytesAhoCorasick, MatchKind

MIN_LENGTH = 4
"""Shorter secrets would redact half of every page and protect nothing."""

_MARK = "[redacted:"
_MARKER = re.compile(r"\[redacted:(:|[^:\[\]]+\])")
_GONE = "[redacted]"
_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASS|PASSWORD|PASSWD|CREDENTIALS)$")
_SHA256 = re.compile(r"[0-9a-f]{64}")

_VALUE = r"[^\s\"',;\\<>]+"
_LONGEST_NAME = 256
"""Of a cookie, in characters: a `cookie:` is a name's beginning, too."""
_CLUES = ("sk-", "ookie", "OOKIE", "earer ", "EARER ", "uthorization", "UTHORIZATION")
"""What a text must hold for the patterns to be tried: headers are written in lower case, in capitals or with one capital."""
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
"""Credentials nobody named; the first group of each stays.

Pages and models write what is looked through, so each takes time in proportion to it: what may be long before something else
must follow is bounded, or ends where the next one could begin.
"""


class Redactor:
    """Knows the secrets of a run, by name."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        tame = ((_tame_name(name), _tame_value(value)) for name, value in (secrets or {}).items())
        named = {name: value for name, value in tame if len(value) >= MIN_LENGTH}
        self._secrets = named
        forms = {form: f"{_MARK}{name}]" for name, value in named.items() for form in _forms(value)}
        self._markers = {form: forms[form] for form in sorted(forms, key=len, reverse=True)}
        needles = [form.encode() for form in (_MARK, *_CLUES, *self._markers)]
        # Of the kinds of match only these let the library skip ahead by vector instructions: 1 us for a page, not 30.
        self._needles = BytesAhoCorasick(needles, matchkind=MatchKind.LeftmostFirst)

    def touches(self, data: bytes) -> bool:
        """Whether `text` may have anything to do in this UTF-8 text: cheap, never wrong when it says no."""
        return bool(self._needles.find_matches_as_indexes(data))

    def text(self, text: str) -> str:
        """`text` without secrets."""
        if _SHA256.fullmatch(text) and text not in self._markers:
            return text  # a hash of ours, in which a short secret may stand by chance
        text = text.replace(_MARK, f"{_MARK}:")
        for form, marker in self._markers.items():
            if form in text:
                text = text.replace(form, marker)
        if any(clue in text for clue in _CLUES):
            for pattern in _PATTERNS:
                text = pattern.sub(rf"\1{_GONE}", text)
        return text

    def data(self, data: bytes) -> bytes:
        """`data` without secrets when it is UTF-8 text; anything else as it is."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return data
        return self.text(text).encode() if self.touches(data) else data

    def reveal(self, text: str) -> str:
        """What `text` was before `self.text`, as far as named secrets go."""
        return _MARKER.sub(self._reveal, text) if _MARK in text else text

    def _reveal(self, found: re.Match[str]) -> str:
        if found[1] == ":":
            return _MARK
        return self._secrets.get(found[1][:-1], found[0])


NO_SECRETS = Redactor()


class RedactingFormatter(logging.Formatter):
    """Formats as another formatter does, tracebacks included, then takes the secrets out."""

    def __init__(self, inner: logging.Formatter, redactor: Redactor) -> None:
        super().__init__()
        self._inner = inner
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.text(self._inner.format(record))


def redact_logs(redactor: Redactor) -> None:
    """Let every handler of the root logger take the secrets out."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(RedactingFormatter(handler.formatter or logging.Formatter(), redactor))


def secrets_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that are secrets by their names (`…_API_KEY`, `…_TOKEN`, `…_PASSWORD` …)."""
    return {
        name: value
        for name, value in environment.items()
        if len(value) >= 2 * MIN_LENGTH and _SECRET_VARIABLE.search(name.upper())
    }


def _tame_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name) or "secret"


def _tame_value(value: str) -> str:
    """Without the lone surrogates that stand for undecodable bytes of an environment variable."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _forms(value: str) -> Iterator[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield html.escape(value)
    yield html.escape(value, quote=False)
    yield from _url_forms(value)
    yield from _base64_forms(value.encode())


def _url_forms(value: str) -> Iterable[str]:
    for form in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield form
        yield re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), form)


def _base64_forms(value: bytes) -> Iterator[str]:
    """The characters that encode `value` and nothing else, at each of the three alignments, in both alphabets."""
    for shift in range(3):
        encoded = base64.b64encode(bytes(shift) + value).decode().rstrip("=")
        whole = encoded[-(-shift * 4 // 3) : (shift + len(value)) * 8 // 6]
        if len(whole) >= 2 * MIN_LENGTH:
            yield whole
            yield whole.translate(str.maketrans("+/", "-_"))
