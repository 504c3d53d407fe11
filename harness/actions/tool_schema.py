"""An action as a function that a model may call: its parameters are its fields, and a call's arguments become it.

Nothing is listed by hand: name, description and parameters of a function follow from the class, those of plug-ins
included. All parameters are required and no others are allowed, as strict modes of providers demand; a field that has a
default may be left out all the same.
"""

import math
import re
from dataclasses import MISSING, Field, fields
from inspect import cleandoc
from typing import Any, Literal, Required, TypedDict, get_args, get_origin, get_type_hints

from harness.actions.action import Action
from harness.actions.target import Target

MOST_TEXT = 100_000
"""Characters of one argument."""
_LARGEST = 10**9
_ABOUT = "about"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"\[?\s*([0-9]{1,12})\s*\]?")


class FieldSchema(TypedDict, total=False):
    """JSON Schema of one argument."""

    type: Required[str]
    enum: list[str]
    description: str


class ArgumentsSchema(TypedDict):
    """JSON Schema of the arguments of a function."""

    type: Literal["object"]
    properties: dict[str, FieldSchema]
    required: list[str]
    additionalProperties: bool


_TYPES: dict[Any, FieldSchema] = {
    Target: {"type": "string", "description": "Id of an element in the current observation, as in 12."},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
}


def about(text: str) -> dict[str, str]:
    """Metadata of a field: its description, for models that call the action as a function."""
    return {_ABOUT: text}


def description_of(action: type[Action]) -> str:
    """What the function does: `tool` of the class, else the line of its prompt, else how its docstring begins."""
    # A dataclass without a docstring has its signature for one.
    documented = cleandoc(action.__doc__ or "").partition("\n\n")[0]
    return action.tool or action.prompt or ("" if documented.startswith(f"{action.__name__}(") else documented)


def parameters_of(action: type[Action]) -> ArgumentsSchema:
    """The arguments of the function.

    Raises:
        TypeError: A field is of a type that has no schema here, or the kind cannot be the name of a function.
    """
    if not _NAME.fullmatch(action.kind):
        raise TypeError(
            f"{action.__name__}: kind {action.kind!r} cannot be the name of a function: use letters, digits, _ and -"
        )
    properties = {one.name: _schema(action, one, kind) for one, kind in _fields(action)}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_arguments(action: type[Action], arguments: object) -> Action:
    """The action that a call asks for; its targets hold no more than the id yet.

    Args:
        arguments: As decoded from JSON: anything at all.
    Raises:
        ValueError: They do not fit; the sentence may be shown to the model.
    """
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {action.kind} must be one JSON object")
    known = {one.name: (one, kind) for one, kind in _fields(action)}
    if unknown := sorted(map(str, arguments.keys() - known.keys())):
        raise ValueError(f"{action.kind} has no argument {_short(unknown[0])}; it has {', '.join(known) or 'none'}")
    if missing := [name for name, (one, _) in known.items() if name not in arguments and _is_required(one)]:
        raise ValueError(f"{action.kind} needs the argument {missing[0]}")
    values = {name: _value(action, name, known[name][1], value) for name, value in arguments.items()}
    return action(**values)


def _fields(action: type[Action]) -> list[tuple[Field[Any], Any]]:
    hints = get_type_hints(action)
    return [(one, hints[one.name]) for one in fields(action)]


def _is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _schema(action: type[Action], one: Field[Any], kind: Any) -> FieldSchema:
    if get_origin(kind) is Literal and all(isinstance(word, str) for word in get_args(kind)):
        schema: FieldSchema = {"type": "string", "enum": list(get_args(kind))}
    elif kind in _TYPES:
        schema = _TYPES[kind].copy()
    else:
        raise TypeError(
            f"{action.__name__}.{one.name} cannot be an argument of a call; "
            "use Target, str, int, float, bool or Literal"
        )
    if _ABOUT in one.metadata:
        schema["description"] = one.metadata[_ABOUT]
    return schema


def _value(action: type[Action], name: str, kind: Any, value: object) -> Any:
    place = f"the argument {name} of {action.kind}"
    if kind is Target:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str) or not (found := _ID.fullmatch(text.strip())):
            raise ValueError(f"{place} must be the id of an element, as in 12, not {_short(value)}")
        return Target(id=found[1])
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ValueError(f"{place} must be one of {', '.join(get_args(kind))}, not {_short(value)}")
        return value
    # Bounded first: `float` of an integer with 400 digits is an OverflowError.
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return float(value)
    # Not isinstance: a bool is an int to it, so `true` would be a number.
    if type(value) is not kind:
        raise ValueError(f"{place} must be a {_TYPES[kind]['type']}, not {_short(value)}")
    if isinstance(value, str) and len(value) > MOST_TEXT:
        raise ValueError(f"{place} has {len(value):,} characters; {MOST_TEXT:,} are allowed")
    if isinstance(value, (int, float)) and (not math.isfinite(value) or abs(value) > _LARGEST):
        raise ValueError(f"{place} is out of bounds")
    return value


def _short(value: object) -> str:
    text = "a JSON object" if isinstance(value, dict) else "a JSON array" if isinstance(value, list) else repr(value)
    return text if len(text) <= 80 else text[:80] + "…"
