"""The settings of what an agent is shown of a page."""

from dataclasses import dataclass

from harness.choices import ObservationDialect, ObservationType
from harness.settings.fields import setting
from harness.settings.plugin import PluginSettings

TEXTS = frozenset({ObservationType.accessibility_tree, ObservationType.html})
PICTURES = frozenset({ObservationType.image, ObservationType.marks})


@dataclass(frozen=True)
class ObservationSettings(PluginSettings):
    """What an agent is shown of a page."""

    # One text and not a list: older run folders hold a single word, and a setting has one type.
    type: str = "accessibility_tree"
    """What the agent is shown: `accessibility_tree`, `html`, `image` (a screenshot), `marks` (a screenshot in which
    elements have their ids), or several, as `accessibility_tree+image`; with pictures only, the accessibility tree is
    still recorded.
    """
    dialect: ObservationDialect = ObservationDialect.cairn
    """How the text of a page is written."""
    keep_html: bool = setting(False, measured=False)
    """Store the HTML of the page at each step, so that its state can be looked at again."""

    @property
    def parts(self) -> frozenset[ObservationType]:
        """What `type` is joined of."""
        return parts_of(self.type)

    @property
    def shows_text(self) -> bool:
        """Whether the text of the page is shown; a class that renders it always gives some."""
        return self._target_ is not None or not self.parts.isdisjoint(TEXTS)

    @property
    def shows_pictures(self) -> bool:
        """Whether a screenshot is shown."""
        return not self.parts.isdisjoint(PICTURES)


def parts_of(said: str) -> frozenset[ObservationType]:
    """The parts of an `observation.type`.

    Raises:
        ValueError: One is unknown, or named twice.
    """
    parts = [ObservationType(part.strip()) for part in said.split("+")]
    if len(parts) > len(set(parts)):
        raise ValueError(f"{said} names a part twice")
    return frozenset(parts)
