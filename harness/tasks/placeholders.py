"""Placeholders like `__SHOPPING__` become canonical base URLs.

Works on parsed strings, never on raw JSON, so no address can break the file's syntax. Lower-case tokens
(`__last_url__`, `__page__`) belong to the evaluators and pass.
"""

import re
from collections.abc import Mapping
from typing import Any

from harness.codec import JsonObject
from harness.errors import TaskError

_PLACEHOLDER = re.compile(r"__([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)__")


def expand(place: str, value: Mapping[str, Any], bases: Mapping[str, str]) -> JsonObject:
    """A copy of a raw task with every placeholder in every string replaced.

    Args:
        place: How a complaint names the task.
        bases: Site name to base URL without a trailing slash.
    """

    def walk(item: Any, field: str) -> Any:
        if isinstance(item, str):
            return _PLACEHOLDER.sub(lambda found: base_of(found[1], field), item) if "__" in item else item
        if isinstance(item, dict):
            return {key: walk(inner, f"{field}.{key}" if field else key) for key, inner in item.items()}
        if isinstance(item, list):
            return [walk(inner, f"{field}[{index}]") for index, inner in enumerate(item)]
        return item

    def base_of(name: str, field: str) -> str:
        base = bases.get(name.lower())
        if not base:
            raise TaskError(
                f"{place}: field `{field}` needs the address of site {name.lower()}; "
                f"give sites.{name.lower()}.url=… or set the environment variable {name}"
            )
        return base

    expanded: JsonObject = walk(value, "")
    return expanded
