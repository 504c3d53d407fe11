"""Record ⇄ one line of JSON, so that what is on disk can be trusted without being trusted blindly.

Invariant: `decode(encode(r)) == r` for every record of `harness.records`, and nothing else decodes. Strict both ways:
an unknown kind, a newer schema, a missing or unknown field or a wrong type is a `CodecError`, when writing as when
reading. Sole owner of orjson; other modules call `dumps` and `loads`. Knows nothing of files.

A line is `{"kind":…,"schema":1,…,"crc":"xxxxxxxx"}`; `crc` is the CRC-32 of the bytes before it, seeded with the crc of
the line before, so a changed, removed, added or swapped line breaks the chain at that line.

What JSON cannot say: NaN and infinities are refused (orjson would write `null`); lone surrogates become U+FFFD; in free
values (task metadata) paths and integers beyond a double's range become text, elsewhere they are wrong types. Integers
beyond 64 bits, which orjson neither writes nor reads, are exact; only fields declared as integers have 64 bits. U+2028
stays as it is: lines end at byte 0x0A only, so files must be read as bytes.

    encode(record) -> Encoded(body, exact)      seal(body, previous_crc) -> (line, crc)
    unseal(line, previous_crc) -> (body, crc)          decode(body) -> record
    dumps(value) / loads(data)      any JSON value       digest(value) -> sha256 hex of its canonical JSON
    plain(value) / build(cls, tree) dataclass ⇄ JSON tree      with_texts(value, text) the same with other texts
"""

import json
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from zlib import crc32

import orjson

from harness.codec.forms import CodecError, JsonObject, Text, UnknownKind, form_of
from harness.trees import each_text

if TYPE_CHECKING:  # `dumps` and `loads` of plain values need no record; servers know none
    from harness.records import Record

__all__ = [
    "SCHEMA",
    "UPGRADES",
    "CodecError",
    "Encoded",
    "JsonObject",
    "NewerSchema",
    "Text",
    "UnknownKind",
    "build",
    "check_recordable",
    "decode",
    "digest",
    "dumps",
    "encode",
    "loads",
    "plain",
    "repeats_a_key",
    "seal",
    "unseal",
    "with_texts",
]

SCHEMA = 5
"""Version of the lines written; bump it, and add to UPGRADES, when a record changes shape (`records.optional` fields,
once it is unreleased, need neither)."""

Upgrade = Callable[[JsonObject], JsonObject]


def _instances(tree: JsonObject) -> JsonObject:
    """Before schema 2 no site had more than one instance."""
    return {**tree, "instances": {}} if tree.get("kind") == "opened" else tree


def _doubts(tree: JsonObject) -> JsonObject:
    """Before schema 3, form fields, effects of a failed step and `effects_url` were not recorded."""
    match tree.get("kind"):
        case "acted":
            return {**tree, "observation": {"fields": "", **tree["observation"]}}
        case "decided":
            return {"effects_seen": {}, **tree}
        case "resumed":
            return {"reset": [], **tree}
        case "failed":
            return {"effects": [], **tree}
    return tree


def _memory(tree: JsonObject) -> JsonObject:
    """Before schema 4 agents had no memory."""
    return {"memory": None, **tree} if tree.get("kind") == "decided" else tree


def _responses(tree: JsonObject) -> JsonObject:
    """What is new since schema 4 may be missing: responses of endpoints, tokens of caches and of reasoning."""
    # The version went up all the same: an older Cairn then says that it is older, and does not call a line damaged.
    return tree


UPGRADES: Mapping[int, Upgrade] = MappingProxyType({1: _instances, 2: _doubts, 3: _memory, 4: _responses})
"""Schema version to the function that turns its tree into one of the next version."""

T = TypeVar("T")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANK_BUT_DIGITS = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))
_LONG = b"0" * 19
"""The fewest digits of an integer beyond 64 bits."""
_INT64 = range(-(2**63), 2**63)
_UINT64 = range(-(2**63), 2**64)
"""What orjson writes."""
_OPENED = "opened"
"""Its task has free values."""
_WITHOUT_FREE_VALUES = "acted"
"""The longest records; the search for long integers would take a third of the time that reading them does."""
_TRAILER = b',"crc":"%08x"}'
_TRAILER_SIZE = len(_TRAILER % 0)


class NewerSchema(CodecError):
    """The line was made by a newer version of the harness."""


# --- lines ----------------------------------------------------------------------------------------


