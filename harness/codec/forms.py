"""How a value of each annotated type becomes a JSON tree and comes back, strictly both ways.

Invariant: what `encode` lets through, `decode` accepts and gives back equal. One encoder and one decoder are compiled
per annotation, as closures, and kept. Understands what records are made of: text, integers, numbers, booleans, `Any`,
dataclasses, unions (of dataclasses tagged by `kind`, or of what JSON itself tells apart), tuples, mappings with text
keys, StrEnum, Literal of texts and `… | None`. Knows nothing of bytes.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum, StrEnum
from itertools import filterfalse
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

Text = Callable[[str], str]
JsonObject = dict[str, Any]
"""A JSON object of any shape: read from a file or a reply, so what reads a key of it checks the value."""
_INT64 = range(-(2**63), 2**63)
_LARGEST = int(sys.float_info.max)
"""What readers of JSON take for a number; many read it as a double."""
_DEEPEST = 120
"""Levels of free values; a task file may have a hundred."""


class CodecError(ValueError):
    """These bytes, or this value, are not a record; the message names the field."""

    def __init__(self, why: str, at: tuple[str, ...] = ()) -> None:
        super().__init__(f"{'.'.join(at)}: {why}" if at else why)
        self.why = why
        self.at = at

    def within(self, name: str) -> "CodecError":
        """The same, in the field or at the index of this name."""
        return CodecError(self.why, (name, *self.at))


class UnknownKind(CodecError):
    """The value is of a kind that nothing installed here defines."""

    def within(self, name: str) -> "UnknownKind":
        return UnknownKind(self.why, (name, *self.at))


class Form(NamedTuple):
    encode: Callable[[Any, Text | None], Any]
    """Value and what to do to its texts (None = nothing) to JSON tree."""
    decode: Callable[[Any], Any]


def _wrong(value: Any, wanted: str) -> CodecError:
    return CodecError(f"{wanted} expected, not {type(value).__name__}")


def _encode_str(value: Any, text: Text | None) -> str:
    if not isinstance(value, str):
        raise _wrong(value, "text")
    return text(value) if text else value


def _decode_str(value: Any) -> str:
    if type(value) is not str:
        raise _wrong(value, "text")
    return value


def _int(value: Any, _: Text | None = None) -> int:
    # By type, as `isinstance` takes a boolean for an integer; so in the other decoders.
    if type(value) is not int:
        raise _wrong(value, "an integer")
    if value not in _INT64:
        raise CodecError("an integer beyond 64 bits cannot be recorded")
    return value


def _float(value: Any, _: Text | None = None) -> float:
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CodecError("NaN and infinities cannot be recorded")
        return float(value)
    if type(value) is not int:
        raise _wrong(value, "a number")
    return float(_int(value))


def _bool(value: Any, _: Text | None = None) -> bool:
    if type(value) is not bool:
        raise _wrong(value, "true or false")
    return value


def _encode_free(value: Any, text: Text | None) -> Any:  # noqa: PLR0911 (one case per type)
    match value:
        case Enum():
            return _encode_free(value.value, text)
        case str():
            return _encode_str(value, text)
        case bool() | None:
            return value
        case int():
            return value if -_LARGEST <= value <= _LARGEST else _digits(value)
        case float():
            return _float(value)
        case Path():
            return _encode_str(str(value), text)
        case Mapping():
            return {_encode_str(key, text): _encode_free(item, text) for key, item in value.items()}
        case list() | tuple():
            return [_encode_free(item, text) for item in value]
    if is_dataclass(value):
        return form_of(type(value)).encode(value, text)
    raise _wrong(value, "a JSON value")


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError as exc:
        raise CodecError(f"an integer of {value.bit_length()} bits cannot be written") from exc


def _decode_free(value: Any) -> Any:
    """Free values are walked recursively when shown or written; this is far below the recursion limit."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return value
    raise CodecError(f"nested more than {_DEEPEST} levels deep")


def _inside(value: Any) -> Iterable[Any]:
    found = value.values() if type(value) is dict else value if type(value) is list else ()
    return (inner for inner in found if type(inner) in (dict, list))


