"""A call on an element, written as Playwright code."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(Action):
    """A call on an element, written as Playwright code (playwright action set only).

    The browser performs it from a list of allowed calls; it is never evaluated.
    """

    kind: ClassVar[str] = "code"
    verb: Literal["click", "hover", "type", "check", "select_option"]
    pw_code: str
    """As the model wrote it, e.g. `page.get_by_role("link", name="Cart").click()`."""
    text: str = ""
    """What `type` types; "" for the other verbs."""

    def render(self) -> str:
        return self.pw_code

    async def perform(self, browser: BrowserControls) -> None:
        await browser.call(self.verb, self.pw_code, self.text)

    def may_change_sites(self) -> bool:
        return self.verb != "hover"
