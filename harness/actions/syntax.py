"""How an action is written in the `cairn` action set, and read: `verb [argument] [argument]`, one per field.

Blanks are forgiven, and so is the ` where [12] is …` tail that a model copies from the history of its own actions.
Arguments may hold brackets and line breaks.
"""

import re
from dataclasses import fields
from functools import lru_cache
from typing import Any, get_type_hints

from harness.actions.target import Target

_COPIED_TAIL = re.compile(r"(\[(\d+)\].*\]|\[(\d+)\])\s+where \[(?:\2|\3)\] is .*", re.DOTALL)
_COPIED = re.compile(r"\swhere \[")
"""Only one blank: a search for all of them would look through a run of them from each."""
_PATTERNS = {Target: r"\[\s*([0-9]+)\s*\]", int: r"\[\s*([0-9]{1,9})\s*\]", str: r"\[(.*)\]"}


def form_of_fields(verb: str, action: type) -> str:
    """How an action is written, for messages about one that was written otherwise."""
    names = ["id" if kind is Target else name for name, kind in _fields(action)]
    return " ".join((verb, *(f"[{name}]" for name in names))) if names else f"{verb}, without arguments"


def read_fields(action: type, arguments: str) -> dict[str, Target | str | int] | None:
    """The values of an action's fields from its arguments, in the order of the fields; None = they do not fit.

    Raises:
        TypeError: A field is not a Target, text or whole number, so the action needs a `parse` of its own.
    """
    names = dict(_fields(action))
    if not names:
        return {} if arguments in ("", "[]") else None
    found = read(arguments, *names.values())
    if found is None:
        return None
    return {name: value.strip() if isinstance(value, str) else value for name, value in zip(names, found, strict=True)}


def read(arguments: str, *kinds: type) -> tuple[Any, ...] | None:
    """One value of each kind, `Target`, `str` or `int`; None = the arguments do not fit."""
    found = _pattern(kinds).fullmatch(without_tail(arguments, targets=kinds.count(Target)))
    if found is None:
        return None
    return tuple(
        Target(id=text) if kind is Target else kind(text) for kind, text in zip(kinds, found.groups(), strict=True)
    )


def without_tail(arguments: str, *, targets: int = 1) -> str:
    """Arguments without the description of their targets."""
    if targets == 1:
        copied = _COPIED_TAIL.fullmatch(arguments)
        return copied[1] if copied else arguments
    return _COPIED.split(arguments, maxsplit=1)[0].rstrip() if targets else arguments


def written(verb: str, *arguments: object) -> str:
    """An action on one line, with the descriptions of its targets behind it."""
    words = [verb, *(f"[{_argument(one)}]" for one in arguments)]
    known = [one for one in arguments if isinstance(one, Target) and one.line]
    for number, target in enumerate(known):
        words.append(f"{'and' if number else 'where'} [{target.id}] is {target.line}")
    return " ".join(words)


@lru_cache(maxsize=256)
def _fields(action: type) -> tuple[tuple[str, type], ...]:
    hints = get_type_hints(action)
    found = tuple((field.name, hints[field.name]) for field in fields(action))
    for name, kind in found:
        if kind not in _PATTERNS:
            raise TypeError(f"{action.__name__}.{name} is not a Target, str or int: give the action a parse of its own")
    return found


@lru_cache(maxsize=256)
def _pattern(kinds: tuple[type, ...]) -> re.Pattern[str]:
    return re.compile(r"\s*".join(_PATTERNS[kind] for kind in kinds), re.DOTALL)


def _argument(value: object) -> str:
    return value.id if isinstance(value, Target) else str(value).replace("\n", " ")
