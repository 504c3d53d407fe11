"""Reads a page's DOM with the rectangles of its nodes, in one question to the browser.

WebArena asks for every node's rectangle on its own; the snapshot holds those of the layout, which are the same but for
nodes that have several boxes: their union is taken, as a client rectangle would be.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from playwright.async_api import CDPSession

from harness.actions import Box
from harness.browser.rendering.dom_text import TextElement
from harness.browser.rendering.tree_webarena import ROOT_BOX


async def read_elements(cdp: CDPSession, *, dialect: str) -> tuple[TextElement, ...]:
    """The nodes of the page's own document, in document order; frames are not looked into.

    Args:
        dialect: `webarena` gives an empty attribute the snapshot's last text, as WebArena does.
    """
    snapshot = await cdp.send("DOMSnapshot.captureSnapshot", {"computedStyles": []})
    document = snapshot["documents"][0]
    strings: Sequence[str] = snapshot["strings"]
    # WebArena looks up what is missing at index -1, which in Python is the last text.
    empty = strings[-1] if dialect == "webarena" else ""

    def text(index: int) -> str:
        return "" if index < 0 else strings[index]

    boxes = _boxes(document)
    nodes = document["nodes"]
    return tuple(
        TextElement(
            name=text(nodes["nodeName"][number]),
            parent=parent,
            value=text(nodes["nodeValue"][number]),
            attributes=tuple(
                (text(key), empty if value < 0 else strings[value])
                for key, value in zip(pairs[::2], pairs[1::2], strict=True)
            ),
            backend=nodes["backendNodeId"][number],
            box=ROOT_BOX if parent < 0 else boxes.get(number),
        )
        for number, (parent, pairs) in enumerate(zip(nodes["parentIndex"], nodes["attributes"], strict=True))
    )


def _boxes(document: Mapping[str, Any]) -> dict[int, Box]:
    """Position of a node to its rectangle in the viewport."""
    left, top = document.get("scrollOffsetX", 0.0), document.get("scrollOffsetY", 0.0)
    boxes: dict[int, Box] = {}
    for number, (x, y, width, height) in zip(
        document["layout"]["nodeIndex"], document["layout"]["bounds"], strict=True
    ):
        box = (x - left, y - top, width, height)
        boxes[number] = _union(boxes[number], box) if number in boxes else box
    return boxes


def _union(one: Box, other: Box) -> Box:
    x, y = min(one[0], other[0]), min(one[1], other[1])
    right, bottom = max(one[0] + one[2], other[0] + other[2]), max(one[1] + one[3], other[1] + other[3])
    return (x, y, right - x, bottom - y)
