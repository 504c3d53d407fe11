"""The element an action is aimed at."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The element an action is aimed at."""

    id: str
    """Element id as the agent wrote it; ids are given by the observation."""
    role: str = ""
    """Accessibility role, filled in from the observation; "" when the id was not in it."""
    name: str = ""
    """Accessible name, as observed."""
    nth: int = 0
    """0-based position among the observation's nodes of the same role and name."""
    line: str = ""
    """The node's line in the observation without its id, whitespace collapsed: what history strings quote."""
    box: Box | None = None
    """(x, y, width, height) in CSS px of the viewport."""


# A protocol: a decision is a record that holds an action, so records import actions.
class NodeLike(Protocol):
    """An element of an observation, as far as aiming needs it; `harness.records.Node` fits."""

    @property
    def role(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def nth(self) -> int: ...
    @property
    def line(self) -> str: ...
    @property
    def box(self) -> Box | None: ...


def resolve_target(target: Target, nodes: Mapping[str, NodeLike]) -> Target:
    """The target with what the observation says of it; an unknown id stays as it is."""
    node = nodes.get(target.id)
    if node is None:
        return target
    line = " ".join(node.line.split())
    return replace(target, role=node.role, name=node.name, nth=node.nth, line=line, box=node.box)
