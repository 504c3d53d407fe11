"""The `webarena` dialect: WebArena's accessibility text with all its defects, so that a number measured here is its
number.

The viewport filter multiplies where it means to divide, and the clean-up compares whole raw lines, ids included; both
are kept on purpose. The corrected rule is in `tree_cairn`.
"""

import re
from collections.abc import Mapping, Sequence

from harness.actions import Box
from harness.actions.truncate import cut
from harness.browser.ax_node import AXNode
from harness.browser.rendering.tree import Label, Rects, RenderedLine, RenderedTree, index, overlap, value_of
from harness.browser.text_limits import MAX_LINE_CHARS

ROOT_BOX: Box = (0.0, 0.0, 10.0, 10.0)
"""What WebArena takes a page's root for."""

_UNPRINTED = frozenset({"focusable", "editable", "readonly", "level", "settable", "multiline", "invalid"})
_BLANK_ROLES = frozenset(
    "generic img list strong paragraph banner navigation Section LabelText Legend listitem".split()
)
"""Not printed when they have neither name nor properties."""


def print_tree(
    nodes: Sequence[AXNode], rects: Rects, *, viewport: tuple[int, int] | None, label: Label
) -> RenderedTree:
    """Print a tree by WebArena's rule.

    Args:
        viewport: Width and height; None prints the whole page.

    Raises:
        KeyError: A node that is out of view names a parent or child that is not in the tree.
    """
    by_key = index(nodes)
    boxes = {key: _box(node, rects) for key, node in by_key.items()}
    hidden = set() if viewport is None else {key for key, box in boxes.items() if not is_seen(box, viewport)}
    _check_references(nodes, by_key, hidden)
    lines: list[str] = []
    shown: dict[str, RenderedLine] = {}
    stack = [(nodes[0]["nodeId"], 0)] if nodes else []
    while stack:
        key, depth = stack.pop()
        node = by_key[key]
        worded = None if key in hidden else _worded(node)
        if worded is not None:
            role, name, line = worded
            printed = label(node)
            lines.append("\t" * depth + f"[{printed}] {line}")
            # WebArena looks the DOM node up after it has printed the line: without one, no address and no indent.
            if "backendDOMNodeId" in node:
                shown[printed] = RenderedLine(node=node, role=role, name=name, line=line, box=boxes[key], depth=depth)
                depth += 1
        stack.extend((child, depth) for child in reversed(node["childIds"]) if child in by_key)
    raw = "\n".join(lines)
    return RenderedTree(raw=raw, text=_cleaned(raw), shown=shown)


def _check_references(nodes: Sequence[AXNode], by_key: Mapping[str, AXNode], hidden: set[str]) -> None:
    """WebArena splices a hidden node out of its parent and fails on a reference that leads nowhere."""
    for node in nodes:
        if node["nodeId"] in hidden:
            for key in (node["parentId"], *node["childIds"]):
                if key not in by_key:
                    raise KeyError(key)


def _box(node: AXNode, rects: Rects) -> Box | None:
    if "backendDOMNodeId" not in node:
        return None
    return ROOT_BOX if node.get("role", {}).get("value") == "RootWebArea" else rects.get(node["nodeId"])


def is_seen(box: Box | None, viewport: tuple[int, int]) -> bool:
    """Whether a box is in view by WebArena's rule."""
    if box is None or box[2] == 0 or box[3] == 0:
        return False
    across, down = overlap(box, viewport)
    # Multiplied by the height, not divided: a tall box is seen by a sliver, a flat one hardly ever.
    return across * down / box[2] * box[3] >= 0.6


def _worded(node: AXNode) -> tuple[str, str, str] | None:
    """Role, name and line of a node; None = it is not printed."""
    role, name = value_of(node, "role"), value_of(node, "name")
    if role is None or name is None:
        return None
    properties = " ".join(
        f"{entry['name']}: {entry['value']['value']}"
        for entry in node.get("properties", ())
        if entry["name"] not in _UNPRINTED and "value" in entry["value"]
    )
    if not name.strip() and (role == "listitem" if properties else role in _BLANK_ROLES):
        return None
    line = f"{role} {name!r} {properties}" if properties else f"{role} {name!r}"
    return role, name, cut(line, MAX_LINE_CHARS)


def _cleaned(text: str) -> str:
    """Drop text that one of the last three kept lines holds, ids, roles and escapes of those lines included."""
    kept: list[str] = []
    for line in text.split("\n"):
        if "statictext" in line.lower():
            match = re.search(r"\[\d+\] StaticText (.+)", line, re.DOTALL)
            said = match[1][1:-1] if match else ""
            if not said or any(said in before for before in kept[-3:]):
                continue
        kept.append(line)
    return "\n".join(kept)
