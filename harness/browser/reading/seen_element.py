"""One element as it is now, named as the accessibility tree names it: under a point, with the focus, or a node.

It only reads. Where a page does not answer soon, or goes elsewhere meanwhile, there is no element: what is said of it
is for people, and nothing waits long for it.
"""

import asyncio
from collections.abc import Mapping
from importlib.resources import files
from typing import Any
from weakref import WeakSet

from playwright.async_api import CDPSession, Error

from harness.browser.ax_node import AXNode
from harness.browser.driver.cdp_send import Send, sender
from harness.browser.reading.document_client import WORLD, together
from harness.browser.tabs.tab import Tab
from harness.records import SeenElement

Where = tuple[float, float] | int | None
"""(x, y) in CSS px of the viewport, a backendDOMNodeId, or None = the element that has the focus."""
_AT, _AS = (
    files("harness.browser.reading").joinpath(name).read_text(encoding="utf-8") for name in ("seen_at.js", "seen_as.js")
)
_WITHIN_S = 1.5
_DEEPEST = 8
_MOST_NAME = 400
"""Characters of a name."""
_GROUP = "seen"
_VAGUE = frozenset({"", "generic", "none", "presentation", "StaticText", "InlineTextBox", "LabelText", "paragraph"})
"""Roles that say nothing of what an element is."""
_NO_ELEMENT = frozenset({"body", "html"})


class ElementReader:
    """Reads elements of one browser."""

    def __init__(self) -> None:
        self._enabled: WeakSet[CDPSession] = WeakSet()

    async def read(self, tab: Tab, where: Where) -> SeenElement | None:
        """The element there; None = there is none, or the page does not say."""
        try:
            async with asyncio.timeout(_WITHIN_S):
                return await self._read(tab, where)
        except (Error, TimeoutError, KeyError):  # the page went elsewhere, does not answer, or the node is gone
            return None

    async def _read(self, tab: Tab, where: Where) -> SeenElement | None:
        if tab.cdp not in self._enabled:
            await tab.cdp.send("Accessibility.enable")  # before a node is read: later it would crash
            self._enabled.add(tab.cdp)
        send = sender(tab.cdp)
        try:
            if isinstance(where, int):
                found = await send("DOM.resolveNode", backendNodeId=where, objectGroup=_GROUP)
                return _element(*await _described(send, found["object"]["objectId"]))
            return await _found(send, tab.held.frame, where)
        finally:
            await send("Runtime.releaseObjectGroup", objectGroup=_GROUP)


async def _found(send: Send, frame: str, point: tuple[float, float] | None, depth: int = 0) -> SeenElement | None:
    """The element in the document of a frame, or of a frame in it; `point` in the coordinates of the document."""
    world = (await send("Page.createIsolatedWorld", frameId=frame, worldName=WORLD))["executionContextId"]
    argument = "null" if point is None else f"[{float(point[0])}, {float(point[1])}]"
    answer = await send(
        "Runtime.evaluate", expression=f"({_AT})({argument})", contextId=world, objectGroup=_GROUP, silent=True
    )
    handle = answer["result"].get("objectId")
    if handle is None:
        return None
    told, node = await _described(send, handle)
    if told["corner"] is None or depth == _DEEPEST:
        return _element(told, node)
    inside = (await send("DOM.describeNode", objectId=handle))["node"]["frameId"]
    x, y = told["corner"]
    try:
        within = None if point is None else (point[0] - x, point[1] - y)
        return await _found(send, inside, within, depth + 1) or _element(told, node)
    except Error:  # a frame of another process: it is named itself
        return _element(told, node)


async def _told(send: Send, handle: str) -> Mapping[str, Any]:
    """What `seen_as.js` says. Raises KeyError: The page's script gets in the way."""
    answer = await send(
        "Runtime.callFunctionOn", objectId=handle, functionDeclaration=_AS, returnByValue=True, silent=True
    )
    if "exceptionDetails" in answer:
        raise KeyError("value")
    told: Mapping[str, Any] = answer["result"]["value"]
    return told


async def _described(send: Send, handle: str) -> tuple[Mapping[str, Any], AXNode]:
    tree = send("Accessibility.getPartialAXTree", objectId=handle, fetchRelatives=False)
    told, answer = await together(_told(send, handle), tree)
    return told, answer["nodes"][0]


def _element(told: Mapping[str, Any], node: AXNode) -> SeenElement | None:
    kind = str(told["type"])
    if kind in _NO_ELEMENT:
        return None
    role = str(node.get("role", {}).get("value", ""))
    name = str(node.get("name", {}).get("value", "")) or ("" if kind in _FIELDS else str(told["text"]))
    return SeenElement(
        node=node.get("backendDOMNodeId", 0),
        role="" if role in _VAGUE else role,
        name=" ".join(name.split())[:_MOST_NAME],
        kind=kind,
        value=str(told["value"]),
    )


_FIELDS = frozenset(
    "select textarea editable text search email password tel url number date time datetime-local month week color range"
    " checkbox radio file iframe frame".split()
)
"""Kinds that are named by their labels only: what they hold is their value."""
