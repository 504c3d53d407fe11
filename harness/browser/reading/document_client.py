"""What is asked of Chromium about one document: one method per question, each answered in our own terms.

The document's own script can neither see nor disturb any of it: our scripts run in an isolated world. Questions sent
together travel together; `together` waits for all of them and raises the first error as it is.
"""

import asyncio
import json
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from playwright.async_api import CDPSession, Error

from harness.actions import Box
from harness.browser.ax_node import AXNode
from harness.browser.driver.cdp_send import RemoteObject, sender
from harness.browser.reading.dom_index import DomIndex, Region, SeenNode, build_index, frame_of

_WALK, _CALM, _MEASURE = (
    files("harness.browser.reading").joinpath(name).read_text(encoding="utf-8")
    for name in ("walk.js", "calm.js", "measure.js")
)
_PREPARED = f"""(window[Symbol.for("walk")] = (...asked) => ({_WALK})({_CALM}, ...asked), document)"""
"""The walk stays in our world of a document for as long as that lasts: it is sent once."""
_CHANGED = """((watch) => {
    const records = watch.observer.takeRecords();
    watch.observer.disconnect();
    return watch.changed || records.length > 0 || watch.at[0] !== scrollX || watch.at[1] !== scrollY;
})(window[Symbol.for("reading")])"""
_GROUP = "reading"
WORLD = "cairn"
"""Name of the isolated world our scripts run in."""
_MOST_KEPT = 200
"""Nodes whose handles are kept for the next time; a handle keeps its node from being forgotten."""
_BY_NODE = {"serialization": "deep", "maxDepth": 1, "additionalParameters": {"maxNodeDepth": 0}}
"""Nodes are told by what WebDriver BiDi tells of them, their backendNodeId and their shadow tree among it."""
_TOO_DEEP = "stack limit exceeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What of a document is in view, and how to go on: see `walk.js`."""

    title: str
    """Title of the document."""
    way: str
    nodes: Sequence[SeenNode]
    mute: Collection[int]
    """Of these, backendNodeIds of fields and the like of which assistive technology is not told."""
    regions: Sequence[Region]


