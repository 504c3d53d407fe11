"""Fields that lines of journals may lack."""

from dataclasses import field
from typing import Any

OMITTED = "omitted"
"""Key of a field's metadata; the codec looks for it."""


def optional(default: Any = None, *, factory: Any = None) -> Any:
    """A field that is left out of a line when it has its default, and has its default when a line lacks it.

    New fields are made with it: lines without them are read as before, and cost no byte more.
    """
    if factory is not None:
        return field(default_factory=factory, metadata={OMITTED: True})
    return field(default=default, metadata={OMITTED: True})
