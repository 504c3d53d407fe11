"""Shows a page as its elements alone, without indentation, under a line of its own."""

from harness.api import LiveObservation


class Flat:
    def __init__(self, heading: str = "ELEMENTS") -> None:
        self._heading = heading

    def render(self, observation: LiveObservation, /) -> str:
        lines = [f"[{id}] {node.role} {node.name!r}" for id, node in observation.nodes.items() if node.depth > 0]
        return "\n".join([self._heading, *lines])
