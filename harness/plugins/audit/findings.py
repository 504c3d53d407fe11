"""What exploits came to: on which tasks, and in which scoring dialect."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One exploit on one task."""

    exploit: str
    task_id: str
    scores: Mapping[str, float | None]
    """Scores by dialect; None = unscored."""
    why: Mapping[str, str] = field(default_factory=dict)
    """By dialect, where it is unscored or has a value above 0: what the evaluators said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploitRow:
    """One exploit over all tasks it fits."""

    exploit: str
    about: str
    tried: int
    passed: Mapping[str, tuple[str, ...]]
    """By dialect: ids of tasks with a score above 0."""
    unscored: Mapping[str, tuple[str, ...]]


def rows_of(tried: list[Tried], about: Mapping[str, str], dialects: tuple[str, ...]) -> tuple[ExploitRow, ...]:
    """One row for each exploit, in the order of `about`."""
    found = []
    for name, sentence in about.items():
        own = [one for one in tried if one.exploit == name]
        found.append(
            ExploitRow(
                exploit=name,
                about=sentence,
                tried=len(own),
                passed={dialect: tuple(one.task_id for one in own if one.scores[dialect]) for dialect in dialects},
                unscored={
                    dialect: tuple(one.task_id for one in own if one.scores[dialect] is None) for dialect in dialects
                },
            )
        )
    return tuple(found)
