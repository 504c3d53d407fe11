"""One reading of one document: its accessibility nodes in view and their rectangles, as `tree_*` want them.

Chromium gives rectangles to scripts and accessibility nodes to CDP. So a script walks the document once and finds what
is in view (`walk.js`); then the accessibility nodes are asked for, of the whole document when it is small, else of the
subtrees in view and, one by one, of their ancestors. The two are tied together by the nodes that the script names, or,
where nearly everything is in view, by document order: a description of the same subtree counts alike (`outline`). Only
what no script can reach (inner parts of inputs, closed shadow trees) is measured separately. The result is what the
slow way, two calls per accessibility node, gives; its cost follows the viewport.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.actions import Box
from harness.browser.ax_node import AXNode
from harness.browser.reading.document_client import DocumentClient, Walk, together
from harness.browser.reading.dom_index import DomIndex, Region, SeenNode, ShadowTree

EVERYTHING: Box = (-1e9, -1e9, 2e9, 2e9)

_SMALL = 250
"""Elements of a document that costs less to be read whole than to be asked what is in view first."""
_MEDIUM = 1000
"""Elements of a document that is read as was cheapest last time, without being asked first."""
_MOST_MEASURED = 100
"""Nodes that are measured one by one rather than described."""
_ROUNDS = 20
_MUTE = frozenset({"focusable", "editable"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    id: str
    owner: str
    """AX node id of the element that holds it."""
    box: Box
    """Its contents, in client coordinates of the document that holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSnapshot:
    title: str
    nodes: Sequence[AXNode]
    """Root first; no other nodes are named as children."""
    rects: Mapping[str, Box]
    """Boxes by AX node id; nodes outside the view may have none."""
    frames: Sequence[Frame]
    changed: bool
    """The document changed while it was read: the parts may not fit."""


async def read_document(
    ask: DocumentClient,
    *,
    view: Box = EVERYTHING,
    way: str | None = None,
    calm_from: int = 5000,
    elements: int = 0,
) -> DocumentSnapshot:
    """Read a document.

    Args:
        view: What counts as in view, in client coordinates of the document.
        way: How to read it, as in `walk.js`; None = what is cheaper.
        calm_from: Number of elements from which on it is worth finding out which need not be measured.
        elements: How many it has; 0 = not known. Of a small document all is asked for at the same time.

    Raises:
        playwright.async_api.Error: The document went away, or the page did.
    """
    if way is None and 0 < elements <= _MEDIUM:
        way = ask.cheapest or ("described" if elements <= _SMALL else None)
    # Chromium answers in the order of asking, so the walk comes first everywhere.
    if way in _WHOLE:
        walk, *found = await together(ask.walk(view, way=way, calm_from=calm_from), *_WHOLE[way](ask))
    else:
        walk = await ask.walk(view, way=way, calm_from=calm_from)
        found = await together(*_WHOLE[walk.way](ask)) if walk.way in _WHOLE else []
    reader = _Reader(ask)
    if walk.way == "described":
        return await reader.finish_described(walk, *found)
    snapshot = await (reader.finish_seen(walk, *found) if walk.way == "seen" else reader.read_parts(walk))
    return snapshot or await read_document(ask, view=view, way="described", calm_from=calm_from)


_WHOLE: Mapping[str | None, Callable[[DocumentClient], tuple[Awaitable[Any], ...]]] = {
    "described": lambda ask: (ask.outline(ask.document), ask.tree(), ask.changed()),
    "seen": lambda ask: (ask.tree(), ask.changed(), ask.let_go()),
}
"""What is asked of a document after the walk, in order."""


