"""What the groups of settings say together of the pages of a run."""

from dataclasses import dataclass

from harness.choices import ObservationType
from harness.settings.browser import BrowserSettings
from harness.settings.observation import ObservationSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """How pages are opened, acted on and read."""

    browser: BrowserSettings
    observation: ObservationSettings
    appends: bool
    """`type` writes after what a field holds also in the dialect `webarena`, where it is written where the click puts
    the caret.
    """

    @property
    def screenshots(self) -> bool:
        """Whether a picture is taken at each step: for reports, or because the agent is shown it."""
        return self.browser.screenshots or self.observation.shows_pictures

    @property
    def marks(self) -> bool:
        """Whether it is found out where the elements of a screenshot can be clicked."""
        return ObservationType.marks in self.observation.parts

    @property
    def html(self) -> bool:
        """The observation text is the DOM."""
        return ObservationType.html in self.observation.parts

    @property
    def tree(self) -> bool:
        """With `html`: the accessibility tree as well, before the DOM."""
        return ObservationType.accessibility_tree in self.observation.parts