# Not msgspec: it decodes a line in 2 µs instead of 40, but has no unions of dataclasses and refuses no unknown field.
_FORMS: dict[Any, Form] = {
    str: Form(_encode_str, _decode_str),
    int: Form(_int, _int),
    float: Form(_float, _float),
    bool: Form(_bool, _bool),
    Any: Form(_encode_free, _decode_free),
}


def form_of(annotation: Any) -> Form:
    """The form of an annotation; a TypeError when records cannot be made of it."""
    if annotation not in _FORMS:
        _FORMS[annotation] = _compile(annotation)
    return _FORMS[annotation]


def _compile(annotation: Any) -> Form:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _union(args)
    if origin is tuple:
        return _tuple(args)
    if origin is Mapping:
        return _mapping(args[1])
    if origin is Literal:
        return _choice({value: value for value in args})
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return _choice({member.value: member for member in annotation})
    # `vars`, as the subclasses have the `of_kind` of their base class by inheritance.
    if is_dataclass(annotation):
        return _base_class(annotation) if "of_kind" in vars(annotation) else _dataclass(annotation)
    raise TypeError(f"no way to write {annotation}")


def _choice(choices: Mapping[Any, Any]) -> Form:
    def check(value: Any, _: Text | None = None) -> Any:
        if not isinstance(value, str) or value not in choices:
            raise CodecError(f"one of {', '.join(map(str, choices))} expected")
        return choices[value]

    return Form(check, check)


def _tuple(args: tuple[Any, ...]) -> Form:
    size = None if args[1:] == (...,) else len(args)
    forms = [form_of(arg) for arg in args if arg is not ...]
    item = forms[0]

    def encode(value: Any, text: Text | None) -> Any:
        if not isinstance(value, tuple) or size not in (None, len(value)):
            raise _wrong(value, "a tuple" if size is None else f"a tuple of {size}")
        if size is None:
            return [item.encode(entry, text) for entry in value]
        return [form.encode(entry, text) for form, entry in zip(forms, value, strict=True)]

    def decode(value: Any) -> Any:
        if type(value) is not list or size not in (None, len(value)):
            raise _wrong(value, "a list" if size is None else f"a list of {size}")
        if size is None:
            return tuple([item.decode(entry) for entry in value])
        return tuple([form.decode(entry) for form, entry in zip(forms, value, strict=True)])

    return Form(encode, decode)


def _mapping(item: Any) -> Form:
    form = form_of(item)

    def encode(value: Any, text: Text | None) -> Any:
        if not isinstance(value, Mapping):
            raise _wrong(value, "a mapping")
        return {_encode_str(key, text): form.encode(entry, text) for key, entry in value.items()}

    def decode(value: Any) -> Any:
        if type(value) is not dict:
            raise _wrong(value, "an object")
        return {key: form.decode(entry) for key, entry in value.items()}

    return Form(encode, decode)


def _union(args: tuple[Any, ...]) -> Form:
    members = [arg for arg in args if arg is not NoneType]
    if len(members) == 1:
        form = form_of(members[0])
    else:
        form = _tagged(members) if all(hasattr(member, "kind") for member in members) else _any_of(members)
    if len(members) == len(args):
        return form
    return Form(
        lambda value, text: None if value is None else form.encode(value, text),
        lambda value: None if value is None else form.decode(value),
    )


def _any_of(members: list[Any]) -> Form:
    """Union members without a tag: the first that accepts a value, so no two may accept the same one."""
    forms = [form_of(member) for member in members]

    def attempt(way: Callable[[Form], Any]) -> Any:
        for form in forms[:-1]:
            with suppress(CodecError):
                return way(form)
        return way(forms[-1])

    return Form(
        lambda value, text: attempt(lambda form: form.encode(value, text)),
        lambda value: attempt(lambda form: form.decode(value)),
    )


def _tagged(members: list[Any]) -> Form:
    by_kind = {member.kind: member for member in members}

    def of_kind(kind: str) -> Any:
        if kind not in by_kind:
            raise LookupError(f"unknown kind {kind!r}")
        return by_kind[kind]

    return _by_kind(of_kind, expected=" or ".join(by_kind))


def _base_class(base: Any) -> Form:
    """A class that finds its subclasses by kind; some of them may be a plug-in's."""
    return _by_kind(base.of_kind, expected=base.__name__, error=UnknownKind)