class _Reader:
    def __init__(self, ask: DocumentClient) -> None:
        self._ask = ask
        self._nodes: dict[str, AXNode] = {}
        self._root = ""
        self._rects: dict[int, Box] = {}
        self._settled: set[int] = set()
        """Nodes of which it is known whether they are in view."""
        self._inners: list[ShadowTree] = []
        self._owners: dict[int, tuple[str, Box]] = {}
        """Frame id and contents by the element that holds the frame."""

    async def finish_described(
        self, walk: Walk, outline: DomIndex, nodes: Sequence[AXNode], changed: bool
    ) -> DocumentSnapshot:
        """Put together what was fetched of a described document."""
        self._place(walk.regions[0], outline)
        self._add(nodes)
        self._root = nodes[0]["nodeId"]
        nodes = self._reachable()
        await self._measure(nodes)
        return self._reading(walk, nodes, changed=changed)

    async def finish_seen(self, walk: Walk, nodes: Sequence[AXNode], changed: bool, _: None) -> DocumentSnapshot | None:
        """Put together what was fetched of a document whose nodes in view are named; None = only a description tells
        which of its nodes no script can reach.
        """
        self._add(nodes)
        self._root = nodes[0]["nodeId"]
        nodes = self._reachable()
        hosts = {one.backend for one in walk.nodes if one.has_closed_tree}
        if not hosts - {node.get("backendDOMNodeId") for node in nodes} <= set(walk.mute):
            self._ask.may_name = False
            return None  # what is in them hangs anywhere
        inside: set[str] = set()
        for node in nodes:
            backend = node.get("backendDOMNodeId", 0)
            if node["nodeId"] not in inside:
                self._settled.add(backend)
            if node["nodeId"] in inside or backend in hosts:
                inside.update(node["childIds"])
        for one in walk.nodes:
            self._settle(one.backend, one.box)
        if len(self._unknown(nodes)) > _MOST_MEASURED:
            self._ask.may_name = False
            return None
        await together(self._measure(nodes), *(self._own(one.backend, one.frame) for one in walk.nodes if one.frame))
        return self._reading(walk, nodes, changed=changed)

    async def _own(self, backend: int, contents: Box) -> None:
        """Note whose frame an element holds."""
        if (frame := await self._ask.frame_of(backend)) is not None:
            self._owners[backend] = frame, contents

    async def read_parts(self, walk: Walk) -> DocumentSnapshot | None:
        """Fetch what the walk chose; None = the parts hang together in a way only the whole tree can tell."""
        *outlines, nodes = await together(
            *(self._fetch(region.root) for region in walk.regions),
            together(*(self._fetch_one(one) for one in walk.nodes)),
        )
        for region, outline in zip(walk.regions, outlines, strict=True):
            self._place(region, outline)
        self._root = nodes[0]["nodeId"]
        if not await self._close_gaps():
            return None
        nodes = self._reachable()
        await self._measure(nodes)
        changed, _ = await together(self._ask.changed(), self._ask.let_go())
        return self._reading(walk, nodes, changed=changed)

    def _reading(self, walk: Walk, nodes: Sequence[AXNode], *, changed: bool) -> DocumentSnapshot:
        rects: dict[str, Box] = {}
        frames: list[Frame] = []
        for node in nodes:
            backend = node.get("backendDOMNodeId", 0)
            if backend in self._rects:
                rects[node["nodeId"]] = self._rects[backend]
            if backend in self._owners:
                frame_id, box = self._owners[backend]
                frames.append(Frame(id=frame_id, owner=node["nodeId"], box=box))
        return DocumentSnapshot(title=walk.title, nodes=nodes, rects=rects, frames=frames, changed=changed)

    async def _fetch(self, backend: int) -> DomIndex:
        nodes, outline = await together(self._ask.subtree(backend), self._ask.outline(backend))
        if not nodes:  # what the accessibility tree leaves out may have children there
            left_out = await self._ask.node(backend)
            below = [int(key) for key in left_out.get("childIds", ())]
            nodes = [
                node for part in await together(*(self._ask.subtree(key) for key in below if key > 0)) for node in part
            ]
        self._add(nodes)
        described: DomIndex = outline
        return described

    async def _fetch_one(self, single: SeenNode) -> AXNode:
        """Fetch a node, and with it the closed shadow tree it may have."""
        node = await self._ask.node(single.backend)
        self._add([node])
        self._settle(node.get("backendDOMNodeId", 0), single.box)
        if single.has_closed_tree:
            outline = await self._fetch(single.backend)
            # What scripts reach of it is a part of its own if it is in view, widgets included.
            self._settled.update(outline.order, outline.pseudo)
            self._settled.update(*(inner.order for inner in outline.inners if inner.host is not None))
            self._inners.extend(inner for inner in outline.inners if inner.host is None)
        return node

    def _add(self, nodes: Iterable[AXNode]) -> None:
        for node in nodes:
            if node["nodeId"] in self._nodes:
                continue
            node.setdefault("childIds", [])
            if node["ignored"]:
                # Asked for one by one they have names, in the whole tree they have none.
                node.pop("name", None)
            if node.get("role", {}).get("value") == "Iframe":
                # Another document, which is read on its own.
                node["childIds"] = []
            self._nodes[node["nodeId"]] = node

    def _place(self, region: Region, outline: DomIndex) -> None:
        """Give the nodes of a subtree their rectangles."""
        if len(outline.order) != region.size:
            return  # it changed in between, or cannot be described: its nodes are measured one by one
        self._settled.update(outline.order, outline.pseudo)
        for inner in outline.inners:
            if inner.host is None or inner.host in region.boxes:
                self._inners.append(inner)
                self._settled.difference_update(inner.order)  # as a widget in an element with a closed shadow tree
            else:
                self._settled.update(inner.order)
        for position, box in region.boxes.items():
            if box[2] and box[3]:
                self._rects[outline.order[position]] = box
        for position, box in region.frames.items():
            backend = outline.order[position]
            if backend in outline.frames:
                self._owners[backend] = outline.frames[backend], box

    def _settle(self, backend: int, rect: Box | None) -> None:
        self._settled.add(backend)
        if rect is not None:
            self._rects[backend] = rect

    async def _close_gaps(self) -> bool:
        """Fetch nodes between the fetched ones: `aria-owns`, slots and inner parts make detours a script cannot see."""
        for _ in range(_ROUNDS):
            missing = {key for node in self._nodes.values() for key in self._links(node) if key not in self._nodes}
            if not missing:
                return True
            # Below 1 are the ids of nodes that are in no DOM and cannot be asked for.
            if any(int(key) <= 0 for key in missing):
                return False
            self._add(await together(*(self._ask.node(int(key)) for key in missing)))
            if not missing <= self._nodes.keys():
                return False
        return False

    def _links(self, node: AXNode) -> Iterable[str]:
        """Nodes that must be there because this one is: its parent, and children in view."""
        if node["nodeId"] != self._root and "parentId" in node:
            yield node["parentId"]
        yield from (key for key in node["childIds"] if int(key) in self._rects)

    def _reachable(self) -> list[AXNode]:
        """The fetched nodes in tree order, without references to others."""
        nodes = []
        stack = [self._root]
        while stack:
            node = self._nodes[stack.pop()]
            node["childIds"] = [key for key in node["childIds"] if key in self._nodes]
            nodes.append(node)
            stack.extend(reversed(node["childIds"]))
        return nodes

    def _unknown(self, nodes: Iterable[AXNode]) -> set[int]:
        return {node["backendDOMNodeId"] for node in nodes if _may_say(node)} - self._settled

    async def _measure(self, nodes: Iterable[AXNode]) -> None:
        """Measure by themselves nodes of which nothing is known yet."""
        backends = self._unknown(nodes)
        wanted: dict[int, Sequence[int]] = {
            inner.root: inner.order for inner in self._inners if not backends.isdisjoint(inner.order)
        }
        wanted |= {backend: [backend] for backend in backends.difference(*wanted.values())}
        for backend, rect in (await self._ask.measure(wanted)).items() if wanted else ():
            self._settle(backend, rect)


def _may_say(node: AXNode) -> bool:
    """Whether a node may be printed, in any dialect."""
    if node["ignored"] or "backendDOMNodeId" not in node or "name" not in node:
        return False
    if node["role"]["value"] != "generic" or node["name"]["value"].strip():
        return True
    return any(entry["name"] not in _MUTE for entry in node.get("properties", ()))
