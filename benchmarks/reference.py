"""WebArena's way of reading a page, kept as the measure of ours: the whole tree, then two calls for every node.

Written from the rule, not from its code: a node without a DOM node has no rectangle, a node that cannot be resolved or
measured has none either. Its text is the judge of `harness.browser.reading.document_snapshot`; its time is what we
compare ours with.
"""

from collections.abc import Sequence
from typing import Any

from playwright.async_api import CDPSession, Error

from harness.actions import Box
from harness.browser.ax_node import AXNode
from harness.browser.rendering.tree import Label, RenderedTree
from harness.browser.rendering.tree_webarena import print_tree

MEASURE = """function () {
    let rect;
    if (this.nodeType === 3) {
        const range = document.createRange();
        range.selectNode(this);
        rect = range.getBoundingClientRect();
    } else rect = this.getBoundingClientRect();
    return [rect.x, rect.y, rect.width, rect.height];
}"""


async def read(cdp: CDPSession) -> tuple[Sequence[dict[str, Any]], dict[str, Box]]:
    """Nodes of the main frame in CDP's order, and rectangles by node id."""
    nodes = (await cdp.send("Accessibility.getFullAXTree"))["nodes"]
    rects: dict[str, Box] = {}
    for node in nodes:
        if "backendDOMNodeId" not in node or node.get("role", {}).get("value") == "RootWebArea":
            continue
        rect = await measure(cdp, node["backendDOMNodeId"])
        if rect is not None:
            rects[node["nodeId"]] = rect
    return nodes, rects


async def measure(cdp: CDPSession, backend: int) -> Box | None:
    try:
        found = await cdp.send("DOM.resolveNode", {"backendNodeId": backend})
        answer = await cdp.send(
            "Runtime.callFunctionOn",
            {"objectId": found["object"]["objectId"], "functionDeclaration": MEASURE, "returnByValue": True},
        )
    except Error:
        return None
    value = answer["result"].get("value")
    return None if "exceptionDetails" in answer or value is None else (value[0], value[1], value[2], value[3])


class Labels:
    """Ids as an observer gives them: by first printing, kept for the same node."""

    def __init__(self) -> None:
        self._ids: dict[int, int] = {}

    def __call__(self, node: AXNode) -> str:
        if "backendDOMNodeId" not in node:
            return str(node["nodeId"])
        return str(self._ids.setdefault(node["backendDOMNodeId"], len(self._ids) + 1))


async def observe(cdp: CDPSession, *, viewport: tuple[int, int] | None, label: Label) -> RenderedTree:
    """The text of WebArena's own algorithm for the page as it is."""
    nodes, rects = await read(cdp)
    return print_tree(nodes, rects, viewport=viewport, label=label)