class Encoded(NamedTuple):
    """A record on its way to disk."""

    body: bytes
    """Its line: a JSON object without the closing brace."""
    exact: bool
    """Whether decoding surely gives the very same record; not when a text was changed or free values were tamed."""


def encode(record: "Record", *, text: Text | None = None) -> Encoded:
    """Turn a record into the body of its line.

    Args:
        record: What to write.
        text: Applied to every text of the record and every key of its mappings, never to field names, tags or enums.
    """
    form = form_of(type(record))
    # A task has free values, whose tuples come back as lists.
    exact = text is None and record.kind != _OPENED
    try:
        body = orjson.dumps(form.encode(record, text))
    except orjson.JSONEncodeError:  # lone surrogates and long integers: rare, so looked for only when orjson stumbles
        change = text or str
        exact = False
        body = _json(form.encode(record, lambda value: change(_well_formed(value))))
    tag = b'{"kind":"%s",' % record.kind.encode()
    return Encoded(b'%s"schema":%d,%s' % (tag, SCHEMA, body[len(tag) : -1]), exact)


def decode(body: bytes, *, text: Text | None = None) -> "Record":
    """Turn the body of a line back into its record; `text` undoes what it did in `encode`."""
    tree = _parsed(data := body + b"}")
    if isinstance(tree, dict) and tree.get("kind") != _WITHOUT_FREE_VALUES and _may_hold_long_integers(data):
        tree = _exact(data)
    # By type, as `isinstance` would take `true` for version 1.
    if not isinstance(tree, dict) or type(version := tree.pop("schema", None)) is not int:
        raise CodecError("not a record: the schema version is missing")
    if version > SCHEMA:
        raise NewerSchema(
            f"made by a newer version of cairn (schema {version}, this one reads {SCHEMA}); upgrade cairn"
        )
    for older in range(version, SCHEMA):
        if older not in UPGRADES:
            raise CodecError(f"no way to upgrade schema {older}")
        try:
            tree = UPGRADES[older](tree)
        # An upgrade looks into a tree whose form nothing has checked yet.
        except (KeyError, TypeError) as exc:
            raise CodecError(f"no record of schema {older}") from exc
    if text is not None:
        tree = _revealed(tree, text)
    record: Record = _any_record().decode(tree)
    return record


@cache
def _any_record() -> Any:
    from harness.records import Record

    return form_of(Record)


def _revealed(tree: Any, text: Text) -> Any:
    try:
        return each_text(tree, text)
    except RecursionError as exc:
        raise CodecError("nested too deeply") from exc


def seal(body: bytes, previous: int) -> tuple[bytes, int]:
    """Close a body with its checksum and a line end; gives the line and the seed of the next one."""
    # Seeded with the line before, so that removed, added and moved lines are found, not only damaged ones.
    crc = crc32(body, previous)
    return body + (_TRAILER % crc + b"\n"), crc


def unseal(line: bytes, previous: int) -> tuple[bytes, int]:
    """Check a line (without its line end) against the crc of the line before it; gives body and crc."""
    body = line[:-_TRAILER_SIZE]
    crc = crc32(body, previous)
    # This finds accidents: whoever changes a line on purpose can compute all checksums behind it anew.
    if line[-_TRAILER_SIZE:] != _TRAILER % crc:
        raise CodecError(
            "the checksum does not match: this line was damaged, or a line before it was removed, added or moved"
        )
    return body, crc


# --- values ---------------------------------------------------------------------------------------


def dumps(value: Any, *, pretty: bool = False) -> bytes:
    """JSON bytes of any value made of JSON types, dataclasses, enums and paths; `pretty` indents for people."""
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE if pretty else 0
    try:
        return orjson.dumps(form_of(Any).encode(value, None), option=option)
    except RecursionError as exc:
        raise CodecError("nested too deeply to be written as JSON") from exc
    except orjson.JSONEncodeError:  # lone surrogates and long integers: rare, so looked for only when orjson stumbles
        return _json(plain(value), option)


def loads(data: bytes | str) -> Any:
    """Parse JSON; anything else is a CodecError, and so is a number beyond a double's range."""
    tree = _parsed(data)
    return _exact(data) if _may_hold_long_integers(data) else tree


