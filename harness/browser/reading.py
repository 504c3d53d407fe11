"""One reading of one document: its accessibility nodes in view and their rectangles, as `tree_*` want them.

Chromium gives rectangles to scripts and accessibility nodes to CDP, and the two know a node by different names. So a
script walks the document once and finds what is in view (`walk.js`); then the accessibility nodes are asked for, of the
whole document when it is small, else of the subtrees in view and, one by one, of what stands above them; and
`DOM.describeNode` of the same subtrees ties the two together by document order (`outline`). Only what no script can
reach (inner parts of inputs, closed shadow trees) is measured node by node. The result is what the slow way, two calls
per accessibility node, gives; its cost follows the viewport.
"""

import asyncio
import json
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from playwright.async_api import CDPSession, Error

from harness.actions.space import Box
from harness.browser.outline import Inner, Outline, Region, outline

_WALK = files("harness.browser").joinpath("walk.js").read_text(encoding="utf-8")
_END = """((watch) => {
    const records = watch.observer.takeRecords();
    watch.observer.disconnect();
    return watch.changed || records.length > 0 || watch.at[0] !== scrollX || watch.at[1] !== scrollY;
})(window[Symbol.for("reading")])"""
_MEASURE = """(...nodes) => {
    const childNodes = Object.getOwnPropertyDescriptor(Node.prototype, "childNodes").get;
    const range = new Range();
    const list = (rect) => [rect.x, rect.y, rect.width, rect.height];
    const measure = (node) => {
        if (node.nodeType === Node.ELEMENT_NODE) return list(node.getBoundingClientRect());
        if (node.nodeType !== Node.TEXT_NODE) return null;
        range.selectNode(node);
        return list(range.getBoundingClientRect());
    };
    const measureBelow = (parent, rects) => {
        for (const node of childNodes.call(parent)) {
            const rect = measure(node);
            if (rect === null) continue;
            rects.push(rect);
            if (node.shadowRoot) measureBelow(node.shadowRoot, rects);
            measureBelow(node, rects);
        }
        return rects;
    };
    return nodes.map((node) => (node instanceof ShadowRoot ? measureBelow(node, []) : [measure(node)]));
}"""
_GROUP = "reading"
_TOO_DEEP = "stack limit exceeded"
_ROUNDS = 20
_MUTE = frozenset({"focusable", "editable"})

