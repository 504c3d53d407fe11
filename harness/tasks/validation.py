"""Typed access to the fields of a raw task; every complaint names file, task and field.

`Fields` wraps one JSON object and its place. Asking for a field takes it: what was never asked for is what we do not
know, and `rest` gives it back.
"""

from collections.abc import Mapping
from typing import Any

from harness.actions.truncate import cut
from harness.codec import JsonObject
from harness.errors import TaskError


class Fields:
    """The fields of one object of a file, read by type; each complaint names place and field."""

    def __init__(self, place: str, values: Mapping[str, Any], prefix: str = "") -> None:
        self._place = place
        self._values = values
        self._prefix = prefix
        self._asked: set[str] = set()

    def wrong(self, key: str, why: str) -> TaskError:
        """The complaint about one field, to be raised by the caller."""
        return TaskError(f"{self._place}: field `{self._prefix}{key}` {why}")

    def rest(self) -> JsonObject:
        return {key: value for key, value in self._values.items() if key not in self._asked}

    def has(self, key: str) -> bool:
        """Whether the field is there and not null."""
        return self._values.get(key) is not None

    def is_given(self, key: str) -> bool:
        """Whether the field is there, be it null."""
        return key in self._values

    def get(self, key: str) -> Any:
        """The value as it is; None = absent or null."""
        self._asked.add(key)
        return self._values.get(key)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.get(key)
        if value is None and default is not None:
            return default
        return self.text_in(key, value)

    def text_in(self, key: str, value: Any) -> str:
        if value is None:
            raise self.wrong(key, "is missing; give a string")
        if not isinstance(value, str):
            raise self.wrong(key, f"must be a string, not {cut(repr(value), 60)}")
        return value

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if self.has(key) else self.get(key)

    def flag(self, key: str) -> bool | None:
        value = self.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(key, f"must be true or false, not {cut(repr(value), 60)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        if value is None:
            raise self.wrong(key, "is missing; give a list of strings")
        if not isinstance(value, list):
            raise self.wrong(key, f"must be a list of strings, not {cut(repr(value), 60)}")
        return tuple(self.text_in(f"{key}[{index}]", item) for index, item in enumerate(value))

    def mapping(self, key: str) -> JsonObject:
        """A JSON object; {} when absent."""
        value = self.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.wrong(key, f"must be an object, not {cut(repr(value), 60)}")
        return value

    def inner(self, key: str) -> "Fields":
        """The fields of a required object."""
        if not self.has(key):
            raise self.wrong(key, "is missing; give an object")
        return Fields(self._place, self.mapping(key), f"{self._prefix}{key}.")

    def inners(self, key: str) -> "tuple[Fields, ...]":
        """The fields of each object in a list; () when absent."""
        value = self.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.wrong(key, f"must be a list of objects, not {cut(repr(value), 60)}")
        inners = []
        for index, item in enumerate(value):
            if not isinstance(item, dict):
                raise self.wrong(f"{key}[{index}]", f"must be an object, not {cut(repr(item), 60)}")
            inners.append(Fields(self._place, item, f"{self._prefix}{key}[{index}]."))
        return tuple(inners)
