"""Which boxes of a picture lie on each other."""

from collections.abc import Sequence

from harness.actions import Box


def overlapping(boxes: Sequence[Box]) -> list[Box]:
    """Those that share an area with any other."""
    return [one for one in boxes if any(_overlap(one, other) for other in boxes if other is not one)]


def _overlap(one: Box, other: Box) -> bool:
    across = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    down = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    return across > 0 and down > 0
