"""What ties a script's view of a subtree to CDP's: positions in document order, counted alike on both sides.

`walk.js` counts elements and texts in order, a host before its open shadow tree and that before the host's children;
`build_index` counts the answer of `DOM.describeNode` (pierced, with white space) the same way. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.actions import Box

_ELEMENT, _TEXT, _DOCUMENT = 1, 3, 9
_FRAMES = frozenset({"IFRAME", "FRAME"})
_SPECIAL = frozenset({"pseudoElements", "shadowRoots", "frameId"})
"""Keys of an element that has more than children; a page has thousands without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A subtree to be read whole, as the script saw it."""

    root: int
    """Its backendNodeId."""
    size: int
    boxes: Mapping[int, Box]
    """By position, of what is in view; a box of zeros: it is not, but parts no script can reach may be."""
    frames: Mapping[int, Box]
    """By position, the contents of frames in view."""

    @classmethod
    def parse(cls, root: int, boxes: Sequence[float], frames: Sequence[float]) -> "Region":
        return cls(root=root, size=int(boxes[0]), boxes=_by_position(boxes[1:]), frames=_by_position(frames))


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenNode:
    """A node that the script named."""

    backend: int
    has_closed_tree: bool
    """Whether it has a shadow tree that is not open: closed, or the browser's own."""
    box: Box | None
    """None = not in view."""
    frame: Box | None
    """The contents of the frame it is."""

    @classmethod
    def parse(cls, serialized: Mapping[str, Any], numbers: Sequence[float]) -> "SeenNode":
        """From what WebDriver BiDi tells of a node, and what the script does."""
        shadow = serialized.get("shadowRoot")
        return cls(
            backend=serialized["backendNodeId"],
            has_closed_tree=shadow is not None and shadow["value"]["mode"] != "open",
            box=_box(numbers[:4]),
            frame=_box(numbers[4:]),
        )


def _box(numbers: Sequence[float]) -> Box | None:
    return (numbers[0], numbers[1], numbers[2], numbers[3]) if numbers else None


def _by_position(numbers: Sequence[float]) -> dict[int, Box]:
    fives = zip(*[iter(numbers)] * 5, strict=True)
    return {int(position): (x, y, width, height) for position, x, y, width, height in fives}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowTree:
    """A shadow tree no script can reach: of the browser's own widgets, or closed."""

    root: int
    host: int | None
    """Position of the widget; None: of a closed shadow tree, or deeper in another one."""
    order: list[int] = field(default_factory=list)
    """Its elements and texts, those of open shadow trees in it included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomIndex:
    """A subtree as CDP sees it; nodes are backend ids."""

    order: list[int] = field(default_factory=list)
    """Elements and texts by position."""
    inners: list[ShadowTree] = field(default_factory=list)
    pseudo: list[int] = field(default_factory=list)
    """`::before`, `::marker` and the like, which have no rectangle of their own."""
    frames: dict[int, str] = field(default_factory=dict)
    """Owner to frame id."""


def frame_of(described: Mapping[str, Any]) -> str | None:
    """The id of the frame that an element holds."""
    # What an object or embed of another process holds may be the browser's own: a viewer.
    if "frameId" in described and ("contentDocument" in described or described["nodeName"] in _FRAMES):
        frame: str = described["frameId"]
        return frame
    return None


def build_index(described: Mapping[str, Any]) -> DomIndex:
    """Count the nodes of a described subtree."""
    found = DomIndex()
    stack: list[tuple[Mapping[str, Any], list[int]]] = [(described, found.order)]
    while stack:
        node, order = stack.pop()
        if node["nodeType"] in (_ELEMENT, _TEXT, _DOCUMENT):
            order.append(node["backendNodeId"])
        below = [(child, order) for child in node.get("children", ())]
        # Most nodes have none of these keys: counting took six times as long when each was asked for.
        if node["nodeType"] == _ELEMENT and not _SPECIAL.isdisjoint(node):
            below = [*_note_special(node, order, found), *below]
        below.reverse()
        stack += below
    return found


def _note_special(
    node: Mapping[str, Any], order: list[int], found: DomIndex
) -> Iterator[tuple[Mapping[str, Any], list[int]]]:
    """Take note of what an element holds beside its children; its shadow trees are to be counted before them."""
    found.pseudo.extend(pseudo["backendNodeId"] for pseudo in node.get("pseudoElements", ()))
    if (frame := frame_of(node)) is not None:
        found.frames[node["backendNodeId"]] = frame
    for root in node.get("shadowRoots", ()):
        inside = order
        if root["shadowRootType"] != "open":
            is_widget = root["shadowRootType"] == "user-agent" and order is found.order
            inner = ShadowTree(root=root["backendNodeId"], host=len(order) - 1 if is_widget else None)
            found.inners.append(inner)
            inside = inner.order
        yield from ((child, inside) for child in root.get("children", ()))
