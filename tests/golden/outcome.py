"""What comparing one golden case can lead to: agreement (None), a difference (text), or a decision to differ."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Case = dict[str, Any]


@dataclass(frozen=True)
class Decision:
    """A difference that is meant, and why."""

    name: str
    because: str


Outcome = Decision | str | None
Comparer = Callable[[Case], Outcome]


def same(ours: object, golden: object) -> Outcome:
    return None if ours == golden else f"ours {ours!r}, golden {golden!r}"
