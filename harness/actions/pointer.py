"""Actions of the mouse."""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls
from harness.actions.syntax import read, written
from harness.actions.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Click(Action):
    kind: ClassVar[str] = "click"
    target: Target

    async def perform(self, browser: BrowserControls) -> None:
        await browser.click(self.target)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Hover(Action):
    kind: ClassVar[str] = "hover"
    target: Target

    async def perform(self, browser: BrowserControls) -> None:
        await browser.hover(self.target)

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubleClick(Action):
    """Cairn action set only, as all that WebArena does not know."""

    kind: ClassVar[str] = "dblclick"
    target: Target

    async def perform(self, browser: BrowserControls) -> None:
        await browser.double_click(self.target)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Drag(Action):
    kind: ClassVar[str] = "drag"
    forms: ClassVar = {"drag": "drag [id] [id of the element to drop it on]"}
    target: Target
    onto: Target

    async def perform(self, browser: BrowserControls) -> None:
        await browser.drag(self.target, self.onto)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Mouse(Action):
    """A click or hover at a point, for agents that look at the screenshot."""

    kind: ClassVar[str] = "mouse"
    forms: ClassVar = {verb: f"{verb} [x] [y], from 0 to 1000" for verb in ("click_at", "hover_at")}
    verb: Literal["click", "hover"]
    x: float
    """Fraction of the viewport's width, 0 = left."""
    y: float
    """Fraction of the viewport's height, 0 = top."""

    @classmethod
    def parse(cls, verb: str, arguments: str) -> Self | None:
        found = read(arguments, int, int)
        if found is None or max(found) > 1000:
            return None
        return cls(verb="click" if verb == "click_at" else "hover", x=found[0] / 1000, y=found[1] / 1000)

    def render(self) -> str:
        x, y = (f"{value * 1000 + 0.0:.0f}" for value in (self.x, self.y))  # never "-0"
        return written(f"{self.verb}_at", x, y)

    async def perform(self, browser: BrowserControls) -> None:
        await (browser.click_at if self.verb == "click" else browser.hover_at)(self.x, self.y)

    def may_change_sites(self) -> bool:
        return self.verb != "hover"