EVERYTHING: Box = (-1e9, -1e9, 2e9, 2e9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A frame in view."""

    id: str
    owner: str
    """AX node id of the element that holds it."""
    box: Box
    """Its contents, in client coordinates of the document that holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    nodes: Sequence[dict[str, Any]]
    """Root first; no other nodes are named as children."""
    rects: Mapping[str, Box]
    """By AX node id; nodes outside the view may have none."""
    frames: Sequence[Frame]
    changed: bool
    """The document changed while it was read: the parts may not fit."""


async def read_document(
    cdp: CDPSession, frame_id: str, *, view: Box = EVERYTHING, whole: bool | None = None
) -> Reading:
    """Read the document of a frame that lives in the session's process.

    Args:
        view: What counts as in view, in client coordinates of the document.
        whole: Whether to fetch the whole accessibility tree or only parts; None = what is cheaper.

    Raises:
        playwright.async_api.Error: The document went away, or the page did.
    """
    world = (await cdp.send("Page.createIsolatedWorld", {"frameId": frame_id, "worldName": "cairn"}))[
        "executionContextId"
    ]
    reader = _Reader(cdp, frame_id, world)
    regions, singles = await reader.walk(view, whole)
    if singles and not await reader.fetch_parts(regions, singles):
        regions, singles = await reader.walk(view, True)
    if not singles:
        await reader.fetch_whole(regions[0])
    return await reader.finish()


class _Reader:
    def __init__(self, cdp: CDPSession, frame_id: str, world: int) -> None:
        self._cdp = cdp
        self._frame_id = frame_id
        self._world = world
        self._nodes: dict[str, dict[str, Any]] = {}
        self._root = ""
        self._rects: dict[int, Box] = {}
        self._settled: set[int] = set()
        """Nodes of which it is known whether they are in view."""
        self._inners: list[Inner] = []
        self._owners: dict[int, tuple[str, Box]] = {}
        """Frame id and contents by the element that holds the frame."""

    async def walk(self, view: Box, whole: bool | None) -> tuple[list[Region], list[tuple[str, Box | None]]]:
        """Find what is in view: subtrees to fetch whole, and handles with rectangles of single nodes."""
        x, y, width, height = view
        arguments = json.dumps([[x, y, x + width, y + height], whole])
        found = await self._run(f"({_WALK})(...{arguments})")
        properties = await self._send("Runtime.getProperties", objectId=found["objectId"], ownProperties=True)
        entries = {int(one["name"]): one["value"] for one in properties["result"] if one["name"].isdigit()}
        data = json.loads(entries[0]["value"])
        handles = [entries[number]["objectId"] for number in range(1, len(entries))]
        alone = len(data["singles"])
        singles = [(handle, _box(rect)) for handle, rect in zip(handles, data["singles"], strict=False)]
        regions = [
            Region.parse(handle, *numbers)
            for handle, *numbers in zip(handles[alone:], data["regions"], data["frames"], strict=True)
        ]
        return regions, singles

    async def fetch_whole(self, document: Region) -> None:
        described, tree = await _all(
            self._outline(document), self._send("Accessibility.getFullAXTree", frameId=self._frame_id)
        )
        self._place(document, described)
        self._nodes = {}
        self._add(tree["nodes"])
        self._root = tree["nodes"][0]["nodeId"]

    async def fetch_parts(self, regions: Sequence[Region], singles: Sequence[tuple[str, Box | None]]) -> bool:
        """Fetch what the walk chose; False = the parts hang together in a way only the whole tree can tell."""
        asked = [
            *(self._send("Accessibility.queryAXTree", objectId=region.handle) for region in regions),
            *(self._outline(region) for region in regions),
            *(self._one(objectId=handle) for handle, _ in singles),
        ]
        answers = await _all(*asked)
        count = len(regions)
        for region, queried, described in zip(regions, answers[:count], answers[count:], strict=False):
            self._add(queried["nodes"])
            self._place(region, described)
        for (_, rect), answer in zip(singles, answers[2 * count :], strict=True):
            node = answer["nodes"][0]
            self._add([node])
            self._settle(node.get("backendDOMNodeId", 0), rect)
        self._root = answers[2 * count]["nodes"][0]["nodeId"]
        return await self._close_gaps()

    async def finish(self) -> Reading:
        nodes = self._reachable()
        await self._measure({node["backendDOMNodeId"] for node in nodes if _may_say(node)} - self._settled)
        ended, _ = await _all(
            self._run(_END, returnByValue=True), self._send("Runtime.releaseObjectGroup", objectGroup=_GROUP)
        )
        rects, frames = {}, []
        for node in nodes:
            backend = node.get("backendDOMNodeId", 0)
            if backend in self._rects:
                rects[node["nodeId"]] = self._rects[backend]
            if backend in self._owners:
                frame_id, box = self._owners[backend]
                frames.append(Frame(id=frame_id, owner=node["nodeId"], box=box))
        return Reading(nodes=nodes, rects=rects, frames=frames, changed=bool(ended["value"]))

    def _add(self, nodes: Iterable[dict[str, Any]]) -> None:
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

    def _place(self, region: Region, outline: Outline) -> None:
        """Give the nodes of a subtree their rectangles."""
        if len(outline.order) != region.size:
            return  # it changed in between, or cannot be described: its nodes are measured one by one
        self._settled.update(outline.order, outline.pseudo)
        for inner in outline.inners:
            if inner.host is None or inner.host in region.boxes:
                self._inners.append(inner)
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
            missing = {
                key
                for node in self._nodes.values()
                if not node["ignored"] and node["nodeId"] != self._root
                for key in (node.get("parentId", self._root),)
                if key not in self._nodes
            }
            missing |= {
                key
                for node in self._nodes.values()
                for key in node["childIds"]
                if key not in self._nodes and int(key) in self._rects
            }
            if not missing:
                return True
            if any(int(key) <= 0 for key in missing):
                return False
            answers = await _all(*(self._one(backendNodeId=int(key)) for key in missing))
            self._add(answer["nodes"][0] for answer in answers)
            if not missing <= self._nodes.keys():
                return False
        return False

    def _reachable(self) -> list[dict[str, Any]]:
        """The fetched nodes in tree order, without references to others."""
        nodes = []
        stack = [self._root]
        while stack:
            node = self._nodes[stack.pop()]
            node["childIds"] = [key for key in node["childIds"] if key in self._nodes]
            nodes.append(node)
            stack.extend(reversed(node["childIds"]))
        return nodes

    async def _measure(self, backends: set[int]) -> None:
        """Rectangles of nodes no script can reach; none for what is no element and no text (`::marker`)."""
        wanted = {inner.root: inner.order for inner in self._inners if not backends.isdisjoint(inner.order)}
        wanted |= {backend: [backend] for backend in backends.difference(*wanted.values())}
        handles = await _all(*(self._resolve(backend) for backend in wanted))
        known = [(order, handle) for order, handle in zip(wanted.values(), handles, strict=True) if handle]
        if not known:
            return
        answer = await self._send(
            "Runtime.callFunctionOn",
            functionDeclaration=_MEASURE,
            executionContextId=self._world,
            arguments=[{"objectId": handle} for _, handle in known],
            returnByValue=True,
        )
        for (order, _), rects in zip(known, answer["result"].get("value", ()), strict=False):
            for backend, rect in zip(order, rects, strict=False):
                self._settle(backend, _box(rect))

    async def _resolve(self, backend: int) -> str | None:
        try:
            answer = await self._send(
                "DOM.resolveNode", backendNodeId=backend, executionContextId=self._world, objectGroup=_GROUP
            )
        except Error:
            return None
        handle: str | None = answer["object"].get("objectId")
        return handle

    def _one(self, **node: Any) -> Awaitable[dict[str, Any]]:
        return self._send("Accessibility.getPartialAXTree", fetchRelatives=False, **node)

    async def _outline(self, region: Region) -> Outline:
        try:
            answer = await self._send("DOM.describeNode", objectId=region.handle, depth=-1, pierce=True)
        except Error as exc:
            if _TOO_DEEP not in str(exc.message):
                raise
            return Outline()
        return outline(answer["node"])

    async def _run(self, expression: str, **more: Any) -> dict[str, Any]:
        answer = await self._send(
            "Runtime.evaluate", expression=expression, contextId=self._world, objectGroup=_GROUP, **more
        )
        if "exceptionDetails" in answer:
            raise Error(f"a document cannot be read: {answer['exceptionDetails']}")
        result: dict[str, Any] = answer["result"]
        return result

    async def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        answer: dict[str, Any] = await self._cdp.send(method, parameters)
        return answer


def _may_say(node: dict[str, Any]) -> bool:
    """Whether a node may be printed, in any dialect."""
    if node["ignored"] or "backendDOMNodeId" not in node or "name" not in node:
        return False
    if node["role"]["value"] != "generic" or node["name"]["value"].strip():
        return True
    return any(entry["name"] not in _MUTE for entry in node.get("properties", ()))


def _box(rect: Sequence[float] | None) -> Box | None:
    return None if rect is None else (rect[0], rect[1], rect[2], rect[3])


async def _all(*calls: Awaitable[Any]) -> list[Any]:
    """Answers to calls sent without waiting for each other; their first error as it is."""

    async def answer(call: Awaitable[Any]) -> Any:
        return await call

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(answer(call)) for call in calls]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    return [task.result() for task in tasks]
