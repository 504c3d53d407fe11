"""Golden cases of observations: recorded nodes and rectangles, and the text WebArena's code made of them."""

from typing import Any

from harness.actions import Box
from harness.browser.rendering.dom_text import TextElement, print_html
from harness.browser.rendering.tree_webarena import print_tree
from tests.golden.outcome import Case, Outcome, same

VIEWPORT = (1280, 720)
"""That of the cases which do not name one."""
_FIRST_BACKEND = 100
"""The corpus's backend ids are positions, counted from here."""


def compare_ax_text(case: Case) -> Outcome:
    viewport = (case["screen"][0], case["screen"][1]) if case["current_viewport_only"] else None
    rects: dict[str, Box] = {key: _box(rect) for key, rect in case["rects"].items() if isinstance(rect, list)}
    try:
        printed = print_tree(case["nodes"], rects, viewport=viewport, label=lambda node: str(node["nodeId"]))
    except KeyError as exc:
        return same({"type": "KeyError", "msg": str(exc)}, case.get("error"))
    if "error" in case:
        return f"ours prints it, WebArena raises {case['error']}"
    shown = {
        key: {"text": f"[{key}] {one.line}", "bound": None if one.box is None else list(one.box)}
        for key, one in printed.shown.items()
    }
    centers = {key: _center(one.box, case["screen"]) for key, one in printed.shown.items() if one.box is not None}
    theirs = {key: center for key, center in case["centers"].items() if isinstance(center, list)}
    return same(
        (printed.raw, printed.text, shown, centers),
        (case["text_before_cleanup"], case["text"], case["clickable"], theirs),
    )


def compare_html_text(case: Case) -> Outcome:
    elements = [_element(number, node) for number, node in enumerate(case["nodes"])]
    viewport = VIEWPORT if case["current_viewport_only"] else None
    printed = print_html(elements, viewport=viewport, dialect="webarena")
    shown = {
        id: [str(one.node["backendDOMNodeId"]), None if one.box is None else list(one.box), f"[{id}] {one.line}"]
        for id, one in printed.shown.items()
    }
    return same((printed.text, shown), (case["text"], case["clickable"]))


def _element(number: int, node: list[Any]) -> TextElement:
    name, parent, value, attributes, rect = node
    pairs = zip(attributes[::2], attributes[1::2], strict=True)
    return TextElement(
        name=name,
        parent=parent,
        value=value or "",
        attributes=tuple((key, said or "") for key, said in pairs),
        backend=_FIRST_BACKEND + number,
        box=_box(rect) if isinstance(rect, list) else None,
    )


def _box(rect: list[float]) -> Box:
    return (rect[0], rect[1], rect[2], rect[3])


def _center(box: Box, screen: list[int]) -> list[float]:
    return [(box[0] + box[2] / 2) / screen[0], (box[1] + box[3] / 2) / screen[1]]
