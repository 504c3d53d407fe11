"""What an agent is shown of a page, where a class from a plug-in renders it."""

from dataclasses import replace

from harness.actions.truncate import cut
from harness.api import ObservationRenderer
from harness.errors import PluginFailed
from harness.records import LiveObservation

MOST_SHOWN_CHARS = 1_000_000
"""As many as of Cairn's own text."""


def with_shown(view: LiveObservation, renderer: ObservationRenderer | None) -> LiveObservation:
    """The observation with the text of the renderer below the line of tabs; as it is without one.

    Raises:
        PluginFailed: The renderer gives no text.
    """
    if renderer is None:
        return view
    text: object = renderer.render(view)
    if not isinstance(text, str):
        raise PluginFailed(f"the renderer of observations returned {type(text).__name__}, not a text")
    tabs = view.observation.text.partition("\n\n")[0]
    body = cut(text.encode("utf-8", "replace").decode(), MOST_SHOWN_CHARS)
    return replace(view, observation=replace(view.observation, shown=f"{tabs}\n\n{body}"))
