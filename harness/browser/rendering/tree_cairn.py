"""The `cairn` dialect: the accessibility text that WebArena's rule was meant to give.

A node is shown when it, or anything below it, has at least one square pixel (or half of itself, when it is smaller) in
the viewport; so a container is never missing above its contents. The options of a closed list have no boxes and are
shown with their list. Text is left out only where a name or a value above it already says it. Values, heading levels
and states an agent can act on are printed; addresses and technical states are not, nor is generated content (`::before`
and the like), which has no node to point at.
"""

import re
from collections.abc import Mapping, Sequence
from ctypes import c_float
from typing import Any, NamedTuple

from harness.actions import Box
from harness.actions.truncate import cut
from harness.browser.ax_node import AXNode
from harness.browser.rendering.tree import Label, Rects, RenderedLine, RenderedTree, index, overlap, value_of
from harness.browser.text_limits import MAX_LINE_CHARS

_SILENT_ROLES = frozenset({"InlineTextBox", "LineBreak", "ListMarker"})
_BLANK_ROLES = frozenset(
    "Abbr Canvas DescriptionList DescriptionListDetail DescriptionListTerm Figcaption LabelText LayoutTable "
    "LayoutTableCell LayoutTableRow Legend MenuListPopup Pre RootWebArea Ruby RubyAnnotation Section StaticText banner "
    "blockquote caption code definition deletion emphasis figure generic group image img insertion list listitem mark "
    "navigation none paragraph rowgroup strong subscript superscript term time".split()
)
"""Not printed when they have neither a name nor a detail."""
_NAMED_BY_CONTENT = frozenset(
    "DisclosureTriangle DisclosureTriangleGrouped button cell checkbox columnheader gridcell heading link menuitem "
    "menuitemcheckbox menuitemradio option radio rowheader switch tab tooltip treeitem".split()
)
_FIELDS = frozenset({"combobox", "searchbox", "spinbutton", "textbox"})
"""Roles that tell by themselves that text can be typed."""
_ALWAYS = ("checked", "pressed", "expanded")
"""States printed whatever they are: not being checked is worth a word."""
_WHEN_TRUE = ("selected", "disabled", "readonly", "required", "busy", "modal", "multiselectable")
_MARKED = ("invalid", "hasPopup")
_TELLING = frozenset(
    (*_ALWAYS, *_WHEN_TRUE, *_MARKED, "editable", "level", "valuetext", "focused", "valuemin", "valuemax")
)
"""Properties that details are made of; most nodes have none of them."""
_NUMBER = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)
_MOST_DIGITS = 9
"""No float of 32 bits needs more to be told from the others."""


class _Line(NamedTuple):
    role: str
    name: str
    details: tuple[str, ...]

    def __str__(self) -> str:
        return cut(" ".join((self.role, repr(self.name), *self.details)), MAX_LINE_CHARS)

    @property
    def has_value(self) -> bool:
        return bool(self.details) and self.details[0].startswith("value: ")


def print_tree(
    nodes: Sequence[AXNode], rects: Rects, *, viewport: tuple[int, int] | None, label: Label
) -> RenderedTree:
    """Print a tree by the corrected rule.

    Args:
        viewport: Width and height; None prints the whole page.
    """
    by_key = index(nodes)
    kept = None if viewport is None else _kept(nodes, by_key, rects, viewport)
    lines: list[str] = []
    shown: dict[str, RenderedLine] = {}
    path: list[_Line] = []
    """The newest line at each depth: the ancestors of the next line, and then its elder sibling."""
    stack = [(nodes[0]["nodeId"], 0)] if nodes else []
    while stack:
        key, depth = stack.pop()
        if kept is not None and key not in kept:
            continue
        node = by_key[key]
        line = _line(node, is_root=not lines)
        if line is not None and not (line.role == "StaticText" and _is_said(line.name, path, depth)):
            printed = label(node)
            lines.append("\t" * depth + f"[{printed}] {line}")
            shown[printed] = RenderedLine(
                node=node, role=line.role, name=line.name, line=str(line), box=rects.get(key), depth=depth
            )
            path[depth:] = [line]
            depth += 1
        stack.extend((child, depth) for child in reversed(node["childIds"]) if child in by_key)
    text = "\n".join(lines)
    return RenderedTree(raw=text, text=text, shown=shown)


