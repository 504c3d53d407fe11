"""What a setting is, declared on its field and nowhere else; and settings as plain values.

The default, the values that it may have and what it means for a run folder are arguments of `setting`; its words are
the docstring below the field. Checks, `harness settings` and docs/pages/settings.md read them from there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, asdict, field, fields, is_dataclass, replace
from enum import Enum
from types import UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from harness.choices import ValueRange

REQUIRED: Any = "???"
"""The default of a setting that has none, as OmegaConf writes it."""
T = TypeVar("T")
Tree = dict[str, Any]
"""Settings as plain values: what YAML and JSON know."""


def setting(  # noqa: PLR0913 (what there is to say of a setting)
    default: Any = None,
    *,
    factory: Any = None,
    measured: bool = True,
    named: bool = True,
    added: bool = False,
    bounds: ValueRange | None = None,
    choices: tuple[str, ...] = (),
    plugins: str = "",
    filled: bool = False,
    address: bool = False,
) -> Any:
    """A field, with what it means for a run folder and which values it may have; said here and nowhere else.

    Args:
        default: Its default.
        factory: Makes the default, of settings that are not a single value.
        measured: Whether it changes what is measured, so that a run folder holds one value of it; of a group whether
            anything in it does.
        named: Whether runs of a sweep (`-m`) that differ in it have folders of different names; of a group whether its
            choice (`llm=openai`) does. What is not named is in `run.id`, or means nothing to a sweep.
        added: Whether run folders from before it exist: with its default it is not part of what is measured,
            so that those are resumed as they are.
        bounds: Of a number; None = by its kind: a time in seconds is above 0, any other number at least 0.
        choices: The words that there are, of a text that is one of a few.
        plugins: Group of entry points whose names are further choices.
        filled: The text cannot be empty.
        address: The text is an http or https address.
    """
    metadata: dict[str, Any] = {
        "measured": measured,
        "named": named,
        "added": added,
        "bounds": bounds,
        "choices": choices,
        "filled": filled,
        "address": address,
        "plugins": plugins,
    }
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


class Declared(NamedTuple):
    """A setting and where it is declared."""

    name: str
    """Its dotted name."""
    owner: type
    """The dataclass."""
    field: Field[Any]
    kind: Any
    """Its type."""
    measured: bool
    """Whether it, and every group that it is in, changes what is measured."""


def declared(schema: type, prefix: str = "", *, measured: bool = True) -> Iterator[Declared]:
    """Every setting of a dataclass, groups entered; what is free by design (`sites`, `arguments`) is one setting."""
    kinds = get_type_hints(schema)
    for one in fields(schema):
        counts = measured and one.metadata.get("measured", True)
        group = group_of(kinds[one.name])
        if group is not None:
            yield from declared(group, f"{prefix}{one.name}.", measured=counts)
        else:
            yield Declared(f"{prefix}{one.name}", schema, one, kinds[one.name], counts)


def group_of(kind: Any) -> type | None:
    """The dataclass that a field holds, or may hold."""
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    return next((one for one in kinds if isinstance(one, type) and is_dataclass(one)), None)


def as_plain(value: Any) -> Any:
    """Dataclasses and enums as what YAML and JSON know."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(item) for item in value]
    return as_plain(asdict(value)) if is_dataclass(value) and not isinstance(value, type) else value


def from_plain(schema: type[T], tree: Mapping[str, Any]) -> T:
    """The settings that `as_plain` gave, checked by whoever composed them: nothing is converted but groups and words.

    Args:
        tree: Its fields; a missing one has its default.
    Raises:
        TypeError: It holds a key that is not a setting.
        ValueError: A word is none of those that there are.
    """
    # Takes 2 ms, where OmegaConf took 50 ms and its imports 60 more: a worker composes nothing.
    kinds = get_type_hints(schema)
    return schema(**{key: _of_kind(kinds.get(key), value) for key, value in tree.items()})


def _of_kind(kind: Any, value: Any) -> Any:
    if value is not None and (group := group_of(kind)) is not None:
        return from_plain(group, value)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(value)
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value


def with_tuples(settings: Any) -> Any:
    """The same, where lists stand in fields that are declared as tuples: OmegaConf makes lists of both."""
    kinds = get_type_hints(type(settings))
    changed: Tree = {}
    for one in fields(settings):
        value = getattr(settings, one.name)
        if is_dataclass(value):
            changed[one.name] = with_tuples(value)
        elif isinstance(value, list) and get_origin(kinds[one.name]) is tuple:
            changed[one.name] = tuple(value)
    return replace(settings, **changed)


def measured(tree: Tree, schema: type, prefix: str = "") -> Tree:
    """The settings that change what is measured, as one flat mapping of dotted keys to plain values."""
    kinds = get_type_hints(schema)
    found: Tree = {}
    for one in fields(schema):
        # What came later and is as ever is left out, so that the digest of an older run folder is still the same.
        if not one.metadata.get("measured", True) or (one.metadata.get("added") and tree[one.name] == _default(one)):
            continue
        if is_dataclass(kinds[one.name]):
            found |= measured(tree[one.name], kinds[one.name], f"{prefix}{one.name}.")
        else:
            found |= flat(f"{prefix}{one.name}", tree[one.name])
    return found


def _default(one: Field[Any]) -> Any:
    return as_plain(one.default if one.default_factory is MISSING else one.default_factory())


def flat(name: str, value: Any) -> Tree:
    """The values in a setting, by their dotted names."""
    if not isinstance(value, Mapping) or not value:
        return {name: value}
    return {key: leaf for inner, item in value.items() for key, leaf in flat(f"{name}.{inner}", item).items()}


def unnamed(schema: type, prefix: str = "") -> list[str]:
    """The dotted names of the settings that are not part of a folder's name."""
    kinds = get_type_hints(schema)
    found = []
    for one in fields(schema):
        if not one.metadata.get("named", True):
            found.append(f"{prefix}{one.name}")
        if is_dataclass(kinds[one.name]):
            found += unnamed(kinds[one.name], f"{prefix}{one.name}.")
    return found
