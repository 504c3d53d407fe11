"""A node of the accessibility tree, as CDP's `Accessibility` domain describes it."""

from typing import Any, NotRequired, TypedDict


class AXValue(TypedDict, total=False):
    value: Any
    """A text, number or boolean, by its property."""


class AXProperty(TypedDict):
    name: str
    value: AXValue


class AXNode(TypedDict):
    nodeId: str
    ignored: bool
    """It is part of the tree and has no name of its own."""
    childIds: list[str]
    parentId: NotRequired[str]
    backendDOMNodeId: NotRequired[int]
    role: NotRequired[AXValue]
    name: NotRequired[AXValue]
    value: NotRequired[AXValue]
    properties: NotRequired[list[AXProperty]]