def _kept(nodes: Sequence[AXNode], by_key: Mapping[str, AXNode], rects: Rects, viewport: tuple[int, int]) -> set[str]:
    order: list[tuple[str, str]] = []
    stack = [(node["nodeId"], "") for node in nodes[:1]]
    while stack:
        key, parent = stack.pop()
        order.append((key, parent))
        stack.extend((child, key) for child in reversed(by_key[key]["childIds"]) if child in by_key)
    kept = {node["nodeId"] for node in nodes[:1]}
    for key, parent in reversed(order):
        if key in kept or is_seen(rects.get(key), viewport):
            kept |= {key, parent}
    in_closed_list: set[str] = set()
    for key, parent in order:
        if parent in in_closed_list or (parent in kept and value_of(by_key[key], "role") == "MenuListPopup"):
            in_closed_list.add(key)
    return kept | in_closed_list


def is_seen(box: Box | None, viewport: tuple[int, int]) -> bool:
    """Whether enough of a box is in view."""
    if box is None or box[2] <= 0 or box[3] <= 0:
        return False
    across, down = overlap(box, viewport)
    return across * down >= min(1.0, box[2] * box[3] / 2)


def _line(node: AXNode, *, is_root: bool) -> _Line | None:
    role, name = value_of(node, "role"), value_of(node, "name")
    if role is None or name is None or role in _SILENT_ROLES or "backendDOMNodeId" not in node:
        return None
    line = _Line(role, " ".join(str(name).split()), tuple(_details(node, role)))
    is_blank = not line.name and not line.details and role in _BLANK_ROLES
    return None if is_blank and not is_root else line


def _details(node: AXNode, role: str) -> list[str]:
    has = {entry["name"]: entry["value"].get("value") for entry in node.get("properties", ())}
    value = value_of(node, "value")
    if _TELLING.isdisjoint(has) and value in (None, ""):
        return []
    is_rich = has.get("editable") == "richtext"
    text = has.get("valuetext")
    said = (text if text and _is_same(text, value) else _shortest(value)) if _is_number(value) else repr(value)
    details = [f"value: {said}"] if value not in (None, "") and not is_rich else []
    if has.get("focusable") and (is_rich or (has.get("editable") and role not in _FIELDS)):
        details.append(f"editable: {has['editable']}")
    if role == "heading" and "level" in has:
        details.append(f"level: {has['level']}")
    if text and text not in (value, said):
        details.append(f"valuetext: {text!r}")
    details += (f"{name}: {has[name]}" for name in _ALWAYS if name in has)
    details += (f"{name}: True" for name in _WHEN_TRUE if has.get(name) is True)
    details += (f"{name}: {has[name]}" for name in _MARKED if has.get(name) not in (None, "false"))
    if has.get("focused") and role != "RootWebArea":
        details.append("focused: True")
    details += _range(has)
    return details


def _range(has: Mapping[str, Any]) -> list[str]:
    low, high = has.get("valuemin"), has.get("valuemax")
    # Chromium reports 0 and 0 for a field without limits.
    return [f"valuemin: {_shortest(low)}", f"valuemax: {_shortest(high)}"] if high is not None and high != low else []


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_same(text: str, value: float) -> bool:
    """Whether a field's own text is the number that Chromium rounded to 32 bits."""
    return _NUMBER.fullmatch(text) is not None and c_float(float(text)).value == value


def _shortest(value: Any) -> str:
    """The shortest number that Chromium rounds to this one: 19.99, not 19.989999771118164."""
    if not _is_number(value) or c_float(value).value != value:
        return str(value)
    rounded = (float(f"{value:.{digits}g}") for digits in range(1, _MOST_DIGITS + 1))
    return repr(next(one for one in rounded if c_float(one).value == value)).removesuffix(".0")


def _is_said(text: str, path: Sequence[_Line], depth: int) -> bool:
    """Whether the lines around a piece of text leave nothing to add."""
    for line in path[:depth]:
        if line.has_value or (line.name == text and line.role != "RootWebArea"):
            return True
        if line.role in _NAMED_BY_CONTENT and _contains(line.name, text):
            return True
    return len(path) > depth and path[depth].role in {"image", "img"} and path[depth].name == text


def _contains(name: str, text: str) -> bool:
    """Whether a name holds a text as whole words."""
    start = name.find(text)
    while start >= 0:
        end = start + len(text)
        cuts_left = start > 0 and name[start - 1].isalnum() and text[0].isalnum()
        cuts_right = end < len(name) and name[end].isalnum() and text[-1].isalnum()
        if not cuts_left and not cuts_right:
            return True
        start = name.find(text, start + 1)
    return False
