"""Marks: which elements of a page are numbered in its screenshot, and where.

A mark is a box of the viewport, and its centre hits its element: an element that is covered, clipped or of no size has
none. Hits are tested in the page, by a script in our own world, in the document that holds the element and in each
document around it. The page is read only: nothing is added to it, and it can observe nothing.
"""

import builtins
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Any

from playwright.async_api import Error

from harness.actions import Box
from harness.browser.driver.cdp_send import sender
from harness.browser.reading.document_client import together
from harness.browser.reading.frames import Document
from harness.browser.rendering.observer import RenderedPage

MOST_MARKS = 400
"""Elements of one page; a picture holds no more numbers that could be read."""
_GROUP = "marks"
_VISIBLE_BOXES, _SHOWS_FRAME = (
    files("harness.browser.marks").joinpath(name).read_text(encoding="utf-8")
    for name in ("visible_boxes.js", "shows_frame.js")
)
_Boxes = list[tuple[str, Box]]
"""Element ids and boxes in the coordinates of the page's viewport; of several for one element the best first."""
_Argument = dict[str, Any]
"""Of a function in the page: a value, or the handle of a node."""


async def find_marks(page: RenderedPage, viewport: tuple[int, int]) -> dict[str, Box]:
    """The marks of a page that was just read, by element id, from top to bottom of the page's text.

    Args:
        page: As it was read; a page that has changed since has fewer marks, and no wrong ones.
        viewport: Width and height in CSS px.
    Raises:
        playwright.async_api.Error: The page is gone.
    """
    groups: dict[tuple[int, int], tuple[Document, list[str]]] = {}
    for id in [id for id in page.nodes if id in page.actionable][:MOST_MARKS]:
        document = page.documents[id]
        groups.setdefault((builtins.id(document.session), document.world), (document, []))[1].append(id)
    found = await together(*(_marks_in(page, document, ids, viewport) for document, ids in groups.values()))
    marks = {id: box for one in found for id, box in one.items()}
    return {id: marks[id] for id in page.nodes if id in marks}


async def _marks_in(
    page: RenderedPage, document: Document, ids: Sequence[str], viewport: tuple[int, int]
) -> dict[str, Box]:
    """The marks of one document; none when it went away, which only a frame does by itself."""
    try:
        boxes = await _boxes(page, document, ids, viewport)
        inner = document
        while inner.holder is not None and boxes:
            boxes = await _shown(inner, inner.holder, boxes)
            inner = inner.holder
    except Error:
        if document.holder is None:
            raise
        return {}
    finally:
        with suppress(Error):
            await sender(document.session)("Runtime.releaseObjectGroup", objectGroup=_GROUP)
    best: dict[str, Box] = {}
    for id, box in boxes:
        best.setdefault(id, box)
    return best


async def _boxes(page: RenderedPage, document: Document, ids: Sequence[str], viewport: tuple[int, int]) -> _Boxes:
    """Boxes that nothing in the document itself covers."""
    (x, y, width, height), (left, top) = document.view or (0.0, 0.0, *map(float, viewport)), document.corner
    view = [
        max(x, 0.0) - left,
        max(y, 0.0) - top,
        min(x + width, viewport[0]) - left,
        min(y + height, viewport[1]) - top,
    ]
    handles = await together(*(_resolve(document, page.backends[id]) for id in ids))
    known = [(id, handle) for id, handle in zip(ids, handles, strict=True) if handle is not None]
    answer = await _call(document, _VISIBLE_BOXES, {"value": view}, *(handle for _, handle in known))
    return [
        (id, (x + left, y + top, width, height))
        for (id, _), boxes in zip(known, answer, strict=True)
        for x, y, width, height in boxes
    ]


async def _shown(inner: Document, holder: Document, boxes: _Boxes) -> _Boxes:
    """Boxes whose centre is not covered by what lies around the frame that holds the document."""
    left, top = holder.corner
    points = [[x + width / 2 - left, y + height / 2 - top] for _, (x, y, width, height) in boxes]
    if (owner := await _resolve(holder, inner.owner)) is None:
        return []
    answer = await _call(holder, _SHOWS_FRAME, owner, *({"value": point} for point in points))
    return [one for one, is_shown in zip(boxes, answer, strict=True) if is_shown]


async def _resolve(document: Document, backend: int) -> _Argument | None:
    """A handle of a node, as an argument; None when it is gone."""
    try:
        found = await sender(document.session)(
            "DOM.resolveNode", backendNodeId=backend, executionContextId=document.world, objectGroup=_GROUP
        )
    except Error:
        return None
    return {"objectId": found["object"]["objectId"]} if "objectId" in found["object"] else None


async def _call(document: Document, function: str, *arguments: _Argument) -> list[Any]:
    answer = await sender(document.session)(
        "Runtime.callFunctionOn",
        functionDeclaration=function,
        executionContextId=document.world,
        arguments=arguments,
        returnByValue=True,
    )
    if "exceptionDetails" in answer:
        raise Error(f"the document cannot be searched for marks: {answer['exceptionDetails']}")
    found: list[Any] = answer["result"]["value"]
    return found
