"""Actions of the mouse."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls
from harness.actions.syntax import read, written
from harness.actions.target import Target
from harness.actions.tool_schema import about


@dataclass(frozen=True, slots=True, kw_only=True)
class Click(Action):
    """Click an element."""

    kind: ClassVar[str] = "click"
    tool: ClassVar[str] = "Click an element."
    target: Target
    """The element."""

    async def perform(self, browser: BrowserControls) -> None:
        await browser.click(self.target)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Hover(Action):
    """Move the mouse over an element."""

    kind: ClassVar[str] = "hover"
    tool: ClassVar[str] = "Move the mouse over an element."
    target: Target

    async def perform(self, browser: BrowserControls) -> None:
        await browser.hover(self.target)

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubleClick(Action):
    """Cairn action set only, as all that WebArena does not know."""

    kind: ClassVar[str] = "dblclick"
    tool: ClassVar[str] = "Double-click an element."
    target: Target

    async def perform(self, browser: BrowserControls) -> None:
        await browser.double_click(self.target)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Drag(Action):
    kind: ClassVar[str] = "drag"
    tool: ClassVar[str] = "Drag an element onto another one."
    forms: ClassVar = {"drag": "drag [id] [id of the element to drop it on]"}
    target: Target
    onto: Target = field(metadata=about("Id of the element that it is dropped on."))

    async def perform(self, browser: BrowserControls) -> None:
        await browser.drag(self.target, self.onto)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Mouse(Action):
    """A click or hover at a point, for agents that look at the screenshot."""

    kind: ClassVar[str] = "mouse"
    tool: ClassVar[str] = "Click at a point of the screenshot, or move the mouse there."
    forms: ClassVar = {verb: f"{verb} [x] [y], from 0 to 1000" for verb in ("click_at", "hover_at")}
    verb: Literal["click", "hover"]
    x: float = field(metadata=about("Fraction of the viewport's width, from 0 (left) to 1."))
    y: float = field(metadata=about("Fraction of the viewport's height, from 0 (top) to 1."))

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