class DocumentClient:
    """The questions, about the document of one frame."""

    def __init__(self, cdp: CDPSession, frame_id: str, world: int, *, as_webarena: bool) -> None:
        self._send = sender(cdp)
        self._frame_id = frame_id
        self._as_webarena = as_webarena
        self.world = world
        """Execution context of our world in the document."""
        self.document = 0
        """backendNodeId of the document."""
        self.cheapest: str | None = None
        """The way that the last walk found cheapest."""
        self.may_name = True
        """Whether the nodes that are seen are enough to tell which ones no script can reach."""
        self._group = f"measured in {world}"
        self._measured: dict[int, str] = {}
        """Handles of nodes that were measured before: mostly they are measured again."""

    @classmethod
    async def about(cls, cdp: CDPSession, frame_id: str, *, as_webarena: bool) -> "DocumentClient":
        """Make ready to ask about the document a frame holds now.

        Args:
            as_webarena: A checkbox has its own place, not that of its label, and `<object>` is not a frame.
        """
        found = await sender(cdp)("Page.createIsolatedWorld", frameId=frame_id, worldName=WORLD)
        questions = cls(cdp, frame_id, found["executionContextId"], as_webarena=as_webarena)
        prepared = await questions._run(_PREPARED, serializationOptions=_BY_NODE)
        questions.document = prepared["deepSerializedValue"]["value"]["backendNodeId"]
        return questions

    async def walk(self, view: Box, *, way: str | None, calm_from: int) -> Walk:
        """Find what is in view, and begin to watch the document for changes; `way` None = the cheapest."""
        x, y, width, height = view
        arguments = json.dumps([[x, y, x + width, y + height], way, self.may_name, calm_from, self._as_webarena])[1:-1]
        answer = await self._run(f'window[Symbol.for("walk")]({arguments})', serializationOptions=_BY_NODE)
        value = answer["deepSerializedValue"]["value"]
        found = [] if isinstance(value, str) else _values(value)
        data = json.loads(found.pop(0) if found else value)
        self.cheapest = data["cheapest"]
        count = len(data["nodes"])
        nodes = [SeenNode.parse(*pair) for pair in zip(found[:count], data["nodes"], strict=True)]
        sure = count - data["empties"]
        roots = [root["backendNodeId"] for root in found[count:]] or [self.document]
        return Walk(
            title=data["title"],
            way=data["way"],
            nodes=nodes[:sure] + [node for node in nodes[sure:] if node.has_closed_tree],
            mute={found[index]["backendNodeId"] for index in data["mute"]},
            regions=[Region.parse(*one) for one in zip(roots, data["regions"], data["frames"], strict=False)],
        )

    async def changed(self) -> bool:
        """Whether the document has changed since the walk; the watch ends."""
        return bool((await self._run(_CHANGED, returnByValue=True))["value"])

    async def let_go(self) -> None:
        """Give back the handle of what the walk named."""
        await self._send("Runtime.releaseObjectGroup", objectGroup=_GROUP)

    async def tree(self) -> Sequence[AXNode]:
        """All accessibility nodes, the root first."""
        # With the described DOM some 90 kB a step of the demo shop, and most of a step's processor time.
        return await self._nodes("getFullAXTree", frameId=self._frame_id)

    async def subtree(self, backend: int) -> Sequence[AXNode]:
        """Accessibility nodes of and below a node. Chromium answers with its next frame."""
        return await self._nodes("queryAXTree", backendNodeId=backend)

    async def node(self, backend: int) -> AXNode:
        """The accessibility node of one DOM node."""
        return (await self._nodes("getPartialAXTree", fetchRelatives=False, backendNodeId=backend))[0]

    async def outline(self, backend: int) -> DomIndex:
        """The DOM below a node; empty when it is too deep to be sent."""
        try:
            # Not a layout snapshot, of a third of the size: it leaves out what is inside fields and widgets, which is
            # printed.
            answer = await self._send("DOM.describeNode", backendNodeId=backend, depth=-1, pierce=True)
        except Error as exc:
            if _TOO_DEEP not in str(exc.message):
                raise
            return DomIndex()
        return build_index(answer["node"])

    async def frame_of(self, backend: int) -> str | None:
        """The id of the frame that an element holds."""
        return frame_of((await self._send("DOM.describeNode", backendNodeId=backend, depth=0))["node"])

    async def measure(self, wanted: Mapping[int, Sequence[int]]) -> dict[int, Box | None]:
        """Rectangles of nodes no script can reach.

        Args:
            wanted: By root of a shadow tree, its nodes in order; or by node, that node alone.
        """
        if len(self._measured) > _MOST_KEPT:
            await self.forget()
        handles = await together(*(self._resolve(backend) for backend in wanted))
        known = [(order, handle) for order, handle in zip(wanted.values(), handles, strict=True) if handle]
        if not known:
            return {}
        answer = await self._call(
            "Runtime.callFunctionOn",
            functionDeclaration=_MEASURE,
            executionContextId=self.world,
            arguments=[{"objectId": handle} for _, handle in known],
            returnByValue=True,
        )
        measured: dict[int, Box | None] = {}
        for (order, _), rects in zip(known, answer["value"], strict=True):
            measured.update(zip(order, (rect and (rect[0], rect[1], rect[2], rect[3]) for rect in rects), strict=False))
        return measured

    async def forget(self) -> None:
        """Give back the handles of what was measured."""
        if self._measured:
            self._measured.clear()
            await self._send("Runtime.releaseObjectGroup", objectGroup=self._group)

    async def _resolve(self, backend: int) -> str | None:
        if (kept := self._measured.get(backend)) is not None:
            return kept
        try:
            answer = await self._send(
                "DOM.resolveNode", backendNodeId=backend, executionContextId=self.world, objectGroup=self._group
            )
        except Error:
            return None  # as in the slow way: what cannot be resolved has no rectangle
        if "objectId" not in answer["object"]:
            return None
        handle: str = answer["object"]["objectId"]
        self._measured[backend] = handle
        return handle

    async def _nodes(self, method: str, **parameters: Any) -> Sequence[AXNode]:
        nodes: list[AXNode] = (await self._send(f"Accessibility.{method}", **parameters))["nodes"]
        return nodes

    async def _run(self, expression: str, **more: Any) -> RemoteObject:
        more = {"contextId": self.world, "objectGroup": _GROUP, **more}
        return await self._call("Runtime.evaluate", expression=expression, **more)

    async def _call(self, method: str, **parameters: Any) -> RemoteObject:
        answer = await self._send(method, **parameters)
        if "exceptionDetails" in answer:
            raise Error(f"the document cannot be read: {answer['exceptionDetails']}")
        result: RemoteObject = answer["result"]
        return result


def _values(serialized: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The values of a list; a node that is in it again is only a reference to the first time."""
    named = {one.get("weakLocalObjectReference"): one["value"] for one in serialized if "value" in one}
    return [one["value"] if "value" in one else named[one["weakLocalObjectReference"]] for one in serialized]


async def together(*calls: Awaitable[Any]) -> list[Any]:
    """Answers to calls that do not wait for each other; their first error as it is."""

    async def answer(call: Awaitable[Any]) -> Any:
        return await call

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(answer(call)) for call in calls]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    return [task.result() for task in tasks]
