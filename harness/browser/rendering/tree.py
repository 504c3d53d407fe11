"""What both dialects of the `accessibility_tree` observation share: nodes and rectangles in, printed lines out.

Pure: nothing here knows a browser, so a recorded tree gives the same text for ever. Nodes are what CDP calls `AXNode`,
the root first; rectangles are keyed by AX node id, and a node without one is not laid out. Where the rectangles come
from, and which id a line shows, is the caller's business.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.actions import Box
from harness.actions.truncate import cut
from harness.browser.ax_node import AXNode
from harness.browser.text_limits import MAX_NAME_CHARS

Rects = Mapping[str, Box]
Label = Callable[[AXNode], str]
"""The id to print for a node; asked once per line, from top to bottom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedLine:
    """A line that can be addressed by its id."""

    node: AXNode
    """In a text of the DOM, where no accessibility node is known, only its backendDOMNodeId is."""
    role: str
    name: str
    line: str
    """Without indent and `[id] `."""
    box: Box | None
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedTree:
    raw: str
    """The text before its clean-up."""
    text: str
    shown: Mapping[str, RenderedLine]
    """Printed id to line, from top to bottom; under `webarena` also lines that the clean-up took away."""


def index(nodes: Sequence[AXNode]) -> dict[str, AXNode]:
    """Nodes by id; of several with the same id the first counts."""
    return {node["nodeId"]: node for node in reversed(nodes)}


def value_of(node: AXNode, field: Literal["role", "name", "value"]) -> Any:
    """The value of a node's `role`, `name` or `value`, as far as a record takes it; None when it has none."""
    value = node.get(field, {}).get("value")
    return cut(value, MAX_NAME_CHARS) if isinstance(value, str) else value


def overlap(box: Box, viewport: tuple[int, int]) -> tuple[float, float]:
    """Width and height of the part of a rectangle that lies in the viewport."""
    x, y, width, height = box
    return (
        max(0, min(x + width, viewport[0]) - max(x, 0)),
        max(0, min(y + height, viewport[1]) - max(y, 0)),
    )
