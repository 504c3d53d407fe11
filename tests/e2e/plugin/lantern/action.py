"""An action of its own: the next page of the row, by its number."""

from dataclasses import dataclass
from typing import ClassVar

from harness.api import Action, BrowserControls


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTo(Action):
    kind: ClassVar[str] = "turn_to"
    number: int

    async def perform(self, browser: BrowserControls) -> None:
        await browser.goto(f"http://lantern.test/{self.number}")

    def may_change_sites(self) -> bool:
        return False
