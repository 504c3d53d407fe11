"""Repeated trials: their statistics per task, and the separate counts of tasks, trials and episodes.

An episode is one trial of one task. A trial without a score is not counted, because its result is unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.runs.intervals import pass_at_k, pass_hat_k


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """What repeated trials of the same tasks say, means over tasks."""

    tasks: int
    """Those with the most scored trials, which is the last k; only they count here."""
    at: tuple[tuple[int, float, float], ...]
    """k, pass@k, pass^k."""


def trials_of(passes: Mapping[str, Sequence[float]]) -> Trials | None:
    """pass@k and pass^k, for each k up to the largest number of trials; None when no task has two.

    Args:
        passes: Task to 1 or 0 for each of its scored trials.
    """
    most = max((len(values) for values in passes.values()), default=0)
    counted = [int(sum(values)) for values in passes.values() if len(values) == most]
    if most < 2:
        return None
    at = tuple(
        (
            k,
            sum(pass_at_k(most, passed, k) for passed in counted) / len(counted),
            sum(pass_hat_k(most, passed, k) for passed in counted) / len(counted),
        )
        for k in range(1, most + 1)
    )
    return Trials(tasks=len(counted), at=at)


def counted(tasks: int, episodes: int, *, is_even: bool) -> str:
    """`40 tasks`, or `40 tasks × 3 trials = 120 episodes`, or `50 episodes of 40 tasks` where trials are missing.

    Args:
        tasks: Those with an episode.
        episodes: Of all of them.
        is_even: Whether each task has as many.
    """
    if episodes == tasks:
        return amount(tasks, "task")
    if not is_even:
        return f"{amount(episodes, 'episode')} of {amount(tasks, 'task')}"
    return f"{amount(tasks, 'task')} × {episodes // tasks} trials = {amount(episodes, 'episode')}"


def counted_briefly(tasks: int, episodes: int, *, is_even: bool) -> str:
    """The same for the cell of a table: `40`, `40 × 3`, or `40 (50)`."""
    if episodes == tasks:
        return str(tasks)
    return f"{tasks} × {episodes // tasks}" if is_even else f"{tasks} ({episodes})"


def amount(count: int, name: str) -> str:
    """`1 task`, `1,200 tasks`."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"
