"""A canary: a secret of random letters, and how to find it again whatever it was wrapped in."""

import base64
import binascii
import gzip
import html
import io
import json
import re
import secrets
import string
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode

LETTERS = string.ascii_letters + string.digits
SIGNS = "\"&<\\é>'+ %"
"""What every kind of text escapes in its own way."""
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Canary:
    """One secret; nothing escapes its letters, so they are what is looked for."""

    way: str
    """How it is given, for people."""
    value: str
    letters: tuple[str, ...]

    @property
    def quoted(self) -> str:
        return quote(self.value, safe="")


def canary(way: str, *, prefix: str = "", nasty: bool = False) -> Canary:
    """A new one; `nasty`: with signs in its middle that texts escape."""
    halves = tuple("".join(secrets.choice(LETTERS) for _ in range(12)) + "7" for _ in range(2))
    return Canary(way, prefix + (SIGNS if nasty else "").join(halves), halves if nasty else ("".join(halves),))


def shown(value: str) -> str:
    """A page's body that shows a secret in all the ways pages do."""
    in_json = json.dumps({"note": value, "inner": json.dumps({"again": value})})
    in_script = in_json.replace("<", "\\u003c")
    encoded = " ".join(base64.b64encode(f"{before}{value}!".encode()).decode() for before in ("", "u", "us"))
    return "".join(
        (
            f'<p title="{html.escape(value)}">{html.escape(value)}</p>',
            f"<a href='/x?q={quote(quote(value, safe=''), safe='')}&{urlencode({'r': value})}'>link</a>",
            f'<input value="{html.escape(value)}" aria-label="{html.escape(in_json)}">',
            f"<script type='application/json'>{in_script}</script>",
            f'<p data-json="{html.escape(json.dumps(in_json))}">{encoded}</p>',
        )
    )


class Sought:
    """All canaries of a run, to be looked for at once."""

    def __init__(self, canaries: Iterable[Canary]) -> None:
        self._letters = {letters.encode(): one for one in canaries for letters in one.letters}
        self._pattern = re.compile(b"|".join(map(re.escape, self._letters)) or b"(?!)")
        cores = {core: one for letters, one in self._letters.items() for core in _base64_cores(letters)}
        cores |= {binascii.hexlify(letters): one for letters, one in self._letters.items()}
        self._cores = cores
        self._wrapped = re.compile(b"|".join(map(re.escape, cores)) or b"(?!)")

    def in_bytes(self, data: bytes, depth: int = 0) -> set[Canary]:
        """The canaries in data, as they are or in base64, hexadecimal digits, gzip, zip, tar or parquet, one in
        another.
        """
        found = {self._letters[hit] for hit in self._pattern.findall(data)}
        found |= {self._cores[hit] for hit in self._wrapped.findall(data)}
        if depth < _DEEPEST:
            for inner in _unwrapped(data):
                found |= self.in_bytes(inner, depth + 1)
        return found


def _base64_cores(data: bytes) -> Iterator[bytes]:
    for shift in range(3):
        encoded = base64.b64encode(bytes(shift) + data).rstrip(b"=")
        core = encoded[-(-shift * 4 // 3) : (shift + len(data)) * 8 // 6]
        yield core
        yield core.translate(bytes.maketrans(b"+/", b"-_"))


def _unwrapped(data: bytes) -> Iterator[bytes]:
    """What is inside."""
    if data[:2] == b"\x1f\x8b":
        yield _inflated(data)
    elif data[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield name.encode()
                yield archive.read(name)
    elif data[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            yield from (file.read() for member in archive if (file := archive.extractfile(member)))
    elif data[:4] == b"PAR1":
        import pyarrow.parquet as pq

        yield json.dumps(pq.read_table(io.BytesIO(data)).to_pylist(), default=str).encode()
    elif data[:8] != b"\x89PNG\r\n\x1a\n":
        yield from _decoded(data)


def _inflated(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return b""


def _decoded(data: bytes) -> Iterator[bytes]:
    """Base64 in a text that holds something readable, or something compressed."""
    for found in _BASE64.finditer(data):
        text = found[0].translate(bytes.maketrans(b"-_", b"+/"))
        try:
            inner = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
        except binascii.Error:
            continue
        if inner[:2] in (b"\x1f\x8b", b"PK") or (
            len(inner) > 16 and sum(32 <= byte < 127 for byte in inner) > 0.9 * len(inner)
        ):
            yield inner
