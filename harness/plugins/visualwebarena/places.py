"""Where an entry of a VisualWebArena task looks, so that evidence is matched with a task that was corrected later."""

from collections.abc import Mapping
from typing import Any

_WANTED = ("required_contents", "eval_vqa", "ssim_threshold")
"""Keys of entries that are read when evidence is judged, not when it is gathered."""


def place_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry without what it wants to find."""
    return {key: value for key, value in entry.items() if key not in _WANTED}
