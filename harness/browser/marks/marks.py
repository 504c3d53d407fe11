"""Marks: which elements of a page are numbered in its screenshot, and where.

A mark is a box of the viewport, and its centre hits its element: an element that is covered, clipped or of no size has
none. Hits are tested in the page, by a script in our own world, in the document that holds the element and in each
document around it. The page is read only: nothing is added to it, and it can observe nothing.
"""

import builtins
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from itertools import count, islice
from typing import Any

from playwright.async_api import Error

from harness.actions import Box
from harness.browser.driver.cdp_send import sender
from harness.browser.reading.document_client import together
from harness.browser.reading.frames import Document
from harness.browser.rendering.observer import RenderedPage

MOST_MARKS = 400
"""Elements of one page; a picture holds no more numbers that could be read."""
_NUMBERS = count()
"""Of groups of handles: one document may give its own back while another is searched."""
_BY_NODE = {"serialization": "deep", "maxDepth": 1, "additionalParameters": {"maxNodeDepth": 0}}
_VISIBLE_BOXES, _SHOWS_FRAME = (
    files("harness.browser.marks").joinpath(name).read_text(encoding="utf-8")
    for name in ("visible_boxes.js", "shows_frame.js")
)
_Boxes = list[tuple[str, Box]]
"""Element ids and boxes in the coordinates of the page's viewport; of several for one element the best first."""


_Argument = Mapping[str, object]
"""Of a function in the page: a value, or the handle of a node."""


async def find_marks(page: RenderedPage, viewport: tuple[int, int]) -> dict[str, Box]:
    """The marks of a page that was just read, by element id, from top to bottom of the page's text.

    Args:
        page: As it was read; a page that has changed since has fewer marks, and no wrong ones.
        viewport: Width and height in CSS px.
    Raises:
        playwright.async_api.Error: The page is gone.
    """
    # An overlay in the page would be less code, but the page's observers would run, and it would not be settled any
    # more.
    groups: dict[tuple[int, int], tuple[Document, dict[str, int]]] = {}
    actionable = ((id, one) for id, one in page.elements.items() if one.is_actionable)
    for id, one in islice(actionable, MOST_MARKS):
        key = (builtins.id(one.document.session), one.document.world)
        groups.setdefault(key, (one.document, {}))[1][id] = one.backend
    found = await together(*(_marks_in(document, backends, viewport) for document, backends in groups.values()))
    marks = {id: box for one in found for id, box in one.items()}
    return {id: marks[id] for id in page.elements if id in marks}


async def _marks_in(document: Document, backends: Mapping[str, int], viewport: tuple[int, int]) -> dict[str, Box]:
    """The marks of one document, of elements by id; none when it went away, which a frame may do at any time."""
    try:
        boxes = await _boxes(document, backends, viewport)
        inner = document
        while inner.holder is not None and boxes:
            boxes = await _shown(inner, inner.holder, boxes)
            inner = inner.holder
    except Error:
        if document.holder is None:
            raise
        return {}
    best: dict[str, Box] = {}
    for id, box in boxes:
        best.setdefault(id, box)
    return best


async def _boxes(document: Document, backends: Mapping[str, int], viewport: tuple[int, int]) -> _Boxes:
    """Boxes that nothing in the document itself covers."""
    (x, y, width, height), (left, top) = document.view or (0.0, 0.0, *map(float, viewport)), document.corner
    view = {
        "value": [
            max(x, 0.0) - left,
            max(y, 0.0) - top,
            min(x + width, viewport[0]) - left,
            min(y + height, viewport[1]) - top,
        ]
    }
    found = await _found(document, view)
    missing = [backend for backend in backends.values() if backend not in found]
    found.update(await _tested(document, view, missing))
    return [
        (id, (x + left, y + top, width, height))
        for id, backend in backends.items()
        for x, y, width, height in found[backend]
    ]


async def _found(document: Document, view: _Argument) -> dict[int, Sequence[Box]]:
    """Boxes of what the script finds, by node: most that can be clicked, in one call."""
    # One call: a handle for each element took as long as half a screenshot.
    boxes, *nodes = await _call(document, _VISIBLE_BOXES, view, {"value": MOST_MARKS})
    backends = [node["value"]["backendNodeId"] for node in nodes]
    return dict(zip(backends, json.loads(boxes["value"]), strict=True))


async def _tested(document: Document, view: _Argument, backends: Sequence[int]) -> dict[int, Sequence[Box]]:
    """Boxes of these nodes, a call for each: of other elements, and of those in closed shadow trees."""
    tested: dict[int, Sequence[Box]] = dict.fromkeys(backends, ())
    if backends:
        async with _handles(document, backends) as handles:
            (boxes,) = await _call(document, _VISIBLE_BOXES, view, {"value": 0}, *handles.values())
        tested.update(zip(handles, json.loads(boxes["value"]), strict=True))
    return tested


async def _shown(inner: Document, holder: Document, boxes: _Boxes) -> _Boxes:
    """Boxes whose centre is not covered by what lies around the frame that holds the document."""
    left, top = holder.corner
    # The centre, as a model that answers with positions aims there.
    points = [[x + width / 2 - left, y + height / 2 - top] for _, (x, y, width, height) in boxes]
    async with _handles(holder, [inner.owner]) as owner:
        if not owner:
            return []
        answer = await _call(holder, _SHOWS_FRAME, *owner.values(), *({"value": point} for point in points))
    return [one for one, is_shown in zip(boxes, answer, strict=True) if is_shown["value"]]


@asynccontextmanager
async def _handles(document: Document, backends: Sequence[int]) -> AsyncIterator[dict[int, _Argument]]:
    """Handles of those nodes that are still there, as arguments; they are given back."""
    send, group = sender(document.session), f"marks {next(_NUMBERS)}"

    async def resolve(backend: int) -> _Argument:
        try:
            answer = await send(
                "DOM.resolveNode", backendNodeId=backend, executionContextId=document.world, objectGroup=group
            )
        except Error:
            return {}
        return {"objectId": answer["object"]["objectId"]} if "objectId" in answer["object"] else {}

    try:
        handles = await together(*map(resolve, backends))
        yield {backend: handle for backend, handle in zip(backends, handles, strict=True) if handle}
    finally:
        with suppress(Error):
            await send("Runtime.releaseObjectGroup", objectGroup=group)


async def _call(document: Document, function: str, *arguments: _Argument) -> list[Any]:
    """The list that a function gives, serialized as WebDriver BiDi does: a node by its backendNodeId."""
    answer = await sender(document.session)(
        "Runtime.callFunctionOn",
        functionDeclaration=function,
        executionContextId=document.world,
        arguments=arguments,
        serializationOptions=_BY_NODE,
    )
    if "exceptionDetails" in answer:
        raise Error(f"the document cannot be searched for marks: {answer['exceptionDetails']}")
    found: list[Any] = answer["result"]["deepSerializedValue"]["value"]
    return found
