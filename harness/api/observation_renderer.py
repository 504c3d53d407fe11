"""How a page is put into words for an agent."""

from typing import Protocol, runtime_checkable

from harness.records import LiveObservation


@runtime_checkable
class ObservationRenderer(Protocol):
    """Writes the text of a page that agents are shown, from what Cairn has read of the page.

        class Names:
            def __init__(self, most: int = 200) -> None:
                self._most = most

            def render(self, observation: LiveObservation, /) -> str:
                elements = list(observation.nodes.items())[: self._most]
                return "\n".join(f"{'  ' * node.depth}[{id}] {node.role}: {node.name}" for id, node in elements)

    The constructor is given `observation.arguments` by name.
    """

    def render(self, observation: LiveObservation, /) -> str:
        """The page as text, without the line of tabs, which is above it.

        Ids are the keys of `observation.nodes`, which are in the order of the page; an agent names elements by them.
        The result is recorded beside Cairn's own text (`Observation.shown`), with which a resumed episode is compared.
        An exception, or a result that is not text, fails this attempt of the task.
        """
        ...