def _by_kind(of_kind: Callable[[str], Any], *, expected: str, error: type[CodecError] = CodecError) -> Form:
    """One of several classes, distinguished by their tags; `of_kind` finds a class, or raises a LookupError."""

    def encode(value: Any, text: Text | None) -> Any:
        try:
            if of_kind(getattr(value, "kind", "")) is type(value):
                return form_of(type(value)).encode(value, text)
        except LookupError:
            pass
        raise _wrong(value, expected)

    def decode(value: Any) -> Any:
        if type(value) is not dict:
            raise _wrong(value, "an object")
        kind = value.get("kind")
        # A list or an object as kind cannot be looked up in a table.
        if not isinstance(kind, str):
            raise CodecError(f"unknown kind {kind!r}")
        try:
            found = of_kind(kind)
        except LookupError as exc:
            raise error(str(exc)) from exc
        return form_of(found).decode(value)

    return Form(encode, decode)


def _dataclass(cls: Any) -> Form:
    hints = get_type_hints(cls)
    tag = {"kind": cls.kind} if isinstance(getattr(cls, "kind", None), str) else {}
    forms = {field.name: form_of(hints[field.name]) for field in fields(cls)}
    names = forms.keys() | tag.keys()
    # Most fields hold a text that needs no encoding; checking that here saves a call for each.
    plain = {name: hints[name] if hints[name] in (str, bool) else None for name in forms}
    omitted = _omitted(cls)
    required = names - omitted.keys()
    encoders = [(name, plain[name], forms[name].encode) for name in filterfalse(omitted.__contains__, forms)]
    further = [(name, default, forms[name].encode) for name, default in omitted.items()]
    decoders = {name: (plain[name], form.decode) for name, form in forms.items()}

    # Closures: encoders compiled to source code take 30 µs instead of 50, but need exec.
    def encode(value: Any, text: Text | None) -> Any:
        if type(value) is not cls:
            raise _wrong(value, cls.__name__)
        tree: JsonObject = dict(tag)
        name = ""
        try:
            for name, as_it_is, encode_field in encoders:
                item = getattr(value, name)
                tree[name] = item if text is None and type(item) is as_it_is else encode_field(item, text)
        except CodecError as exc:
            raise exc.within(name) from None
        return tree if not further else tree | _encode_further(value, further, text)

    def decode(value: Any) -> Any:
        _check_fields(value, names, required, tag)
        known: dict[str, object] = {}
        name = ""
        try:
            for name, item in value.items():
                if (decoder := decoders.get(name)) is not None:
                    as_it_is, decode_field = decoder
                    known[name] = item if type(item) is as_it_is else decode_field(item)
        except CodecError as exc:
            raise exc.within(name) from None
        return cls(**known)

    return Form(encode, decode)


def _encode_further(value: Any, further: list[tuple[str, Any, Any]], text: Text | None) -> JsonObject:
    """The fields that are written only when they do not have their default."""
    tree = {}
    for name, default, encode_field in further:
        item = getattr(value, name)
        # By type as well: 0 equals False, and what is left out comes back as the default.
        if type(item) is not type(default) or item != default:
            try:
                tree[name] = encode_field(item, text)
            except CodecError as exc:
                raise exc.within(name) from None
    return tree


def _omitted(cls: Any) -> dict[str, object]:
    """The fields that are left out when they have their default, and this default."""
    from harness.records.optional import OMITTED  # and all records, which plain values do without

    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(cls)
        if OMITTED in field.metadata
    }


def _check_fields(value: Any, names: AbstractSet[str], required: AbstractSet[str], tag: Mapping[str, str]) -> None:
    if type(value) is not dict:
        raise _wrong(value, "an object")
    if value.keys() != required:
        if missing := sorted(required - value.keys()):
            raise CodecError(f"field {missing[0]} is missing")
        # To guess what it means would let two versions read two different episodes out of one file.
        if unknown := value.keys() - names:
            raise CodecError(f"unknown field {min(unknown)}")
    if tag and value["kind"] != tag["kind"]:
        raise CodecError(f"kind {tag['kind']!r} expected, not {value['kind']!r}")
