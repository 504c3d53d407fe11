"""Actions that are taken again and again on one page state: whether an episode goes in circles."""

from collections import Counter
from collections.abc import Hashable, Sequence

LEAST = 3
"""How often an action on one page state has to be taken to be a loop."""


def repeated(states: Sequence[Hashable]) -> list[int]:
    """Positions of what is taken at least `LEAST` times.

    Args:
        states: Of each action that is not a stop: the page that it is taken on, and what it is.
    """
    counts = Counter(states)
    return [at for at, state in enumerate(states) if counts[state] >= LEAST]


def is_loop(again: Sequence[int], actions: int, *, is_at_limit: bool) -> bool:
    """Whether actions that are repeated make a loop: they are half of all, or go on to the limit that ended it.

    Args:
        again: Positions of those that are repeated.
        actions: How many there are in all.
        is_at_limit: Whether a limit ended the episode, and not the agent.
    """
    return bool(again) and (len(again) * 2 >= actions or (again[-1] == actions - 1 and is_at_limit))