def _parsed(data: bytes | str) -> Any:
    """As `loads`, but integers beyond 64 bits are doubles, as orjson reads them."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as exc:
        raise CodecError(f"not JSON: {exc}{_encoding(data)}") from exc


def _exact(data: bytes | str) -> Any:
    """What orjson has read, with every integer as it is."""
    try:
        # It would take NaN as well, but orjson has read these bytes before.
        return json.loads(data)
    except RecursionError as exc:
        raise CodecError("not JSON: nested too deeply") from exc


def _may_hold_long_integers(data: bytes | str) -> bool:
    """Whether there are so many digits in a row; they may be part of a text."""
    return _LONG in (data.encode() if isinstance(data, str) else data).translate(_BLANK_BUT_DIGITS)


def _encoding(data: bytes | str) -> str:
    """What to do about an editor's other idea of a text file; "" where it is not that."""
    if isinstance(data, bytes) and data.startswith((BOM_UTF8, BOM_UTF16_LE, BOM_UTF16_BE)):
        return "; it begins with a byte order mark: save it as UTF-8 without one"
    return ""


def digest(value: Any) -> str:
    """sha256 of the canonical JSON (keys sorted, no spaces), in hex: equal values, equal digests, on any machine."""
    data = _json(plain(value), orjson.OPT_SORT_KEYS)
    if _may_hold_long_integers(data):  # digests in journals were made when integers beyond 64 bits were written as text
        data = _json(_each_integer(plain(value), lambda one: one if one in _INT64 else str(one)), orjson.OPT_SORT_KEYS)
    return sha256(data).hexdigest()


def digest_tree(tree: Any) -> str:
    """The digest of what `loads` returned, in a tenth of the time: nothing in it has to be replaced or refused."""
    try:
        return sha256(orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)).hexdigest()
    except orjson.JSONEncodeError:  # `loads` goes deeper than this
        return digest(tree)


def plain(value: Any) -> Any:
    """The JSON tree of a value, with what JSON cannot say refused or replaced."""
    try:
        return form_of(Any).encode(value, _well_formed)
    except RecursionError as exc:
        raise CodecError("nested too deeply to be written as JSON") from exc


def repeats_a_key(data: bytes) -> bool:
    """Whether an object in this JSON has a key twice: ours is the last value, another reader may take the first.

    Raises:
        CodecError: It is not JSON.
    """
    try:
        if orjson.dumps(_parsed(data)) == data:  # nothing was left out; so are all lines that we write
            return False
    except orjson.JSONEncodeError:  # integers beyond 64 bits
        pass
    repeated = False

    def note(pairs: list[tuple[str, Any]]) -> JsonObject:
        nonlocal repeated
        found = dict(pairs)
        repeated = repeated or len(found) < len(pairs)
        return found

    try:
        json.loads(data, object_pairs_hook=note)
    except RecursionError as exc:
        raise CodecError("not JSON: nested too deeply") from exc
    return repeated


def may_hold(value: Any, *parts: bytes) -> bool:
    """Whether all these ASCII texts occur in the JSON of a value; a fast look, for values that come by the thousand."""
    try:
        data = orjson.dumps(value, default=str)
    except orjson.JSONEncodeError:
        data = dumps(plain(value))
    return all(part in data for part in parts)


def build(cls: type[T], tree: Any) -> T:
    """Build a dataclass from its JSON tree, as strictly as records are read."""
    value: T = form_of(cls).decode(tree)
    return value


def with_texts(value: T, text: Text) -> T:
    """A dataclass with another text in place of each, keys of mappings included, as `encode` changes them."""
    form = form_of(type(value))
    changed: T = form.decode(form.encode(value, text))
    return changed


def check_recordable(cls: type) -> None:
    """See that a dataclass can be part of a record.

    Raises:
        TypeError: A field is of a type that no journal can hold.
    """
    form_of(cls)


def _json(tree: Any, option: int = 0) -> bytes:
    def spelled(value: int) -> Any:
        return value if value in _UINT64 else orjson.Fragment(str(value))

    try:
        return orjson.dumps(tree, option=option)
    except orjson.JSONEncodeError:  # long integers, or what cannot be written at all
        try:
            return orjson.dumps(_each_integer(tree, spelled), option=option)
        except (orjson.JSONEncodeError, RecursionError) as exc:
            raise CodecError(f"cannot be written as JSON: {exc}") from exc


def _well_formed(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def _each_integer(tree: Any, change: Callable[[int], Any]) -> Any:
    if type(tree) is int:
        return change(tree)
    if isinstance(tree, dict):
        return {key: _each_integer(value, change) for key, value in tree.items()}
    return [_each_integer(value, change) for value in tree] if isinstance(tree, list) else tree
