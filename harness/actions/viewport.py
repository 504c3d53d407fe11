"""Actions that only look further: at another part of the page, or at what becomes of it."""

import re
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls

_DIRECTION = re.compile(r"\[?\s*(?:direction\s*=\s*)?(up|down)\s*\]?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scroll(Action):
    """Scroll the page by one screen."""

    kind: ClassVar[str] = "scroll"
    tool: ClassVar[str] = "Scroll the page by one screen."
    forms: ClassVar = {"scroll": "scroll [up] or scroll [down]"}
    direction: Literal["up", "down"]
    """`up` or `down`."""

    @classmethod
    def parse(cls, verb: str, arguments: str) -> Self | None:
        """See `Action.parse`."""
        found = _DIRECTION.fullmatch(arguments)
        return cls(direction="up" if found[1].lower() == "up" else "down") if found else None

    async def perform(self, browser: BrowserControls) -> None:
        await browser.scroll(self.direction)

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(Action):
    """Give the page time until it changes, for a few seconds at most."""

    kind: ClassVar[str] = "wait"
    tool: ClassVar[str] = "Wait until the page changes on its own."

    async def perform(self, browser: BrowserControls) -> None:
        await browser.wait()

    def may_change_sites(self) -> bool:
        return False
