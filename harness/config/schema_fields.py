"""What a setting means for a run folder, declared on its field; and settings as plain values."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, field, fields, is_dataclass
from enum import Enum
from typing import Any, get_type_hints

Tree = dict[str, Any]
"""Settings as plain values: what YAML and JSON know."""


def setting(
    default: Any = None, *, factory: Any = None, measured: bool = True, named: bool = True, added: bool = False
) -> Any:
    """A field, with what it means for a run folder; said here and nowhere else.

    Args:
        default: Its default.
        factory: Makes the default, of settings that are no single value.
        measured: Whether it changes what is measured, so that a run folder holds one value of it; of a group whether
            anything in it does.
        named: Whether runs of a sweep (`-m`) that differ in it have folders of different names; of a group whether its
            choice (`llm=openai`) does. What is not named is in `run.id`, or means nothing to a sweep.
        added: Whether there are run folders from before it existed: with its default it is no part of what is measured,
            so that those are resumed as they are.
    """
    metadata = {"measured": measured, "named": named, "added": added}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def as_plain(value: Any) -> Any:
    """Dataclasses and enums as what YAML and JSON know."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(item) for item in value]
    return as_plain(asdict(value)) if is_dataclass(value) and not isinstance(value, type) else value


def measured(tree: Tree, schema: type, prefix: str = "") -> Tree:
    """The settings that change what is measured, as one flat mapping of dotted keys to plain values.

    Args:
        tree: The settings.
        schema: A dataclass whose fields declare them.
        prefix: Of their names.
    """
    kinds = get_type_hints(schema)
    found: Tree = {}
    for one in fields(schema):
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
    """The dotted names of the settings that are no part of a folder's name."""
    kinds = get_type_hints(schema)
    found = []
    for one in fields(schema):
        if not one.metadata.get("named", True):
            found.append(f"{prefix}{one.name}")
        if is_dataclass(kinds[one.name]):
            found += unnamed(kinds[one.name], f"{prefix}{one.name}.")
    return found
