"""The lines of a journal as a JSON Schema, made from the records themselves so that it cannot say anything else.

`python -m harness.codec.schema` prints it. It describes lines as they are written by this version; the chain of
checksums and the order of records are beyond what a schema can say.
"""

import ast
import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from harness.codec import SCHEMA, JsonObject, dumps
from harness.records import Record
from harness.records.optional import OMITTED

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Definitions = dict[str, JsonObject]
"""The classes described so far, by their names."""
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def journal_schema() -> JsonObject:
    known: Definitions = {}
    lines = [_line(record, known) for record in get_args(Record)]
    return {
        "$schema": DIALECT,
        "title": f"One line of a Cairn journal, schema {SCHEMA}",
        "description": "Every line is one record; `kind` says which. `crc` is the CRC-32 of the bytes before it, "
        "seeded with that of the line before.",
        "oneOf": lines,
        "$defs": dict(sorted(known.items())),
    }


def _line(record: Any, known: Definitions) -> JsonObject:
    tree = _object(record, known)
    tree["properties"] |= {
        "schema": {"const": SCHEMA, "description": "Version of the shape of this line."},
        "crc": {"type": "string", "pattern": "^[0-9a-f]{8}$", "description": "Checksum; always the last field."},
    }
    tree["required"] += ["schema", "crc"]
    return tree


def _object(cls: Any, known: Definitions) -> JsonObject:
    """A dataclass: all of its fields but optional ones, and no others."""
    hints, said = get_type_hints(cls), _said(cls)
    properties: JsonObject = {}
    if isinstance(kind := getattr(cls, "kind", None), str):
        properties["kind"] = {"const": kind}
    omitted = {field.name for field in fields(cls) if OMITTED in field.metadata}
    for field in fields(cls):
        properties[field.name] = _value(hints[field.name], known)
        if sentence := said.get(field.name) or field.metadata.get("about"):
            properties[field.name] = properties[field.name] | {"description": sentence}
    return {
        "title": cls.__name__,
        "description": inspect.cleandoc(cls.__doc__ or ""),
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in omitted],
        "additionalProperties": False,
    }


def _value(annotation: Any, known: Definitions) -> JsonObject:  # noqa: PLR0911 (one case per type)
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return {}
    if annotation in _PLAIN:
        return {"type": _PLAIN[annotation]}
    if origin in (Union, UnionType):
        return {"anyOf": [_value(arg, known) for arg in args]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple:
        return _tuple(args, known)
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _value(args[1], known)}
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return {"enum": [member.value for member in annotation]}
    if is_dataclass(annotation) and "of_kind" in vars(annotation):
        return {"anyOf": [_value(one, known) for one in _family(annotation)]}
    if is_dataclass(annotation):
        return _named(annotation, known)
    raise TypeError(f"no way to describe {annotation}")


def _family(base: Any) -> list[Any]:
    """The classes of a base class that this package defines; a plug-in's are not ours to publish."""
    mine = [one for one in base.by_kind.values() if one.__module__.startswith("harness.")]
    return sorted(mine, key=lambda one: str(one.kind))


def _tuple(args: tuple[Any, ...], known: Definitions) -> JsonObject:
    if args[1:] == (...,):
        return {"type": "array", "items": _value(args[0], known)}
    items = [_value(arg, known) for arg in args]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def _named(cls: Any, known: Definitions) -> JsonObject:
    if cls.__name__ not in known:
        known[cls.__name__] = {}  # before its fields, as one of them may be of its own kind
        known[cls.__name__] = _object(cls, known)
    return {"$ref": f"#/$defs/{cls.__name__}"}


def _said(cls: Any) -> dict[str, str]:
    """The sentences that stand under the fields of a dataclass."""
    # Python keeps docstrings of classes, but not of fields.
    body = ast.parse(inspect.cleandoc(inspect.getsource(cls))).body[0]
    assert isinstance(body, ast.ClassDef)
    said = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            said[field.target.id] = " ".join(str(below.value.value).split())
    return said


if __name__ == "__main__":
    sys.stdout.write(dumps(journal_schema(), pretty=True).decode())
