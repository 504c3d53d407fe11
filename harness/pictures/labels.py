"""Where the numbers of marks stand in a picture, so that they hide neither each other nor what they number.

Pure. One label after the other, from top to bottom, takes the first free place around its mark: outside its corners
before inside them, then further away. Only where a picture is full does a label lie on another.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from harness.actions import Box

_CELL = 64.0
_RINGS = 3
"""How far from its mark a label is put at most, in heights of a label; 1 in a picture of very many marks."""
_MANY = 120
_PER_RING = 60.0
"""What it costs to be further away by one height."""
_PER_PX = 0.3
"""What it costs to hide a square px of the middle of a mark: a label hides its own before it goes two rings away."""
_PER_PX_OF_LABEL = 100.0


def place_labels(
    marks: Mapping[str, Box], sizes: Mapping[str, tuple[float, float]], area: tuple[int, int]
) -> dict[str, Box]:
    """The box of each label.

    Args:
        marks: By label, in px of the picture.
        sizes: Width and height of each label.
        area: Width and height of the picture.
    """
    taken, others = _Grid(), _Grid()
    for box in marks.values():
        others.add(_core(box))
    placed: dict[str, Box] = {}
    rings = _RINGS if len(marks) <= _MANY else 1
    for label, mark in sorted(marks.items(), key=lambda one: (one[1][1], one[1][0])):
        width, height = sizes[label]
        best, least = None, inf
        for cost, x, y in _places(mark, width, height, rings):
            if cost >= least:
                break
            box = _within((x, y, width, height), area)
            price = cost + _PER_PX_OF_LABEL * taken.covered(box)
            if price < least and (price := price + _PER_PX * others.covered(box)) < least:
                best, least = box, price
        assert best is not None
        placed[label] = best
        taken.add(best)
    return {label: placed[label] for label in marks}


def _places(mark: Box, width: float, height: float, rings: int) -> Iterator[tuple[float, float, float]]:
    """What a place costs, and the corner of the label there; the cheapest first."""
    x, y, across, down = mark
    right, bottom = x + across, y + down
    middle = y + (down - height) / 2
    near = (
        *((x, y - height), (x - width, y), (right, y), (x, bottom), (right - width, y - height)),
        *((x - width, y - height), (right, y - height), (x - width, bottom - height), (right - width, bottom)),
        *((x, y), (right - width, y), (x, bottom - height), (right - width, bottom - height)),
        *((x - width, middle), (right, middle)),
    )
    yield from ((float(cost), *place) for cost, place in enumerate(near))
    for ring in range(1, rings + 1):
        cost, away = ring * _PER_RING, ring * height
        for column in range(-ring, ring + 1):
            yield cost, x + column * width, y - height - away
            yield cost, x + column * width, bottom + away
        for row in range(-ring, ring + 1):
            yield cost, x - width - ring * width, y + row * height
            yield cost, right + ring * width, y + row * height


def _core(box: Box) -> Box:
    """The middle of a mark, where its text is and where it is clicked."""
    x, y, width, height = box
    across, down = min(width, 24.0), min(height, 12.0)
    return (x + (width - across) / 2, y + (height - down) / 2, across, down)


def _within(box: Box, area: tuple[int, int]) -> Box:
    x, y, width, height = box
    return (max(0.0, min(x, area[0] - width)), max(0.0, min(y, area[1] - height)), width, height)


class _Grid:
    """Boxes, found by where they are."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], list[Box]] = {}
        """Left, top, right and bottom edges."""

    def add(self, box: Box) -> None:
        x, y, width, height = box
        for cell in _cells_of(box):
            self._cells.setdefault(cell, []).append((x, y, x + width, y + height))

    def covered(self, box: Box) -> float:
        """How much of what is there a box would cover, in square px; what lies in two cells may count twice."""
        left, top, width, height = box
        right, bottom = left + width, top + height
        area = 0.0
        for cell in _cells_of(box):
            for x, y, end, foot in self._cells.get(cell, ()):
                if x < right and left < end and y < bottom and top < foot:
                    area += (min(right, end) - max(left, x)) * (min(bottom, foot) - max(top, y))
        return area


def _cells_of(box: Box) -> Sequence[tuple[int, int]]:
    x, y, width, height = box
    left, top = int(x // _CELL), int(y // _CELL)
    right, bottom = int((x + width) // _CELL), int((y + height) // _CELL)
    if left == right and top == bottom:
        return ((left, top),)
    return [(column, row) for column in range(left, right + 1) for row in range(top, bottom + 1)]
