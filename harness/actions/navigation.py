"""Actions of the browser's frame: addresses, history and tabs."""

from dataclasses import dataclass
from typing import ClassVar, Self

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls
from harness.actions.syntax import read


@dataclass(frozen=True, slots=True, kw_only=True)
class Goto(Action):
    kind: ClassVar[str] = "goto"
    navigates: ClassVar[bool] = True
    url: str

    @classmethod
    def parse(cls, verb: str, arguments: str) -> Self | None:
        found = read(arguments, str)
        return cls(url=found[0].strip()) if found and found[0].strip() else None

    async def perform(self, browser: BrowserControls) -> None:
        await browser.goto(self.url)

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTab(Action):
    kind: ClassVar[str] = "new_tab"
    navigates: ClassVar[bool] = True

    async def perform(self, browser: BrowserControls) -> None:
        await browser.open_tab()

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class TabFocus(Action):
    kind: ClassVar[str] = "tab_focus"
    navigates: ClassVar[bool] = True
    index: int

    async def perform(self, browser: BrowserControls) -> None:
        await browser.focus_tab(self.index)

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseTab(Action):
    kind: ClassVar[str] = "close_tab"
    navigates: ClassVar[bool] = True

    async def perform(self, browser: BrowserControls) -> None:
        await browser.close_tab()

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class GoBack(Action):
    kind: ClassVar[str] = "go_back"
    navigates: ClassVar[bool] = True

    async def perform(self, browser: BrowserControls) -> None:
        await browser.travel(-1)

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class GoForward(Action):
    kind: ClassVar[str] = "go_forward"
    navigates: ClassVar[bool] = True

    async def perform(self, browser: BrowserControls) -> None:
        await browser.travel(1)

    def may_change_sites(self) -> bool:
        return False
