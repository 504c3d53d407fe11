"""Actions of the browser's frame: addresses, history and tabs."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls
from harness.actions.syntax import read
from harness.actions.tool_schema import about


@dataclass(frozen=True, slots=True, kw_only=True)
class Goto(Action):
    """Open an address in the current tab."""

    kind: ClassVar[str] = "goto"
    tool: ClassVar[str] = "Open an address in the current tab."
    navigates: ClassVar[bool] = True
    url: str
    """As the agent wrote it."""

    @classmethod
    def parse(cls, verb: str, arguments: str) -> Self | None:
        """See `Action.parse`."""
        found = read(arguments, str)
        return cls(url=found[0].strip()) if found and found[0].strip() else None

    async def perform(self, browser: BrowserControls) -> None:
        await browser.goto(self.url)

    def may_change_sites(self) -> bool:
        # The agent asked for this address, and every replay opens addresses again.
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTab(Action):
    """Open an empty tab."""

    kind: ClassVar[str] = "new_tab"
    tool: ClassVar[str] = "Open an empty tab."
    navigates: ClassVar[bool] = True

    async def perform(self, browser: BrowserControls) -> None:
        await browser.open_tab()

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class TabFocus(Action):
    """Switch to a tab."""

    kind: ClassVar[str] = "tab_focus"
    tool: ClassVar[str] = "Switch to a tab."
    navigates: ClassVar[bool] = True
    index: int = field(metadata=about("Number of the tab, as the observation lists it; the first is 0."))

    async def perform(self, browser: BrowserControls) -> None:
        await browser.focus_tab(self.index)

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseTab(Action):
    """Close the current tab."""

    kind: ClassVar[str] = "close_tab"
    tool: ClassVar[str] = "Close the current tab."
    navigates: ClassVar[bool] = True

    async def perform(self, browser: BrowserControls) -> None:
        await browser.close_tab()

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class GoBack(Action):
    """Go to the previous page of the tab's history."""

    kind: ClassVar[str] = "go_back"
    tool: ClassVar[str] = "Go to the previous page of the tab's history."
    navigates: ClassVar[bool] = True

    async def perform(self, browser: BrowserControls) -> None:
        await browser.travel(-1)

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class GoForward(Action):
    """Go to the next page of the tab's history."""

    kind: ClassVar[str] = "go_forward"
    tool: ClassVar[str] = "Go to the next page of the tab's history."
    navigates: ClassVar[bool] = True

    async def perform(self, browser: BrowserControls) -> None:
        await browser.travel(1)

    def may_change_sites(self) -> bool:
        return False
