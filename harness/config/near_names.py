"""Names that are like one that does not exist; apart from what composes settings, which workers do without."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

_NEAR = 0.6
_ELSEWHERE = 0.2
"""How much less a name is worth that is only near in its last part: `+max_step` means `limits.max_steps`."""
_SAME_KEY = 0.95
"""What a name is worth whose last part is the same: `+limit` means `task.limit` rather than `limits`."""


def misspelt(name: str, known: Iterable[str]) -> str:
    """The message about a setting that does not exist."""
    names = tuple(known)
    near = nearest(name, names)
    same = [one for one in names if near and one.rpartition(".")[2] == name.rpartition(".")[2]]  # model: whose?
    hint = f"; did you mean {' or '.join(same[:4]) or near}" if near else ""
    return f"{name} is not a setting{hint}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like this one; None = none is like it."""
    near = max(known, key=lambda one: _likeness(name, one), default=name)
    return near if near != name and _likeness(name, near) >= _NEAR else None


def _likeness(one: str, other: str) -> float:
    key, other_key = one.rpartition(".")[2], other.rpartition(".")[2]
    last = SequenceMatcher(None, key, other_key).ratio() if key != other_key else _SAME_KEY + _ELSEWHERE
    words = SequenceMatcher(None, _words(one), _words(other)).ratio()
    return max(SequenceMatcher(None, one, other).ratio(), last - _ELSEWHERE, words - _ELSEWHERE)


def _words(name: str) -> str:
    """The words in one order: `--dry-run` means `run.dry`."""
    return " ".join(sorted(re.split(r"[._]", name)))
