"""What ties a script's view of a subtree to CDP's: positions in document order, counted alike on both sides.

`walk.js` counts elements and texts in order, a host before its open shadow tree and that before the host's children;
`outline` counts the answer of `DOM.describeNode` (pierced, with white space) the same way. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.actions.space import Box

_ELEMENT, _TEXT, _DOCUMENT = 1, 3, 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A subtree as the script saw it."""

    handle: str
    """Remote object id of its root."""
    size: int
    boxes: Mapping[int, Box]
    """By position, of what is in view; a box of zeros: it is not, but parts no script can reach may be."""
    frames: Mapping[int, Box]
    """By position, the contents of frames in view."""

    @classmethod
    def parse(cls, handle: str, boxes: Sequence[float], frames: Sequence[float]) -> "Region":
        return cls(handle=handle, size=int(boxes[0]), boxes=_by_position(boxes[1:]), frames=_by_position(frames))


def _by_position(numbers: Sequence[float]) -> dict[int, Box]:
    fives = zip(*[iter(numbers)] * 5, strict=True)
    return {int(position): (x, y, width, height) for position, x, y, width, height in fives}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A subtree as CDP sees it; nodes are backend ids."""

    order: list[int] = field(default_factory=list)
    """Elements and texts by position."""
    hidden: list[tuple[int, int | None]] = field(default_factory=list)
    """Nodes no script can reach, with the position of the element they belong to; None: of a closed shadow tree."""
    pseudo: list[int] = field(default_factory=list)
    """`::before`, `::marker` and the like, which have no rectangle of their own."""
    frames: dict[int, str] = field(default_factory=dict)
    """Owner to frame id."""


def outline(described: Mapping[str, Any]) -> Outline:
    """Count the nodes of a described subtree."""
    found = Outline()
    reachable = -1
    stack: list[tuple[Mapping[str, Any], int | None]] = [(described, reachable)]
    while stack:
        node, host = stack.pop()
        kind, backend = node["nodeType"], node["backendNodeId"]
        if kind in (_ELEMENT, _TEXT, _DOCUMENT):
            if host == reachable:
                found.order.append(backend)
            else:
                found.hidden.append((backend, host))
        found.pseudo.extend(pseudo["backendNodeId"] for pseudo in node.get("pseudoElements", ()))
        if "frameId" in node and kind == _ELEMENT:
            found.frames[backend] = node["frameId"]
        below: list[tuple[Mapping[str, Any], int | None]] = []
        for root in node.get("shadowRoots", ()):
            inner = {"open": reachable, "user-agent": len(found.order) - 1}.get(root["shadowRootType"])
            below += ((child, host if host != reachable else inner) for child in root.get("children", ()))
        below += ((child, host) for child in node.get("children", ()))
        stack.extend(reversed(below))
    return found
