"""The `html` observation: a page's DOM as indented lines, by WebArena's rule or by the one it was meant to give.

Pure: nodes in document order in, lines out. Under `webarena` a line shows its position among the nodes that are left,
so the same element is called otherwise once the page has scrolled, and the viewport filter multiplies where it means to
divide. The corrected rule keeps what holds something visible, and gives lasting ids. Nodes and rectangles come
from `harness.browser.reading`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.actions import Box
from harness.actions.truncate import cut
from harness.browser.ax_node import AXNode
from harness.browser.rendering import tree_cairn, tree_webarena
from harness.browser.rendering.tree import RenderedLine, RenderedTree
from harness.browser.text_limits import MAX_LINE_CHARS

_UNSEEN = frozenset({"HEAD", "SCRIPT", "STYLE", "TEMPLATE", "NOSCRIPT", "META", "LINK", "TITLE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TextElement:
    """One node of the DOM."""

    name: str
    """As the DOM gives it: `DIV`, `#text`, `#document`."""
    parent: int
    """Position of its parent in the list; -1 for the document."""
    value: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    backend: int = 0
    """backendDOMNodeId."""
    box: Box | None = None
    """(x, y, width, height) in CSS px of the viewport; None = not laid out."""

    @property
    def described(self) -> str:
        """`<NAME attributes> value`, white space collapsed; a blank stays behind an empty value."""
        attributes = " ".join(f'{key}="{_collapsed(value)}"' for key, value in self.attributes)
        return f"<{self.name}{' ' + attributes if attributes else ''}> {_collapsed(self.value)}"

    @property
    def says_something(self) -> bool:
        return bool(self.attributes or _collapsed(self.value))


Label = Callable[[TextElement, int], str]
"""The id to print for an element and its position among those left."""


def by_position(_: TextElement, position: int) -> str:
    """WebArena's ids."""
    return str(position)


def print_html(
    elements: Sequence[TextElement], *, viewport: tuple[int, int] | None, label: Label = by_position, dialect: str
) -> RenderedTree:
    """Print the DOM; each line ends with a line break.

    Args:
        elements: In document order, the document first; a parent comes before its children.
        viewport: Width and height; None prints the whole page.
        dialect: `webarena` or `cairn`.
    """
    kept = _kept(elements, viewport, dialect)
    depths: dict[int, int] = {-1: 0}
    """Position to the depth of its children."""
    children: dict[int, list[int]] = {}
    for number, element in enumerate(elements):
        children.setdefault(element.parent, []).append(number)
    left = {
        number: position for position, number in enumerate(number for number in range(len(elements)) if kept[number])
    }
    lines: list[str] = []
    shown: dict[str, RenderedLine] = {}
    stack = list(reversed(children.get(-1, [])))
    while stack:
        number = stack.pop()
        element, depth = elements[number], depths[elements[number].parent]
        depths[number] = depth
        if number in left and element.says_something:
            id, line = label(element, left[number]), cut(element.described, MAX_LINE_CHARS)
            lines.append("\t" * depth + f"[{id}] {line}\n")
            node = AXNode(nodeId="", ignored=False, childIds=[], backendDOMNodeId=element.backend)
            role = element.name.lower()
            shown[id] = RenderedLine(node=node, role=role, name=line, line=line, box=element.box, depth=depth)
            depths[number] = depth + 1
        stack.extend(reversed(children.get(number, [])))
    text = "".join(lines)
    return RenderedTree(raw=text, text=text, shown=shown)


def _kept(elements: Sequence[TextElement], viewport: tuple[int, int] | None, dialect: str) -> list[bool]:
    """Which nodes are left; the children of one that is not take its place."""
    if dialect == "webarena":
        return [viewport is None or tree_webarena.is_seen(element.box, viewport) for element in elements]
    unseen = [element.name in _UNSEEN for element in elements]
    for number, element in enumerate(elements):
        unseen[number] = unseen[number] or (element.parent >= 0 and unseen[element.parent])
    kept = [
        not hidden and (viewport is None or tree_cairn.is_seen(element.box, viewport))
        for hidden, element in zip(unseen, elements, strict=True)
    ]
    for number in range(len(elements) - 1, 0, -1):
        if kept[number] and elements[number].parent >= 0:
            kept[elements[number].parent] = True
    return kept


def _collapsed(text: str) -> str:
    return " ".join(text.split())
