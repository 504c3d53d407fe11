"""Actions at points of the screen, for agents that use a browser as a person uses a computer.

A point is given in fractions of the viewport, so that it means the same whatever size the screenshot was sent in.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls, Button
from harness.actions.tool_schema import about

MOST_OF_A_PATH = 100
"""Points of a drag."""
_ADDED = {"omitted": True}
"""Metadata of a field that older lines of journals lack, see `harness.records.optional`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointClick(Action):
    """Click at a point with any button, once or several times, with modifier keys held or not."""

    kind: ClassVar[str] = "point_click"
    x: float = field(metadata=about("Fraction of the viewport's width, from 0 (left) to 1."))
    y: float = field(metadata=about("Fraction of the viewport's height, from 0 (top) to 1."))
    button: Button = "left"
    times: int = 1
    holding: str = ""
    """Playwright names of modifier keys, joined by `+`."""

    def render(self) -> str:
        verb = {2: "double_", 3: "triple_"}.get(self.times, "") + ("" if self.button == "left" else f"{self.button}_")
        return f"{verb}click_at {_point(self.x, self.y)}{_held(self.holding)}"

    async def perform(self, browser: BrowserControls) -> None:
        await browser.click_at(self.x, self.y, button=self.button, times=self.times, holding=self.holding)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class PointDrag(Action):
    """Press the left button at the first point, move along the others, and release it at the last."""

    kind: ClassVar[str] = "point_drag"
    path: tuple[tuple[float, float], ...]
    holding: str = field(default="", metadata=_ADDED)
    """As in `PointClick`."""

    def render(self) -> str:
        return f"drag_along {' '.join(_point(x, y) for x, y in self.path)}{_held(self.holding)}"

    async def perform(self, browser: BrowserControls) -> None:
        await browser.drag_along(self.path, holding=self.holding)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class PointScroll(Action):
    """Turn the wheel over a point."""

    kind: ClassVar[str] = "point_scroll"
    x: float
    y: float
    right: float = 0.0
    """Fraction of the viewport's width that is scrolled to the right; below 0 to the left."""
    down: float = 0.0
    """Fraction of the viewport's height; below 0 upwards."""
    holding: str = field(default="", metadata=_ADDED)
    """As in `PointClick`."""

    def render(self) -> str:
        return f"scroll_at {_point(self.x, self.y)} by {_point(self.right, self.down)}{_held(self.holding)}"

    async def perform(self, browser: BrowserControls) -> None:
        await browser.scroll_at(self.x, self.y, right=self.right, down=self.down, holding=self.holding)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Screenshot(Action):
    """Look at the page again; with a region, closer at a part of it."""

    kind: ClassVar[str] = "screenshot"
    navigates: ClassVar[bool] = True
    region: tuple[float, float, float, float] | None = None
    """Left, top, right, bottom in fractions of the viewport; null = all of it."""

    def render(self) -> str:
        if self.region is None:
            return self.kind
        left, top, right, bottom = self.region
        return f"zoom {_point(left, top)} {_point(right, bottom)}"

    async def perform(self, browser: BrowserControls) -> None:
        pass

    def may_change_sites(self) -> bool:
        return False


def _held(keys: str) -> str:
    return f" holding [{keys}]" if keys else ""


def _point(x: float, y: float) -> str:
    # + 0.0 turns -0.0 into 0.0, which would be written as "-0".
    return " ".join(f"[{value * 1000 + 0.0:.0f}]" for value in (x, y))
