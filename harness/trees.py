"""Trees of dicts, lists and values, as JSON and YAML have them: their texts changed, and their leaves."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any


def each_text(tree: Any, change: Callable[[str], str], *, keys: bool = True) -> Any:
    """The same with another text in place of each, also in dataclasses that it holds.

    Args:
        keys: Whether the keys of dicts are texts, too.
    """
    if isinstance(tree, str):
        return change(tree)
    if isinstance(tree, dict):
        return {change(key) if keys else key: each_text(value, change, keys=keys) for key, value in tree.items()}
    if isinstance(tree, list):
        return [each_text(value, change, keys=keys) for value in tree]
    if is_dataclass(tree) and not isinstance(tree, type):
        values = {one.name: getattr(tree, one.name) for one in fields(tree)}
        return replace(tree, **each_text(values, change, keys=False))
    return tree


def leaves(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What is neither dict nor list, each with its keys and numbers from the root on."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else None
    if items is None:
        yield path, tree
        return
    for key, value in items:
        yield from leaves(value, (*path, str(key)))
